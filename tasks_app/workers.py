"""The worker: RQ's non-forking worker, serving exactly one queue.

A pool has a queue of its own name, for claims, and one for questions about what it has submitted
to upstreams: ``<pool>-polls``. What a worker does with upstreams it does in its engine, beside
what it does here.

Non-forking keeps models warm and connections pooled, and CUDA cannot be used after a fork.
RQ is only the doorbell here: its retries, callbacks, scheduler and registries are not used,
and whatever it loses, the ticker rings again.
"""

import logging
import os
import signal
import socket
import threading
import time
from types import FrameType
from typing import Final

import psutil
from django.db import DatabaseError, InterfaceError, close_old_connections, connection
from redis import Redis
from redis.client import Pipeline
from redis.exceptions import RedisError
from rq.exceptions import StopRequested
from rq.job import Job
from rq.queue import Queue
from rq.serializers import JSONSerializer
from rq.worker import SimpleWorker
from rq.worker.base import WorkerStatus

from tasks_app import bells, conf, metrics
from tasks_app.callbacks.delivery import Deliverer
from tasks_app.core import claim, execution, outcomes, storing
from tasks_app.core.claim import Claim
from tasks_app.core.remote import polling, submitting
from tasks_app.core.remote.engine import Engine
from tasks_app.core.stopping import Reason, Run
from tasks_app.gates import workers as signs
from tasks_app.gates.connection import private_client

logger = logging.getLogger(__name__)

_SIGN_INTERVAL: Final = 5.0
_AGAIN: Final = 1.0
"""Seconds until a worker listens again that RQ has let go."""
_LAST_WORD: Final = 2.0
"""Seconds between the end of the drain time and the end of the process, whatever goes on."""
_LANDING: Final = 600.0
"""Seconds that a worker which retires waits for its calls of upstreams."""

_BURST_SECONDS: Final = 60.0

_current: "Worker | None" = None


def current() -> "Worker":
    """Return the worker of this process. Raises ``RuntimeError`` outside of one."""
    if _current is None:
        raise RuntimeError("bells are heard by `manage.py worker` only")
    return _current


class Worker(SimpleWorker):
    """A worker of one queue: a pool's own, or that about its submitted work."""

    max_connection_wait_time = 2.0
    """Seconds between two tries to reach Redis; RQ's own minute would idle through its return."""

    def __init__(self, pool: str) -> None:
        global _current
        self.pool = pool
        name = f"{socket.gethostname()}-{os.getpid()}-{os.urandom(3).hex()}"
        super().__init__(
            [bells.queue(pool)],
            name=name,
            connection=bells.connection(),
            worker_ttl=30,
            serializer=JSONSerializer,
            maintenance_interval=86_400,
            log_job_description=False,
        )
        self._redis = private_client(max_connections=4)
        self._tasks_done = 0
        self._run: Run | None = None
        self._claim: Claim | None = None
        self._engine: Engine | None = None
        self._deliverer = Deliverer() if pool == bells.CALLBACKS else None
        self._ending = threading.Event()
        self._drained = threading.Event()
        self._over = threading.Event()
        _current = self

    # --- one bell ----------------------------------------------------------------------

    def hear(self, pool: str) -> None:
        """Claim at most one task and run it. Errors are logged: a bell never fails.

        A worker whose engine is full claims nothing: the ticker rings again.
        """
        if self._deliverer is not None:
            self._deliverer.look()
            return
        if self._engine is not None and self._engine.room == 0:
            return
        try:
            begun = time.monotonic()
            claimed = claim.claim_next(pool, self.name) if storing.accepting() else None
        except RedisError as error:
            logger.warning("no claim without Redis: %s", error)
            return
        except (DatabaseError, InterfaceError) as error:
            # Should the claim have been committed all the same, the sweep finds its attempt.
            logger.warning("no claim without the database: %s", error)
            return
        if claimed is not None:
            metrics.observe(metrics.CLAIMS, claimed.started - begun, pool)
            self._take_up(claimed)

    def ask(self, pool: str) -> None:
        """Ask upstreams about what is due. Errors are logged: a bell never fails."""
        try:
            polling.round_of(pool, self._flying())
        except (RedisError, DatabaseError, InterfaceError) as error:
            logger.warning("no questions to upstreams: %s", error)

    def _take_up(self, claimed: Claim) -> None:
        if not claimed.attempt.remote:
            self._execute(claimed)
            return
        try:
            submitting.begin(claimed, self._flying())
        except (DatabaseError, InterfaceError) as error:
            # Nothing was sent. The sweep finds the attempt.
            logger.warning("no submission without the database: %s", error)

    def _flying(self) -> Engine:
        if self._engine is None:
            self._engine = Engine()
        return self._engine

    def _execute(self, claimed: Claim) -> None:
        self._claim = claimed
        try:
            execution.run(claimed, self._redis, self._started)
        finally:
            self._claim = self._run = None
            self._tasks_done += 1

    def _started(self, run: Run) -> None:
        self._run = run
        if self._drained.is_set():
            run.stop(Reason.SHUTDOWN)

    # --- RQ's hooks --------------------------------------------------------------------

    def _set_ip_address(self, connection: Redis) -> None:
        """Not asked for: CLIENT INFO cannot be read where the socket's path has a space."""
        self.ip_address = "unknown"

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Run one job with database connections checked before and after."""
        close_old_connections()
        try:
            super().execute_job(job, queue)
        finally:
            close_old_connections()
        if self._worn_out():
            self._stop_requested = True

    def serve(self, *, burst: bool = False) -> None:
        """Work until told to stop, giving signs of life."""
        metrics.start("worker")
        threading.Thread(target=self._live, name="signs-of-life", daemon=True).start()
        try:
            self._work(burst=burst)
        finally:
            self._land()
            self._ending.set()
            if self._deliverer is not None:
                self._deliverer.stop()
            self._say_goodbye()
            self._over.set()

    def _work(self, *, burst: bool) -> None:
        if self._deliverer is not None:
            self._deliverer.start()
            self._deliverer.look()  # what became due while no deliverer was there
        self._listen(burst=burst)
        if self._deliverer is not None and burst:
            self._deliverer.wait_idle(_BURST_SECONDS)

    def _listen(self, *, burst: bool) -> None:
        """Hear bells until told to stop; whatever breaks off, go on listening."""
        while True:
            try:
                self.work(burst=burst, logging_level=None)
            except RedisError as error:
                if self.birth_date is None:
                    raise  # it never began: that is for whoever starts it
                logger.warning("the bells cannot be heard: %s", error)
            if burst or self._stop_requested:
                return
            # RQ gives up at whatever breaks off; a warm model took minutes to load.
            logger.warning("listening for bells again")
            time.sleep(_AGAIN)
            self._forget_birth()

    def _forget_birth(self) -> None:
        """Let RQ take this worker, which it left without a word, for a new one."""
        try:
            self.connection.delete(self.key)
        except RedisError as error:
            logger.warning("not listening yet: %s", error)

    def run_maintenance_tasks(self) -> None:
        """RQ's registries hold bells only; nothing there needs repair."""

    def request_stop(self, signum: int, frame: FrameType | None) -> None:
        """First signal: take no more work, let the current one end, within the drain time."""
        if not self._ending.is_set():
            self._ending.set()
            threading.Thread(target=self._drain, name="drain", daemon=True).start()
        super().request_stop(signum, frame)  # type: ignore[no-untyped-call]

    def _shutdown(self) -> None:
        """Only note the wish: this runs in a signal handler, in the middle of anything.

        RQ raises from here when idle, which tears a Redis reply apart that is being read, and
        writes to Redis when busy, which fails the generation while Redis is away.
        """
        self._stop_requested = True

    @property
    def dequeue_timeout(self) -> int:
        """Seconds to block on the queue: an idle worker that is told to stop ends within them."""
        return 1

    def heartbeat(self, timeout: int | None = None, pipeline: Pipeline | None = None) -> None:
        """Sign of life to RQ between two commands: the clean moment in which to stop.

        A bell that was heard in the same moment is lost; the ticker rings again.
        """
        if self._stop_requested and self.get_state() != WorkerStatus.BUSY:
            raise StopRequested
        try:
            super().heartbeat(timeout, pipeline)
        except RedisError as error:
            # RQ would end the process, and with it a model that took minutes to load.
            logger.warning("no sign of life to RQ: %s", error)

    def teardown(self) -> None:
        """Leave RQ's books. What cannot be said to an absent Redis runs out by itself."""
        for step in (self.register_death, self.unsubscribe):
            try:
                step()  # type: ignore[no-untyped-call]
            except RedisError as error:
                logger.warning("no goodbye to RQ: %s", error)

    def request_force_stop(self, signum: int, frame: FrameType | None) -> None:
        """Second signal: the current generation stops at its next step."""
        if self._run is not None:
            self._run.stop(Reason.SHUTDOWN)

    def _install_signal_handlers(self) -> None:
        signal.signal(signal.SIGINT, self.request_stop)
        signal.signal(signal.SIGTERM, self.request_stop)

    # --- ending ------------------------------------------------------------------------

    def _land(self) -> None:
        """Let the calls of upstreams end; ``_drain`` sees to it that this ends, too."""
        if self._engine is not None:
            told = self._ending.is_set()
            self._engine.wind_up()
            self._engine.drained(conf.get().worker_drain if told else _LANDING)
            self._engine.stop()

    def _busy(self) -> bool:
        flying = self._engine is not None and not self._engine.drained(0)
        return flying or self.get_state() == WorkerStatus.BUSY

    def _drain(self) -> None:
        """Stop the generation when the drain time is over, and the process if it will not.

        Not only a generation may not listen: a driver may hang. So a worker that was told to
        stop never outlives the drain time by more than a few seconds, whatever it does.
        """
        give_up = time.monotonic() + conf.get().worker_drain
        while self._busy() and time.monotonic() < give_up:
            time.sleep(0.05)
        self._drained.set()
        if self._run is not None:
            self._run.stop(Reason.SHUTDOWN)
        patience = _LAST_WORD if self._deliverer is None else self._deliverer.patience
        if self._over.wait(patience):
            return
        try:
            if self._claim is not None:
                logger.warning("task %s does not stop: handing it back", self._claim.task.pk)
                outcomes.interrupted(self._claim.attempt)
        finally:
            metrics.last_words()
            os._exit(0)

    def _worn_out(self) -> bool:
        settings = conf.get()
        if self._tasks_done >= settings.worker_max_tasks:
            logger.info("retiring after %d tasks", self._tasks_done)
            return True
        if settings.worker_max_mb == 0:
            return False
        used = psutil.Process().memory_info().rss // 2**20
        if used > settings.worker_max_mb:
            logger.info("retiring with %d MB of memory", used)
            return True
        return False

    # --- signs of life -----------------------------------------------------------------

    def _live(self) -> None:
        """Say every few seconds that this worker lives; ends with the process."""
        redis = private_client(max_connections=2)
        while not self._ending.is_set():
            try:
                signs.alive(self.pool, self.name, redis)
            except RedisError as error:
                logger.warning("no sign of life without Redis: %s", error)
            self._ending.wait(_SIGN_INTERVAL)

    def _say_goodbye(self) -> None:
        try:
            signs.gone(self.pool, self.name, self._redis)
        except RedisError as error:
            logger.warning("no goodbye without Redis: %s", error)
        connection.close()
