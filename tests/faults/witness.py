"""Those who call a service while it breaks, and note every answer; and the plant that is broken.

``Callers`` send tasks over HTTP with idempotency keys, send them again whenever they have no
answer, and ask for all of them again and again, as programs of strangers do. What they were told,
what the generator wrote and what the tables say in the end is the history that is judged.
"""

import hashlib
import io
import itertools
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import httpx
from django.db.models import Sum
from PIL import Image
from prometheus_client.parser import text_string_to_metric_families
from redis import Redis

from tasks_app.core import credentials
from tasks_app.gates import keys
from tasks_app.models import ArchivedTask, DayUse, Event, Task
from tests import artists
from tests.conftest import make_generator, make_user
from tests.faults import oracle, report
from tests.faults.network import Proxy
from tests.faults.oracle import Accepted, Call, Count, File, History, Row, Seen
from tests.faults.servers import OwnServer
from tests.processes import FAST_ENVIRONMENT, PATIENCE, Service, eventually, kill_group

SWEEP: Final = float(FAST_ENVIRONMENT["DARKROOM_SWEEP_INTERVAL"])
LEASE: Final = float(FAST_ENVIRONMENT["DARKROOM_LEASE"])
NOISE: Final = 5.0
"""Seconds that a loaded machine may add to anything."""
_AGAIN: Final = 0.05


@dataclass
class Plant:
    """A whole Darkroom on servers of its own, behind networks that can be broken."""

    service: Service
    database: OwnServer
    redis: OwnServer
    to_database: Proxy
    to_redis: Proxy
    data: Path
    web: "subprocess.Popen[bytes]"
    ticker: "subprocess.Popen[bytes]"

    def own_redis(self) -> Redis:
        """Return a client that goes past the proxy."""
        return Redis.from_url(self.redis.url, socket_timeout=5)

    def kill(self, pid: int) -> None:
        """kill -9 one process and what it started, and note when."""
        kill_group(self.service.child(pid))
        self.service.died.setdefault(pid, time.monotonic())

    def slots_taken(self) -> dict[str, int]:
        """Return the slots that are taken, by key, read past the proxy."""
        redis = self.own_redis()
        seconds, micros = redis.time()
        now = f"({seconds * 1000 + micros // 1000}"
        prefix = keys.slots_all().removesuffix("all")
        found: dict[str, int] = {}
        for scope in itertools.chain(
            (keys.slots_all(),),
            (key.decode() for key in redis.scan_iter(f"{prefix}generator:*", 1_000)),
            (key.decode() for key in redis.scan_iter(f"{prefix}owner:*", 1_000)),
        ):
            found[scope] = int(redis.zcount(scope, now, "+inf"))
        return found


def through_tcp(url: str, port: int) -> str:
    """Return the URL of an embedded server as reached by a proxy's port."""
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return f"redis://:{parts.password}@127.0.0.1:{port}/0"
    return f"postgresql://{parts.username}:{parts.password}@127.0.0.1:{port}{parts.path}"


def _socket_of(url: str) -> Path:
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return Path(unquote(parts.path))
    return Path(unquote(parts.hostname or "")) / ".s.PGSQL.5432"


@contextmanager
def plant_in(
    folder: Path, database: OwnServer, redis: OwnServer, **environment: str
) -> Iterator[Plant]:
    """Start a web server, a ticker and three workers that are started again when they end.

    ``database`` must be this process' database, migrated.
    """
    to_database, to_redis = Proxy(_socket_of(database.url)), Proxy(_socket_of(redis.url))
    data = folder / "data"
    data.mkdir(mode=0o700)
    outputs = folder / "outputs"
    outputs.mkdir()
    service = Service(
        outputs,
        DATABASE_URL=through_tcp(database.url, to_database.port),
        REDIS_URL=through_tcp(redis.url, to_redis.port),
        DARKROOM_DATA=str(data),
        **environment,
    )
    try:
        ticker = service.ticker()
        web = start_web(service)
        service.kept_workers(3)
        eventually(service.ready, why="the web server is ready")
        yield Plant(service, database, redis, to_database, to_redis, data, web, ticker)
    finally:
        to_database.restore()
        to_redis.restore()
        service.stop()
        to_database.close()
        to_redis.close()


def start_web(service: Service) -> "subprocess.Popen[bytes]":
    """Start a web server; another one may listen on the same port."""
    return service.start(
        "web", "--port", str(service.port), "--workers", "1", "--threads", "4", "--drain", "1.5"
    )


class Callers:
    """The callers of one scenario: one user, one generator of which two calls may run at once."""

    def __init__(self, plant: Plant, name: str, *, at_once: int = 2, **fields: Any) -> None:
        self.plant, self.name = plant, name
        self.user = make_user(name, max_running=at_once)
        _, self._api_key = credentials.create(self.user, "test")
        values: dict[str, Any] = {
            "max_running": at_once,
            "expected_seconds": 0.3,
            "failure_budget": 6,
            **fields,
        }
        self.generator = make_generator(name, **values)
        self.at_once = at_once
        self.lateness = SWEEP + NOISE
        """What a scenario adds to, while it keeps the sweep from working."""
        self.frozen: dict[int, float] = {}
        """Processes that were stopped: pid -> when. What they had begun runs no more."""
        self._history = History()
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._ending = threading.Event()
        self._poller = threading.Thread(target=self._ask_on, daemon=True)
        self._poller.start()
        self.refused: Counter[str] = Counter()
        """Answers to submissions that were no answers: status, or what the connection did."""
        self.unanswered: Counter[str] = Counter()
        """The same of polls."""

    # --- what callers do ---------------------------------------------------------------

    def send(self, number: int, seconds: float = 0.3, **fields: Any) -> list[str]:
        """Send so many tasks, each until it is accepted; returns their keys."""
        with self._client() as client:
            return [self._send(client, seconds, fields) for _ in range(number)]

    def send_steadily(self, number: int, every: float, *, kept: bool) -> None:
        """Send so many tasks, at a pace; over one connection or a new one for each."""
        begun = time.monotonic()
        client = self._client()
        for turn in range(number):
            self._send(client, 0.0, {})
            if not kept:
                client.close()
                client = self._client()
            time.sleep(max(0.0, begun + (turn + 1) * every - time.monotonic()))
        client.close()

    def ids(self) -> list[str]:
        """Return the tasks that were accepted so far."""
        with self._lock:
            return list(dict.fromkeys(one.task_id for one in self._history.accepted))

    def task_of(self, key: str) -> str:
        """Return the task that was made for a key."""
        with self._lock:
            return next(one.task_id for one in self._history.accepted if one.key == key)

    def cancel(self, task_id: str) -> None:
        """Cancel a task."""
        with self._client() as client:
            client.delete(f"/v1/tasks/{task_id}")

    def ended(self) -> int:
        """Return how many tasks were seen to have ended."""
        with self._lock:
            return len({one.task_id for one in self._history.seen if one.state in oracle.TERMINAL})

    def wait_until_ended(self, number: int) -> None:
        """Wait until so many were seen to have ended."""
        eventually(lambda: self.ended() >= number, why=f"{number} tasks have ended")

    def waiting_for(self) -> list[str | None]:
        """Return why the tasks wait that are pending."""
        with self._client() as client:
            answer = client.get("/v1/tasks", params={"status": "pending"})
            return [one["waiting_for"] for one in answer.raise_for_status().json()["items"]]

    def lines(self) -> list[artists.Line]:
        """Return what the generator wrote for these callers."""
        found = artists.read(self.plant.service.log)
        return [line for line in found if line.name.startswith(f"{self.name}-")]

    def running(self) -> list[artists.Line]:
        """Return the calls that go on, of processes that live."""
        going: dict[int, artists.Line] = {}
        for line in self.lines():
            if line.what == "start":
                going[line.pid] = line
            elif line.what == "stop":
                going.pop(line.pid, None)
        return [line for pid, line in going.items() if pid not in self.plant.service.died]

    def _send(self, client: httpx.Client, seconds: float, fields: dict[str, Any]) -> str:
        key = f"{self.name}-{next(self._numbers)}"
        params = self._params(key, seconds)
        body = {"generator": self.generator.name, "params": params, **fields}
        with self._lock:
            self._history.sent.add(key)
        give_up = time.monotonic() + PATIENCE
        while time.monotonic() < give_up:
            try:
                answer = client.post("/v1/tasks", json=body, headers={"Idempotency-Key": key})
            except httpx.TransportError as error:
                self.refused[type(error).__name__] += 1
            else:
                if answer.is_success:
                    with self._lock:
                        self._history.accepted.append(Accepted(key, answer.json()["task_id"]))
                    return key
                self.refused[str(answer.status_code)] += 1
                assert answer.status_code >= 500, answer.text
            time.sleep(_AGAIN)
        raise AssertionError(f"{key} was not accepted: {self.refused}")

    def _params(self, key: str, seconds: float) -> dict[str, Any]:
        return {"prompt": key, "seconds": seconds}

    def _client(self) -> httpx.Client:
        return httpx.Client(
            base_url=self.plant.service.url,
            headers={"Authorization": f"Bearer {self._api_key}"},
            timeout=10,
            trust_env=False,
        )

    def _ask_on(self) -> None:
        with self._client() as client:
            while not self._ending.wait(_AGAIN * 2):
                for task_id in self.ids():
                    self._ask(client, task_id)

    def _ask(self, client: httpx.Client, task_id: str) -> str | None:
        try:
            answer = client.get(f"/v1/tasks/{task_id}")
        except httpx.TransportError as error:
            self.unanswered[type(error).__name__] += 1
            return None
        if answer.status_code != 200:
            self.unanswered[str(answer.status_code)] += 1
            assert answer.status_code >= 500, answer.text
            return None
        state = str(answer.json()["status"])
        with self._lock:
            self._history.seen.append(Seen(task_id, state))
        return state

    # --- the verdict -------------------------------------------------------------------

    def verdict(self, within: float = 60.0) -> History:
        """Wait until everything has ended, collect what is known, and have it judged."""
        try:
            eventually(lambda: self.ended() == len(self.ids()), within=within, why="all have ended")
            eventually(self._is_quiet, within=LEASE + NOISE, why="nothing runs any more")
        finally:
            self._ending.set()
            self._poller.join(timeout=60)
        history = self._collected()
        faults = oracle.judge(history)
        self._report(history, faults)
        assert not faults, "\n".join([f"{self.name}:", *faults])
        return history

    def _is_quiet(self) -> bool:
        return not self.running() and not any(self._own_slots().values())

    def _own_slots(self) -> dict[str, int]:
        own = (keys.slots_generator(self.generator.pk), keys.slots_owner(self.user.pk))
        return {scope: n for scope, n in self.plant.slots_taken().items() if scope in own}

    def _collected(self) -> History:
        history = self._history
        with self._client() as client:
            for task_id in self.ids():
                assert self._ask(client, task_id) in oracle.TERMINAL
                history.files += self._downloaded(client, task_id)
        history.rows = [*self._rows(), *self._archived()]
        history.calls = self._calls()
        history.limits = {
            f"generator {self.name}": self.at_once,
            f"owner {self.name}": self.at_once,
        }
        history.counts = self._counts(history.rows)
        history.slots = self._own_slots()
        history.lateness = self.lateness
        return history

    def _rows(self) -> list[Row]:
        found = Task.objects.filter(generator=self.generator).order_by("id")
        return [
            Row(
                key=task.params["prompt"],
                task_id=str(task.pk),
                state=task.state,
                owner=task.owner.get_username(),
                generator=self.name,
                attempts=task.attempts.count(),
                outcomes=list(task.attempts.order_by("number").values_list("outcome", flat=True)),
                events=list(
                    Event.objects.filter(task_id=task.pk)
                    .order_by("id")
                    .values_list("kind", flat=True)
                ),
                late=late(task),
            )
            for task in found.select_related("owner")
        ]

    def _archived(self) -> list[Row]:
        return [
            Row(
                key=one.params["prompt"],
                task_id=str(one.pk),
                state=one.state,
                owner=self.name,
                generator=self.name,
                attempts=len(one.attempts),
                archived=True,
            )
            for one in ArchivedTask.objects.filter(generator=self.generator)
        ]

    def _calls(self) -> list[Call]:
        calls: list[Call] = []
        going: dict[int, artists.Line] = {}
        for line in self.lines():
            if line.what == "start":
                going[line.pid] = line
            elif line.what == "stop":
                begun = going.pop(line.pid)
                ended = min(line.at, self.frozen.get(line.pid, line.at))
                calls.append(Call(begun.name, begun.at, max(begun.at, ended)))
        for pid, line in going.items():
            calls.append(Call(line.name, line.at, self.plant.service.died.get(pid)))
        return calls

    def _downloaded(self, client: httpx.Client, task_id: str) -> list[File]:
        document = client.get(f"/v1/tasks/{task_id}").json()
        artifacts = document["result"]["artifacts"] if document["result"] else []
        return [self._file(client, task_id, one) for one in artifacts]

    def _file(self, client: httpx.Client, task_id: str, told: dict[str, Any]) -> File:
        answer = client.get(told["url"], follow_redirects=True)
        got = answer.content if answer.status_code == 200 else None
        return File(
            task_id,
            told["bytes"],
            told["sha256"],
            None if got is None else len(got),
            None if got is None else hashlib.sha256(got).hexdigest(),
            opens=got is not None and _opens(got, told),
        )

    def _counts(self, rows: list[Row]) -> list[Count]:
        """Compare the metrics of this generator with its rows."""
        samples = self._samples()
        states = Counter(row.state for row in rows)
        kinds = Counter(kind for row in rows for kind in row.events)
        counts = [
            Count("submissions", samples["submissions"], len(rows)),
            Count("waiting", samples["queue_depth"], 0),
            Count("slots in use", samples["slots_used"], 0),
        ]
        counts += [
            Count(f"completions {state}", samples[state], states[state])
            for state in sorted(oracle.TERMINAL)
        ]
        counts += [
            Count(f"events {kind}", samples[f"event {kind}"], kinds[kind])
            for kind in ("claimed", "requeued", "late_result")
        ]
        used = DayUse.objects.filter(owner=self.user).aggregate(number=Sum("number", default=0))
        counts.append(Count("day", used["number"], sum(_counts_for_the_day(row) for row in rows)))
        counts.append(Count("attempts", kinds["claimed"], sum(row.attempts for row in rows)))
        return counts

    def _samples(self) -> Counter[str]:
        answer = httpx.get(f"{self.plant.service.url}/metrics", timeout=10, trust_env=False)
        answer.raise_for_status()
        found: Counter[str] = Counter()
        for family in text_string_to_metric_families(answer.text):
            for name, labels, value, *_ in family.samples:
                if labels.get("generator") != self.name:
                    continue
                short = name.removeprefix("darkroom_").removesuffix("_total")
                match short:
                    case "submissions" | "queue_depth" | "slots_used":
                        found[short] += int(value)
                    case "completions":
                        found[labels["state"]] += int(value)
                    case "events":
                        found[f"event {labels['kind']}"] += int(value)
        return found

    def _report(self, history: History, faults: list[str]) -> None:
        report.add(
            {
                "scenario": self.name,
                "tasks": len(history.rows),
                "calls": len(history.calls),
                "attempts": sum(row.attempts for row in history.rows),
                "polls": len(history.seen),
                "refused": sum(self.refused.values()),
                "faults": len(faults),
            }
        )


def _counts_for_the_day(row: Row) -> bool:
    """Whether a task counts against its owner's day: delivered, or canceled while it ran."""
    if row.state != "failed":
        return row.state == "success"
    ran = [kind for kind in row.events if kind in ("claimed", "requeued", "canceled")]
    return ran[-2:] == ["claimed", "canceled"]


def late(task: Task) -> float | None:
    """Return how many seconds after its deadline a task ended; None: it had none."""
    if task.deadline_at is None or task.finished_at is None:
        return None
    return (task.finished_at - task.deadline_at).total_seconds()


def _opens(content: bytes, told: dict[str, Any]) -> bool:
    with Image.open(io.BytesIO(content)) as picture:
        picture.load()
        return picture.size == (told["width"], told["height"])
