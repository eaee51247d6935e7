"""Clients that close, reset, vanish from the network, or never read."""

import asyncio
import os
import shutil
import socket
import subprocess
import time

from .. import watch

PROMISE = "a client that is gone or frozen is noticed, and costs little until then"
REACH = "FIN and RST within 1 s; vanished without a packet within 45 s; a zero window reaped in 30 s, at most 64 KiB held"
COUNT = 50


async def until(what, is_so, seconds):
    """Seconds until it is so."""
    begun = time.monotonic()
    while not is_so():
        if time.monotonic() - begun > seconds:
            raise RuntimeError(f"not within {seconds} s: {what}")
        await asyncio.sleep(0.01)
    return time.monotonic() - begun


async def close_and_count(caller, service, ticket, how):
    before = watch.descriptors(service.pid)
    streams = [await caller.open(ticket) for _ in range(COUNT)]
    for _, reply in streams:
        await reply.some()
    held = watch.descriptors(service.pid)
    if held < before + COUNT:
        raise RuntimeError(f"{held - before} descriptors for {COUNT} streams")
    for wire, _ in streams:
        getattr(wire, how)()
    return await until(f"{how} noticed", lambda: watch.descriptors(service.pid) <= before + 1, 60)


def frozen(authority, auth, path):
    """A request whose answer is never read, with the smallest window there is."""
    host, port = authority.rsplit(":", 1)
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    sock.connect((host, int(port)))
    token = auth["Authorization"]
    sock.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {token}\r\n\r\n".encode())
    return sock


async def freeze(caller, service):
    """Readers that never read while there is much to be sent: how long they are held, and what each costs."""
    big = await caller.ask("bench n=400 size=4000")
    await caller.follow(big)
    await asyncio.sleep(0.5)
    before, memory = watch.descriptors(service.pid), watch.resident_mib(service.pid)
    path = f"{caller.prefix}/v1/asks/{big}/events"
    socks = [frozen(caller.authority, caller.auth, path) for _ in range(200)]
    begun, most = time.monotonic(), memory
    try:
        def gone():
            nonlocal most
            most = max(most, watch.resident_mib(service.pid))
            return watch.descriptors(service.pid) <= before + 1
        await until("all of them open", lambda: watch.descriptors(service.pid) >= before + len(socks), 10)
        await until("frozen readers reaped", gone, 90)
    finally:
        for sock in socks:
            sock.close()
    return time.monotonic() - begun, (most - memory) * 1024 / len(socks)


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


VANISH = r"""
import socket, sys, time
socks = []
host, port, token, path, count = sys.argv[1], int(sys.argv[2]), sys.stdin.readline().strip(), sys.argv[3], int(sys.argv[4])
for _ in range(count):
    sock = socket.create_connection((host, port), 10)
    sock.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {token}\r\n\r\n".encode())
    sock.recv(65536)
    socks.append(sock)
print("open", flush=True)
time.sleep(600)
"""


async def vanish(scene, row):
    """Clients in a network namespace whose link goes down: no FIN, no RST, nothing."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        return None
    name = f"ask{os.getpid() % 100000}"
    near, far = f"{name}a", f"{name}b"
    try:
        ip("netns", "add", name)
        ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", name)
    except subprocess.CalledProcessError:
        return None
    try:
        ip("addr", "add", "10.231.7.1/30", "dev", near)
        ip("link", "set", near, "up")
        ip("-n", name, "addr", "add", "10.231.7.2/30", "dev", far)
        ip("-n", name, "link", "set", far, "up")
        from ..scene import Service
        with Service(scene.folder / "vanish", scene.stub, {"DAS_ASK_HOST": "10.231.7.1"}) as service:
            service.base = f"http://10.231.7.1:{service.port}"
            service.ready(scene.stub.token("carol"))
            caller = scene.caller(service.base)
            ticket = await caller.ask("bench hold=120")
            await asyncio.sleep(0.3)
            before = watch.descriptors(service.pid)
            far_away = subprocess.Popen(
                ["ip", "netns", "exec", name, "python3", "-c", VANISH, "10.231.7.1", str(service.port),
                 f"/v1/asks/{ticket}/events", str(COUNT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            try:
                far_away.stdin.write(caller.auth["Authorization"] + "\n")
                far_away.stdin.flush()
                line = await asyncio.to_thread(far_away.stdout.readline)
                if line.strip() != "open":
                    raise RuntimeError("the clients in the namespace did not connect")
                ip("-n", name, "link", "set", far, "down")
                return await until("vanished clients dropped", lambda: watch.descriptors(service.pid) <= before + 1, 120)
            finally:
                far_away.kill()
                far_away.wait()
    finally:
        subprocess.run(["ip", "netns", "del", name], capture_output=True)
        subprocess.run(["ip", "link", "del", near], capture_output=True)


async def run(row, scene):
    vanishing = asyncio.create_task(vanish(scene, row))
    async with scene.service("clients") as service:
        caller = scene.caller(service.base)
        ticket = await caller.ask("bench hold=120")
        await asyncio.sleep(0.3)
        for how, word in [("close", "FIN"), ("reset", "RST")]:
            took = await close_and_count(caller, service, ticket, how)
            row.at_most(f"{COUNT} by {word} noticed in s", took, 1, f"{took:.2f}")
        held, each = await freeze(caller, service)
        row.at_most("zero window reaped in s", held, 30, f"{held:.1f}")
        row.at_most("KiB held for each", each, 64, f"{each:.0f}")
    gone = await vanishing
    if gone is None:
        row.figure("vanished:", "not run, no network namespace can be made here", True)
    else:
        row.at_most("vanished noticed in s", gone, 45, f"{gone:.1f}")
