"""Instruments: what processes count, and the way of the counts to Redis.

What the history tells is counted in PostgreSQL (``models.tallies``) and what holds right now is
read when it is asked for (``core.observation``). What remains is counted here: in memory, at the
cost of a dictionary's entry, and added to Redis once a second by a thread of its own. A batch
has a number, so sending it again after a lost answer adds nothing twice. While Redis is away
the counts wait. A process that is killed loses those of its last second.
"""

import atexit
import logging
import os
import socket
import threading
from bisect import bisect_left
from dataclasses import dataclass
from typing import Final

import psutil
from redis import Redis
from redis.exceptions import RedisError

from tasks_app import logs
from tasks_app.gates import counters
from tasks_app.gates.connection import private_client

logger = logging.getLogger(__name__)

FLUSH_SECONDS: Final = 1.0
_REPORT_EVERY: Final = 5
"""Flushes between two reports of the process itself."""

TASK_BUCKETS: Final = (
    *(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0),
    *(120.0, 300.0, 600.0, 1800.0, 3600.0, float("inf")),
)
"""Upper bounds, in seconds, of how long tasks wait and take. Totals are kept by them."""
_CLAIM_BUCKETS: Final = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, float("inf")),
)


@dataclass(frozen=True, slots=True)
class Instrument:
    """Something that processes count, or measure if it has buckets."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


POLLS: Final = Instrument(
    "polls",
    "Polls of one task by what they found: changed, unchanged, not_modified (304), refused.",
    ("answer",),
)
CLAIMS: Final = Instrument(
    "claim_seconds",
    "Seconds from hearing a bell to a committed claim.",
    ("pool",),
    _CLAIM_BUCKETS,
)
REPAIRS: Final = Instrument("sweep_repairs", "What sweeps did, by kind.", ("kind",))
ARCHIVED: Final = Instrument("tasks_archived", "Tasks moved to the archive.")
PURGED: Final = Instrument(
    "purged",
    "What was cleared away, by kind: results (expired), files, file_failures (deletions that the "
    "storage refused, tried again later), keys (of idempotency), sessions.",
    ("kind",),
)
UPSTREAM: Final = Instrument(
    "upstream_answers",
    "Answers of upstream services by class: 2xx, 3xx, 4xx, 429, 5xx, none.",
    ("generator", "answer"),
)
POLL_LATENESS: Final = Instrument(
    "upstream_poll_lateness_seconds",
    "Seconds from when an upstream was to be asked to when it was.",
    ("pool",),
    (0.05, 0.1, 0.25, 0.5, 1.0, 1.5, 2.5, 5.0, 10.0, 30.0, 60.0, float("inf")),
)
CALLBACKS: Final = Instrument(
    "callback_attempts", "Attempts to deliver a callback, by outcome.", ("event", "outcome")
)
CALLBACK_SECONDS: Final = Instrument(
    "callback_attempt_seconds",
    "Seconds that one attempt to deliver a callback took.",
    (),
    (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, float("inf")),
)
CALLBACK_LAG: Final = Instrument(
    "callback_delivery_seconds",
    "Seconds from an event to the receiver's 2xx.",
    (),
    (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 600.0, 3600.0, 21600.0, 86400.0, float("inf")),
)
LOG_LINES_DROPPED: Final = Instrument(
    "log_lines_dropped", "Log lines that were dropped because the disk or pipe was too slow."
)

INSTRUMENTS: Final = (
    POLLS,
    CLAIMS,
    REPAIRS,
    ARCHIVED,
    PURGED,
    UPSTREAM,
    POLL_LATENESS,
    CALLBACKS,
    CALLBACK_SECONDS,
    CALLBACK_LAG,
    LOG_LINES_DROPPED,
)

_SEPARATOR: Final = "\x1f"
SUM: Final = "sum"
"""The part of a histogram that holds the sum, in microseconds; the others are upper bounds."""


def count(instrument: Instrument, *labels: str, by: int = 1) -> None:
    """Count something that happened."""
    _buffer.add(_field(instrument, labels, ""), by)


def observe(instrument: Instrument, seconds: float, *labels: str) -> None:
    """Measure something that took so long."""
    bound = instrument.buckets[bisect_left(instrument.buckets, seconds)]
    _buffer.add(_field(instrument, labels, repr(bound)), 1)
    _buffer.add(_field(instrument, labels, SUM), round(seconds * 1e6))


def upstream_answer(generator: str, status: int | None) -> None:
    """Count an upstream's answer; None: there was none."""
    count(UPSTREAM, generator, _class(status))


def _class(status: int | None) -> str:
    if status is None:
        return "none"
    return "429" if status == 429 else f"{status // 100}xx"


@dataclass(frozen=True, slots=True)
class Sample:
    """One counter as Redis has it; ``part`` is "" or a part of a histogram."""

    labels: tuple[str, ...]
    part: str
    amount: int


def read() -> dict[str, list[Sample]]:
    """Return what all processes have counted, by instrument. Raises ``RedisError``."""
    found: dict[str, list[Sample]] = {instrument.name: [] for instrument in INSTRUMENTS}
    for field, amount in counters.read().items():
        name, *labels, part = field.split(_SEPARATOR)
        if name in found:  # another version may count what this one does not know
            found[name].append(Sample(tuple(labels), part, amount))
    return found


def start(kind: str) -> None:
    """Flush once a second from now on and at the end, and report this process as a ``kind``."""
    _buffer.start(kind)


def flush() -> None:
    """Send what was counted, now; an absent Redis is logged, and the counts wait."""
    _buffer.flush()


def last_words() -> None:
    """Send what was counted and write what was logged: before ``os._exit``."""
    flush()
    logs.flush()


def _field(instrument: Instrument, labels: tuple[str, ...], part: str) -> str:
    return _SEPARATOR.join((instrument.name, *labels, part))


class _Buffer:
    """The counts of one process that Redis does not have yet."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._lock = threading.Lock()
        # The batch on its way: kept until Redis has confirmed it.
        self._unsent: dict[str, int] = {}
        self._batch = 0
        self._sending = threading.Lock()
        self._redis: Redis | None = None
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()
        self._name = f"{socket.gethostname()}-{os.getpid()}-{os.urandom(4).hex()}"

    def add(self, field: str, amount: int) -> None:
        with self._lock:
            self._counts[field] = self._counts.get(field, 0) + amount

    def start(self, kind: str) -> None:
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._loop, args=(kind,), name="metrics", daemon=True
            )
            self._thread.start()
            atexit.register(self.end)

    def flush(self) -> None:
        dropped = logs.take_dropped()
        if dropped:
            count(LOG_LINES_DROPPED, by=dropped)
        with self._sending:
            try:
                self._send()
            except RedisError as error:
                logger.warning("counts wait for Redis: %s", error)

    def end(self) -> None:
        self._ending.set()
        self.flush()
        try:
            counters.leave(self._name, self._client())
        except RedisError:
            pass  # it counts as gone in a few seconds

    def _send(self) -> None:
        if not self._unsent:
            with self._lock:
                self._unsent, self._counts = self._counts, {}
            self._batch += 1
        if self._unsent:
            counters.add(self._name, self._batch, self._unsent, self._client())
            self._unsent = {}

    def _loop(self, kind: str) -> None:
        flushes = 0
        while not self._ending.is_set():
            self.flush()
            self._look()
            if flushes % _REPORT_EVERY == 0:
                self._report(kind)
            flushes += 1
            self._ending.wait(FLUSH_SECONDS)

    def _look(self) -> None:
        """Ask Redis for nothing: an idle process, too, shall know that it was away."""
        try:
            self._client().ping()
        except RedisError:
            pass  # noted where it was met: see ``gates.connection.failed_within``

    def _report(self, kind: str) -> None:
        memory = psutil.Process().memory_info().rss
        process = counters.Process(kind, socket.gethostname(), os.getpid(), memory)
        try:
            counters.report(self._name, process, self._client())
        except RedisError as error:
            logger.debug("no report without Redis: %s", error)

    def _client(self) -> Redis:
        if self._redis is None:
            self._redis = private_client(max_connections=2)
        return self._redis


_buffer = _Buffer()


def reset() -> None:
    """Begin anew: a forked child sends what it counts itself, not what its parent has counted."""
    global _buffer
    _buffer = _Buffer()


os.register_at_fork(after_in_child=reset)
