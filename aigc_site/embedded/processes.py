"""The process manager: starts children, restarts what dies, stops all of them in order.

It runs in the main thread only (parent-death signals are bound to the thread that forked) and
sleeps in one select, which signals and ended children interrupt. Its caps: a restart waits up to
10 s however often a child fails; a stop takes at most `SERVICE_GRACE + SERVER_GRACE` plus a
second of killing, whatever the children do.

When the manager itself is killed, Linux kills the children (see spawn.py). Elsewhere guard.py
does it.
"""

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Self

from aigc_site.embedded import EmbeddedError, logs
from aigc_site.embedded.children import Child, Program, Stage, how_it_ended
from aigc_site.embedded.guard import Guard

SERVICE_GRACE = 8.0  # seconds for web, workers and ticker to drain
SERVER_GRACE = 4.0  # seconds for the databases
_TICK = 0.5  # seconds between two looks when nothing happens
_KILL_WAIT = 1.0  # seconds for killed processes to be gone
_LOGS_EVERY = 30.0  # seconds between two looks at the size of the logs
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequested(Exception):
    """A signal or the caller's `stop_when` asked us to end."""


class Manager:
    """Use as a context manager: leaving the block stops every child."""

    def __init__(
        self,
        log_folder: Path,
        say: Callable[[str], None],
        *,
        stop_when: Callable[[], bool] = lambda: False,
    ) -> None:
        """`say` gets one line per event; `stop_when` is asked often and must be quick."""
        self._logs, self._say, self._stop_when = log_folder, say, stop_when
        self.children: list[Child] = []
        self._stop_requests = 0
        self._logs_due = 0.0
        self._guard = Guard()

    def __enter__(self) -> Self:
        self._wakeup, writer = os.pipe()
        for descriptor in (self._wakeup, writer):
            os.set_blocking(descriptor, False)
        self._old_wakeup = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        self._old_handlers = {
            number: signal.signal(number, self._on_stop_signal)
            for number in _STOP_SIGNALS
            # nohup has SIGHUP ignored, and means it.
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN
        }
        # Without a handler of its own an ended child would not interrupt the select.
        self._old_handlers[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
        self._pipe = (self._wakeup, writer)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        finally:
            for number, handler in self._old_handlers.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(self._old_wakeup)
            for descriptor in self._pipe:
                os.close(descriptor)
            self._guard.close()

    def start(self, program: Program) -> Child:
        """Start a child and keep it running until `stop`. Raises EmbeddedError."""
        child = Child(program, self._logs)
        self.children.append(child)
        self._start(child)
        return child

    def run_to_end(self, program: Program, seconds: float) -> None:
        """Run a program once. Raises EmbeddedError when it fails or takes too long."""
        child = self.start(program)
        if not self.wait_for(lambda: not child.alive, seconds):
            raise EmbeddedError(f"{program.name} took longer than {seconds:g} s.")
        self.children.remove(child)
        if child.exit_code != 0:
            said = logs.last_words(self._logs, program.name)
            raise EmbeddedError(f"{program.name} failed: {said or self._log_of(child)}")

    def wait_for(self, condition: Callable[[], bool], seconds: float, step: float = 0.05) -> bool:
        """Look after the children until the condition holds; False when that takes too long.

        Raises StopRequested when a signal comes first.
        """
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                return False
            self.look(step)
        return True

    def run_forever(self) -> None:
        """Look after the children until StopRequested."""
        while True:
            self.look(_TICK)

    def look(self, timeout: float) -> None:
        """Wait for something to happen, at most so many seconds; restart what ended."""
        self._check_stop()
        self._wait(min(timeout, self._until_due()))
        self._check_stop()
        for child in self.children:
            if child.reap():
                self._guard.forget(child)
                self._after_end(child)
            elif child.program.restart and not child.alive and time.monotonic() >= child.due:
                self._restart(child)
        self._keep_logs_small()

    def stop(self) -> None:
        """Stop the service, then the servers. A second signal skips what is left of the grace."""
        requests = self._stop_requests
        for stage, grace in ((Stage.SERVICE, SERVICE_GRACE), (Stage.SERVER, SERVER_GRACE)):
            members = [child for child in self.children if child.program.stage == stage]
            for child in members:
                child.ask_to_stop()
            hurried = self._stop_requests > max(requests, 1)
            self._wait_gone(members, 0.0 if hurried else grace, max(requests, 1))
            self._kill(members)
        self.children.clear()

    # --- one child ---------------------------------------------------------------------------

    def _start(self, child: Child) -> None:
        child.start()
        self._guard.remember(child)

    def _restart(self, child: Child) -> None:
        try:
            self._start(child)
        except (EmbeddedError, OSError) as error:
            delay = child.plan_restart()
            self._say(f"{child.program.name} could not be started ({error}); again in {delay:g} s")
        else:
            self._say(f"{child.program.name} restarted")

    def _after_end(self, child: Child) -> None:
        if not child.program.restart:
            return
        delay = child.plan_restart()
        ended = how_it_ended(child.exit_code or 0)
        self._say(f"{child.program.name} ended ({ended}); restart in {delay:g} s")
        if child.exit_code and child.exit_code > 0:
            for line in logs.last_lines(self._logs, child.program.name, 3):
                self._say(f"  {child.program.name}: {line[:200]}")

    def _kill(self, members: Sequence[Child]) -> None:
        """End by force what is left of these, also processes that left their group."""
        for child in members:
            child.kill()
        self._wait_gone(members, _KILL_WAIT, None)
        for child in members:
            self._guard.forget(child)

    def _wait_gone(self, members: Sequence[Child], grace: float, hurry_above: int | None) -> None:
        deadline = time.monotonic() + grace
        while True:
            for child in members:
                child.reap()
            hurried = hurry_above is not None and self._stop_requests > hurry_above
            if hurried or not any(child.alive for child in members):
                return
            if time.monotonic() >= deadline:
                return
            self._wait(0.05)

    # --- waiting -----------------------------------------------------------------------------

    def _wait(self, timeout: float) -> None:
        ready, _, _ = select.select([self._wakeup], [], [], max(0.0, timeout))
        if ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wakeup, 4096)

    def _until_due(self) -> float:
        waiting = [c.due for c in self.children if c.program.restart and not c.alive]
        return max(0.0, min(waiting) - time.monotonic()) if waiting else _TICK

    def _check_stop(self) -> None:
        if self._stop_requests or self._stop_when():
            raise StopRequested

    def _on_stop_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._stop_requests += 1

    def _keep_logs_small(self) -> None:
        if time.monotonic() >= self._logs_due:
            self._logs_due = time.monotonic() + _LOGS_EVERY
            with contextlib.suppress(OSError):
                logs.keep_small(self._logs)

    def _log_of(self, child: Child) -> str:
        return f"see {self._logs / child.program.name}.log"
