"""How a running local generation learns that it must stop, and tells how far it is."""

import threading
import time
from enum import StrEnum

from tasks_app.generators.errors import Stopped


class Reason(StrEnum):
    """Why a generation stops before it is done."""

    REVOKED = "revoked"
    DEADLINE = "deadline"
    SHUTDOWN = "shutdown"


class Run:
    """One generation in progress; the adapter's ``Context``.

    The generating thread calls ``report``, other threads call ``stop`` and read ``fraction``.
    The first reason wins.
    """

    def __init__(self, deadline: float) -> None:
        """``deadline`` is on the clock of ``time.monotonic()``."""
        self.fraction = 0.0
        self.ended = threading.Event()
        self._deadline = deadline
        self._reason: Reason | None = None
        self._told_at: float | None = None
        # Reentrant, because a signal handler may call ``stop`` while its own thread is in there.
        self._lock = threading.RLock()

    def report(self, fraction: float) -> None:
        """Note progress, never backwards. Raises ``Stopped`` when it is time to stop."""
        self.fraction = max(self.fraction, min(1.0, float(fraction)))
        self.check()

    def check(self) -> None:
        """Raise ``Stopped`` when it is time to stop."""
        self.watch_deadline()
        if self._reason is not None:
            raise Stopped(self._reason)

    def watch_deadline(self) -> None:
        """Ask the generation to stop if its deadline has passed."""
        if self._reason is None and time.monotonic() >= self._deadline:
            self.stop(Reason.DEADLINE)

    def stop(self, reason: Reason) -> None:
        """Ask the generation to stop at its next step."""
        with self._lock:
            if self._reason is None:
                self._reason = reason
                self._told_at = time.monotonic()

    @property
    def ignored_for(self) -> float:
        """Seconds since the generation was asked to stop; 0 if it was not."""
        return 0.0 if self._told_at is None else time.monotonic() - self._told_at

    @property
    def reason(self) -> Reason | None:
        """Why the generation was asked to stop, if it was."""
        return self._reason
