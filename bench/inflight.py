"""Thousands of generations in flight on one worker process.

A fake upstream takes jobs that run 30 s to 5 min and can be asked about them. One process of
`manage.py worker` submits, one of `manage.py worker POOL-polls` asks; a ticker rings. Told are the
memory of both, how late questions were (p95, by the worker's own histogram), how many jobs the
upstream had at once at most against the limit, and that each task ended once, with one job.
In the middle PostgreSQL is restarted and Redis emptied.

    python -m bench.inflight [--limit 2000] [--tasks 2600] [--shortest 30] [--longest 300] [--calm]
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil

from bench import stand
from tests.artists import picture

PICTURE = picture(48)
ROOT = Path(__file__).resolve().parents[1]


class Upstream:
    """Jobs at an upstream: a small server on an event loop of its own."""

    def __init__(self, shortest: float, longest: float) -> None:
        self._shortest, self._longest = shortest, longest
        self._ends: dict[str, float] = {}
        self.submits = self.questions = self.peak = 0
        self._running = 0
        self.port = 0
        self._ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True).start()
        self._ready.wait(10)

    @property
    def running(self) -> int:
        """How many jobs run now."""
        now = time.monotonic()
        return sum(end > now for end in list(self._ends.values()))

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._talk, "127.0.0.1", 0, backlog=1_000)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        async with server:
            await server.serve_forever()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                line, _, rest = head.partition(b"\r\n")
                length = 0
                for header in rest.split(b"\r\n"):
                    name, _, value = header.partition(b":")
                    if name.lower() == b"content-length":
                        length = int(value)
                await reader.readexactly(length)
                method, path, _ = line.decode().split(" ")
                kind, body = self._answer(method, path)
                size = f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(b"HTTP/1.1 200 OK\r\n" + size.encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _answer(self, method: str, path: str) -> tuple[str, bytes]:
        now = time.monotonic()
        if path.startswith("/files/"):
            return "image/png", PICTURE
        if method == "POST":
            self.submits += 1
            job = f"job{self.submits}"
            self._ends[job] = now + random.uniform(self._shortest, self._longest)
            self.peak = max(self.peak, self.running)
            return "application/json", json.dumps({"id": job, "status": "starting"}).encode()
        self.questions += 1
        job = path.rsplit("/", 1)[1]
        state: dict[str, Any] = {"id": job, "status": "processing", "output": None}
        if self._ends[job] <= now:
            link = f"http://127.0.0.1:{self.port}/files/{job}.png"
            state |= {"status": "succeeded", "output": [link]}
        return "application/json", json.dumps(state).encode()


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=2_000)
    parser.add_argument("--tasks", type=int, default=2_600)
    parser.add_argument("--shortest", type=float, default=30)
    parser.add_argument("--longest", type=float, default=300)
    parser.add_argument("--calm", action="store_true", help="restart and empty nothing")
    options = parser.parse_args()
    os.environ["DARKROOM_LIMIT_ALL"] = str(options.limit)
    os.environ["UPSTREAM_TOKEN"] = "bench"  # noqa: S105 - of nobody
    with stand.service() as servers:
        _run(options, servers)


def _run(options: argparse.Namespace, servers: stand.Stand) -> None:
    from tasks_app.core import submission
    from tasks_app.core.submission import Wish
    from tasks_app.models import Generator, Task

    upstream = Upstream(options.shortest, options.longest)
    Generator.objects.create(
        name="far",
        title="Far",
        adapter="replicate",
        max_running=options.limit,
        timeout_seconds=1_800,
        settings={
            "base_url": f"http://127.0.0.1:{upstream.port}",
            "credential": "env:UPSTREAM_TOKEN",
            "version": "v1",
        },
    )
    user = stand.user("bench", max_running=100_000)
    for number in range(options.tasks):
        submission.submit(user, Wish("far", {"prompt": f"picture {number}"}))
    with tempfile.TemporaryDirectory() as folder:
        processes = {
            name: _start(Path(folder), name, *command)
            for name, command in {
                "worker": ("worker", "default"),
                "polls": ("worker", "default-polls"),
                "ticker": ("tick",),
            }.items()
        }
        try:
            _watch(options, upstream, processes, servers)
        finally:
            for process in processes.values():
                process.terminate()
            for process in processes.values():
                process.wait(40)
    ends = Counter(Task.objects.values_list("state", flat=True))
    print(f"tasks: {dict(ends)}; jobs at the upstream: {upstream.submits} for {options.tasks}")
    print(f"in flight at most {upstream.peak}, limit {options.limit}")
    print(f"questions: {upstream.questions / max(1, upstream.submits):.1f} a job")
    _tell_lateness()


def _start(folder: Path, name: str, *command: str) -> "subprocess.Popen[bytes]":
    with (folder / f"{name}.log").open("wb") as output:
        arguments = [sys.executable, str(ROOT / "manage.py"), *command]
        return subprocess.Popen(arguments, stdout=output, stderr=subprocess.STDOUT)


def _watch(
    options: argparse.Namespace,
    upstream: Upstream,
    processes: "dict[str, subprocess.Popen[bytes]]",
    servers: stand.Stand,
) -> None:
    from tasks_app.models import Task

    begun, disturbed = time.monotonic(), options.calm
    memory: dict[str, int] = {}
    give_up = begun + 600 + 2 * options.longest
    while time.monotonic() < give_up:
        time.sleep(2)
        for name, process in processes.items():
            used = psutil.Process(process.pid).memory_info().rss >> 20
            memory[name] = max(memory.get(name, 0), used)
        running = upstream.running
        if not disturbed and running >= 0.9 * options.limit:
            disturbed = True
            _disturb(servers)
        if not _live(Task):
            break
        said = (
            f"{time.monotonic() - begun:5.0f} s: {running} in flight, {upstream.submits} submitted"
        )
        print(said, end="\r", flush=True)
    print()
    print("memory at most: " + ", ".join(f"{name} {mb} MB" for name, mb in memory.items()))


def _live(tasks: Any) -> bool:
    from django.db import InterfaceError, OperationalError, connection

    try:
        return bool(tasks.objects.filter(state__in=("pending", "running")).exists())
    except (OperationalError, InterfaceError):
        connection.close()
        return True


def _disturb(servers: stand.Stand) -> None:
    """Restart PostgreSQL and empty Redis."""
    from django.db import connection

    from tasks_app.gates.connection import client

    client().flushdb()
    connection.close()
    servers.restart_database()
    print("\nPostgreSQL was restarted and Redis was emptied")


def _tell_lateness() -> None:
    from tasks_app import metrics

    bounds: Counter[float] = Counter()
    for sample in metrics.read()[metrics.POLL_LATENESS.name]:
        if sample.part and sample.part != metrics.SUM:
            bounds[float(sample.part)] += sample.amount
    total, seen, told = sum(bounds.values()), 0, 0.0
    for bound, number in sorted(bounds.items()):
        seen += number
        for share in (0.5, 0.95, 0.99):
            if told < share <= seen / total:
                told = share
                print(f"questions late by {bound:g} s at most: {share:.0%} of {total}")


if __name__ == "__main__":
    main()
