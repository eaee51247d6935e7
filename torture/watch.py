"""What a process holds: memory, descriptors, connections; read from /proc."""

import pathlib


def resident_mib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"{pid} is gone")


def descriptors(pid):
    return len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))


def threads(pid):
    return len(list(pathlib.Path(f"/proc/{pid}/task").iterdir()))


def accepted(port):
    """Established connections that a listener on `port` of this machine holds: (peer port, bytes waiting to be sent)."""
    rows = []
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        local, remote, state, queues = fields[1], fields[2], fields[3], fields[4]
        if int(local.split(":")[1], 16) == port and state == "01":
            rows.append((int(remote.split(":")[1], 16), int(queues.split(":")[0], 16)))
    return rows
