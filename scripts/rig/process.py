"""One child process: started in the foreground, ended by its id."""

import os
import pathlib
import signal
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def programs():
    """The folder of the built programs: the optimised ones, unless ASK_PROFILE names another profile."""
    return TARGET / os.environ.get("ASK_PROFILE", "release")


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def wait_for(what, is_so, seconds=30):
    """Waits until something is so; says what did not come about."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise RuntimeError(f"not within {seconds} s: {what}")
        time.sleep(0.02)


def accepts(port):
    with socket.socket() as sock:
        sock.settimeout(0.5)
        return sock.connect_ex(("127.0.0.1", port)) == 0


class Process:
    """A child whose output goes to a file; used as a context, it is ended at its end."""

    def __init__(self, name, command, log, env=None):
        self.name, self.log = name, pathlib.Path(log)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with open(self.log, "wb") as out:
            self.child = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env, start_new_session=True,
            )

    def check(self):
        """Complains when it ended by itself."""
        if self.child.poll() is not None:
            said = self.log.read_text(errors="replace")[-2000:]
            raise RuntimeError(f"{self.name} ended by itself ({self.child.returncode}):\n{said}")
        return True

    def stop(self):
        if self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(10)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()

    def crash(self):
        """Ends it and its workers at once, as a crash would; they are a group of their own."""
        os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
