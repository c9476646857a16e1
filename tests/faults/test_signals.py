"""Signals that arrive at the worst moment: every process that is told to stop does."""

import signal
from collections.abc import Callable

from tests.processes import Service, eventually

Services = Callable[..., Service]

# The signal interrupts the ticker's wait while it holds the lock of its event.
TICKER = """
import signal, threading
from django.core.management import call_command

class Event(threading.Event):
    def wait(self, timeout=None):
        if timeout is not None and threading.current_thread() is threading.main_thread():
            with self._cond:
                signal.raise_signal(signal.SIGTERM)
        return super().wait(timeout)

threading.Event = Event
call_command("tick")
"""

# RQ ends an idle worker by an exception from the signal handler; here it is swallowed.
WORKER = """
import time
from tasks_app import workers

class Swallowing(workers.Worker):
    def dequeue_job_and_maintain_ttl(self, *arguments):
        print("ready", flush=True)
        while True:
            try:
                time.sleep(60)
            except Exception:
                pass

Swallowing("default").serve()
"""


def test_a_ticker_that_is_told_to_stop_in_the_middle_of_its_wait_stops(
    service: Services, db: None
) -> None:
    assert service().python(TICKER).wait(10) == 0


def test_a_worker_whose_code_swallows_the_word_to_stop_stops_all_the_same(
    service: Services, db: None
) -> None:
    darkroom = service()
    worker = darkroom.python(WORKER)
    eventually(lambda: "ready" in "".join(darkroom.outputs().values()))
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(10) == 0
