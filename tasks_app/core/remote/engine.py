"""The engine of one worker process: an event loop that makes many calls at once.

The worker's own thread decides and claims; calls, and what follows them, run here, so that a slow
upstream holds a slot but no process. The database, Redis and files are asked in threads beside the
loop. A flight is the work on one attempt. While it lasts, the engine says that the attempt is
cared for: heartbeats for submissions, a moved due time for questions.
"""

import asyncio
import contextvars
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeVar
from uuid import UUID

from django.db import DatabaseError, InterfaceError, close_old_connections, connection
from redis import Redis
from redis.exceptions import RedisError

from tasks_app import conf, logs
from tasks_app.core.durably import durably
from tasks_app.core.remote import progress, records
from tasks_app.core.remote.fetching import Fetcher
from tasks_app.core.remote.lines import Clients
from tasks_app.core.remote.together import Together
from tasks_app.gates import control
from tasks_app.gates.connection import private_client
from tasks_app.models import Attempt

logger = logging.getLogger(__name__)

T = TypeVar("T")

_DATABASE_THREADS: Final = 4
_FILE_THREADS: Final = 2
_DOWNLOADS: Final = 4
"""Results that are held in memory at once, each of at most ``max_artifact_bytes``."""
_CLEARLY_LESS: Final = 0.75
"""Of a generator's share: at one place less every ending would wake who waits for room."""
_START_SECONDS: Final = 10.0
_PATIENCE: Final = 600.0
"""Seconds that the database is waited for; longer than any restart."""


_LOOK_SECONDS: Final = 5.0
_looked = threading.local()


class Kind(StrEnum):
    """What a flight does: hand work to an upstream, or ask about it."""

    SUBMIT = "submit"
    QUESTION = "question"


@dataclass(slots=True)
class Flight:
    """The work on one attempt in this process. ``stoppable``: a cancel ends it at once."""

    attempt: Attempt
    kind: Kind
    generator_id: UUID
    stoppable: bool = False
    names: dict[str, object] = field(default_factory=dict)
    private: tuple[str, ...] = ()
    begun: float = field(default_factory=time.monotonic)
    task: "asyncio.Task[None] | None" = None

    @property
    def key(self) -> tuple[UUID, Kind]:
        """What there is one flight of: an attempt may be asked about while it is submitted."""
        return self.attempt.pk, self.kind


class Engine:
    """Runs flights, up to ``conf.remote_calls`` of them."""

    def __init__(self) -> None:
        self.clients: Clients
        self.fetcher: Fetcher
        self.downloads: asyncio.Semaphore
        self.kept: asyncio.Semaphore
        """For answers and webhooks that are read from the database: each may be large."""
        self.ending: asyncio.Event
        """Set when the process ends: who only waits hands over what he holds."""
        self.later: Together[records.Later]
        self._flights: dict[tuple[UUID, Kind], Flight] = {}
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._database = ThreadPoolExecutor(_DATABASE_THREADS, "remote-database")
        self._files = ThreadPoolExecutor(_FILE_THREADS, "remote-files")
        self._redis: Redis = private_client(max_connections=_DATABASE_THREADS + 1)
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="remote-engine", daemon=True)
        self._thread.start()
        if not self._ready.wait(_START_SECONDS):
            raise RuntimeError("the event loop did not start")

    # --- for the worker's thread ---------------------------------------------------------

    @property
    def room(self) -> int:
        """How many more flights there may be."""
        with self._lock:
            return max(0, conf.get().remote_calls - len(self._flights))

    def crowded(self, share: float) -> list[UUID]:
        """Return the generators that have this share of all the room there is."""
        most = max(1, int(conf.get().remote_calls * share))
        with self._lock:
            return [pk for pk, count in self._counts().items() if count >= most]

    def wait_for_less(self, crowded: Collection[UUID], share: float, seconds: float) -> None:
        """Wait until one of these generators has clearly less than its share, at most so long."""
        few = int(conf.get().remote_calls * share * _CLEARLY_LESS)
        with self._changed:
            self._changed.wait_for(lambda: self._any_below(crowded, few), timeout=seconds)

    def _any_below(self, generators: Collection[UUID], few: int) -> bool:
        counts = self._counts()
        return any(counts[pk] <= few for pk in generators)

    def _counts(self) -> "Counter[UUID]":
        return Counter(flight.generator_id for flight in self._flights.values())

    def wait_for_room(self, seconds: float, places: int = 1) -> bool:
        """Wait until so many more flights may begin, half of all at most; False: too long."""
        most = conf.get().remote_calls
        places = max(1, min(places, most // 2))
        with self._changed:
            return self._changed.wait_for(
                lambda: len(self._flights) <= most - places, timeout=seconds
            )

    def launch(self, flight: Flight, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Begin a flight; returns at once. What its work raises is logged."""
        with self._lock:
            if flight.key in self._flights:
                return
            self._flights[flight.key] = flight
        self._loop.call_soon_threadsafe(self._begin, flight, work)

    def drained(self, seconds: float) -> bool:
        """Wait until nothing is in flight; False when the time is over."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._flights, timeout=seconds)

    def wind_up(self) -> None:
        """Tell flights that only wait to hand over what they hold; returns at once."""
        self._loop.call_soon_threadsafe(self.ending.set)

    def stop(self) -> None:
        """End the loop and what is still in flight: others will find it."""
        if not self._thread.is_alive():
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=_START_SECONDS)
        for pool in (self._files, self._database):
            pool.shutdown(wait=True, cancel_futures=True)

    # --- for flights -----------------------------------------------------------------------

    async def in_database(self, action: Callable[..., T], *arguments: Any) -> T:
        """Call ``action`` where it may ask the database and Redis."""
        return await self._elsewhere(self._database, lambda: _checked(action, arguments))

    async def durably(self, action: Callable[..., T], *arguments: Any) -> T:
        """Call what must not be lost, and go on while the database is away."""

        def insist() -> T:
            return durably(lambda: action(*arguments), within=_PATIENCE)

        return await self._elsewhere(self._database, insist)

    async def in_files(self, action: Callable[..., T], *arguments: Any) -> T:
        """Call ``action`` where it may compute and store."""
        return await self._elsewhere(self._files, lambda: action(*arguments))

    async def _ask_later(self, wishes: Sequence[records.Later]) -> None:
        await self.in_database(_write_later, wishes)

    async def _elsewhere(self, pool: ThreadPoolExecutor, action: Callable[[], T]) -> T:
        # Log lines are said with the names of the flight there, too.
        context = contextvars.copy_context()
        return await self._loop.run_in_executor(pool, lambda: context.run(action))

    # --- the loop --------------------------------------------------------------------------

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._open())
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._close())
            self._loop.close()

    async def _open(self) -> None:
        self.clients = Clients()
        self.fetcher = Fetcher()
        self.downloads = asyncio.Semaphore(_DOWNLOADS)
        self.kept = asyncio.Semaphore(_DOWNLOADS)
        self.ending = asyncio.Event()
        self.later = Together(self._ask_later)
        self._care_task = asyncio.ensure_future(self._care())
        self._ready.set()

    async def _close(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self.clients.close()
        await self.fetcher.close()
        together = threading.Barrier(_DATABASE_THREADS, timeout=_START_SECONDS)
        closings = [
            self._loop.run_in_executor(self._database, _close_own, together)
            for _ in range(_DATABASE_THREADS)
        ]
        await asyncio.gather(*closings, return_exceptions=True)

    def _begin(self, flight: Flight, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        flight.task = self._loop.create_task(self._fly(flight, work))

    async def _fly(self, flight: Flight, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            with logs.about(*flight.private, **flight.names):
                await work()
        except (DatabaseError, InterfaceError, RedisError) as error:
            logger.warning("%s of %s is left to others: %s", flight.kind, flight.attempt, error)
        except Exception:
            logger.exception("%s of %s failed", flight.kind, flight.attempt)
        finally:
            with self._changed:
                self._flights.pop(flight.key, None)
                self._changed.notify_all()

    async def _care(self) -> None:
        """Look for cancels, and say that the attempts in flight are cared for."""
        next_beat = time.monotonic() + conf.get().heartbeat_interval
        while True:  # ends with the loop
            await asyncio.sleep(conf.get().control_interval)
            with self._lock:
                flights = list(self._flights.values())
            stoppable = [flight for flight in flights if flight.stoppable]
            try:
                if stoppable:
                    await self._stop_revoked(stoppable)
                if time.monotonic() >= next_beat:
                    next_beat = time.monotonic() + conf.get().heartbeat_interval
                    await self._beat(flights)
            except (DatabaseError, InterfaceError, RedisError) as error:
                logger.warning("remote attempts without heartbeat: %s", error)
            except Exception:
                logger.exception("remote attempts without heartbeat")

    async def _stop_revoked(self, flights: list[Flight]) -> None:
        def asked() -> list[Flight]:
            return [f for f in flights if control.asked_to_stop(f.attempt.claim_id, self._redis)]

        for flight in await self.in_database(asked):
            if flight.task is not None:
                flight.task.cancel()

    async def _beat(self, flights: list[Flight]) -> None:
        submits = [flight.attempt.pk for flight in flights if flight.kind is Kind.SUBMIT]
        questions = [flight.attempt for flight in flights if flight.kind is Kind.QUESTION]
        if submits:
            revoked = await self.in_database(records.beat, submits)
            for flight in flights:
                if flight.stoppable and flight.attempt.pk in revoked and flight.task is not None:
                    flight.task.cancel()
        if questions:
            await self.in_database(records.keep_taken, questions)


def _write_later(wishes: Sequence[records.Later]) -> None:
    """Set the next due times, and tell readers what progress was seen."""
    reached = records.ask_later(wishes)
    told = [wish.attempt for wish in wishes if wish.progress]
    progress.tell_all([(one, reached[one.pk]) for one in told if reached.get(one.pk)])


def _close_own(together: threading.Barrier) -> None:
    """Close the thread's connection to the database; the barrier gives each thread its turn."""
    connection.close()
    together.wait()


def _checked(action: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    # Looking after the connection costs a statement, and there may be hundreds in a second.
    if time.monotonic() - getattr(_looked, "at", 0.0) > _LOOK_SECONDS:
        close_old_connections()
        _looked.at = time.monotonic()
    try:
        return action(*arguments)
    except (DatabaseError, InterfaceError):
        connection.close_if_unusable_or_obsolete()
        raise
