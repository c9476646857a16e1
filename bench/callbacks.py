"""Callbacks: how soon they arrive, and what a deliverer that is killed again and again leaves.

Starts its own PostgreSQL and Valkey, a ticker and a worker of ``callbacks`` as processes, and a
receiver that answers at once. Tasks are ended (canceled) at a steady rate; each ending writes its
callback in its transaction, as every ending does. Latency is from ``finished_at`` to the receiver's
last byte, by the clock of this host. With ``--bad`` receivers that hang and drip are told, too.

    python -m bench.callbacks [--events 1000] [--rate 50] [--kills 0] [--bad 0]
"""

import argparse
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aigc_site.embedded import postgres, servers, valkey

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000)
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--bad", type=int, default=0, help="receivers that hang or drip")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started is ended
    with tempfile.TemporaryDirectory(prefix="darkroom-bench-", dir=_parent()) as folder:
        Path(folder).chmod(0o711)
        database = servers.start_postgres(Path(folder) / "postgres", postgres.UNSAFE_BUT_FAST)
        redis = servers.start_valkey(Path(folder) / "valkey", valkey.IN_MEMORY)
        try:
            os.environ.update(
                DJANGO_SETTINGS_MODULE="aigc_site.settings",
                DATABASE_URL=database.server.url,
                REDIS_URL=redis.server.url,
                DARKROOM_SECRET_KEY=secrets.token_urlsafe(48),
                DARKROOM_DATA=folder,
                DARKROOM_CALLBACK_ALLOW="127.0.0.0/8",
                DARKROOM_LOG_LEVEL="ERROR",
            )
            import django

            django.setup()
            _run(options)
        finally:
            redis.stop()
            database.stop()


def _parent() -> str:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()  # noqa: S108


def _run(options: argparse.Namespace) -> None:
    from django.core.management import call_command

    from tests.receivers import Receiver, drip, hang

    call_command("migrate", verbosity=0)
    good = Receiver()
    bad = [Receiver((hang, drip)[number % 2]) for number in range(options.bad)]
    children = _Children()
    try:
        children.start("tick")
        children.keep("worker", "callbacks")
        urls = [good.url()] + [one.url() for one in bad]
        tasks = _tasks(options.events, urls)
        time.sleep(5)  # the processes start
        killer = threading.Thread(target=children.kill, args=(options,), daemon=True)
        killer.start()
        _end(tasks, options.rate * len(urls))
        killer.join()
        wanted = options.events
        give_up = time.monotonic() + 90
        while len(set(good.ids())) < wanted and time.monotonic() < give_up:
            time.sleep(0.2)
        time.sleep(12)  # a lease: what would come twice has come
        _report(good, wanted, children.kills)
    finally:
        children.stop()
        for one in (good, *bad):
            one.close()


def _tasks(number: int, urls: list[str]) -> list[Any]:
    """Submit the tasks that will end; each bad receiver has as many as the good one."""
    from tasks_app.core import submission
    from tasks_app.core.submission import Wish
    from tests.conftest import make_generator, make_user

    user = make_user("bench")
    make_generator("sleeper")
    found = []
    for count in range(number):
        for url in urls:
            wish = Wish("sleeper", {"prompt": f"picture {count}"}, callback_url=url)
            found.append((submission.submit(user, wish).task_id, user.pk))
    return found


def _end(tasks: list[Any], rate: float) -> None:
    """End them at the rate."""
    from tasks_app.core import cancellation

    begun = time.monotonic()
    for place, (task_id, owner) in enumerate(tasks):
        wait = begun + place / rate - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        cancellation.cancel(task_id, owner)
    seconds = time.monotonic() - begun
    print(f"{len(tasks)} tasks ended in {seconds:.1f} s: {len(tasks) / seconds:.0f}/s", flush=True)


class _Children:
    """The processes, the deliverer started again whenever it ends."""

    def __init__(self) -> None:
        self.kills = 0
        self._all: list[subprocess.Popen[bytes]] = []
        self._kept: subprocess.Popen[bytes] | None = None
        self._ending = threading.Event()

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """Start a command of manage.py."""
        child = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), *command], start_new_session=True, cwd=ROOT
        )
        self._all.append(child)
        return child

    def keep(self, *command: str) -> None:
        """Start one, and again whenever it ends."""
        self._kept = self.start(*command)

        def watch() -> None:
            while not self._ending.wait(0.02):
                if self._kept is not None and self._kept.poll() is not None:
                    self._kept = self.start(*command)

        threading.Thread(target=watch, daemon=True).start()

    def kill(self, options: argparse.Namespace) -> None:
        """Kill -9 the deliverer at random moments while events come."""
        begun = time.monotonic()
        seconds = options.events / options.rate
        for moment in sorted(random.uniform(1, seconds) for _ in range(options.kills)):
            time.sleep(max(0.0, begun + moment - time.monotonic()))
            if self._kept is not None and self._kept.poll() is None:
                os.killpg(self._kept.pid, signal.SIGKILL)
                self.kills += 1

    def stop(self) -> None:
        """End all."""
        self._ending.set()
        for child in self._all:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def _report(good: Any, wanted: int, kills: int) -> None:
    from tasks_app.models import Callback, Task

    ids = Counter(good.ids())
    bodies: dict[str, set[bytes]] = {}
    for one in good.received:
        bodies.setdefault(one.headers["webhook-id"], set()).add(one.body)
    offset = time.time() - time.monotonic()
    ended = dict(Task.objects.values_list("pk", "finished_at"))
    rows = {str(pk): task for pk, task in Callback.objects.values_list("pk", "task_id")}
    first: dict[str, float] = {}
    for one in good.received:
        first.setdefault(one.headers["webhook-id"], one.at + offset)
    lags = sorted(
        datetime.fromtimestamp(at, UTC).timestamp() - ended[rows[one]].timestamp()
        for one, at in first.items()
    )
    twice = sum(1 for count in ids.values() if count > 1)
    print(f"events {wanted}, received {len(ids)}, missing {wanted - len(ids)}")
    print(f"twice or more: {twice} ({100 * twice / wanted:.1f} %), kills {kills}")
    print(f"ids whose bytes differ: {sum(1 for found in bodies.values() if len(found) > 1)}")
    for share in (0.5, 0.95, 0.99, 1.0):
        print(f"p{share * 100:g} {lags[min(len(lags) - 1, int(share * len(lags)))]:.3f} s")


if __name__ == "__main__":
    main()
