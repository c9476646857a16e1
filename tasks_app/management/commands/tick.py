"""`manage.py tick`: the ticker. Run one per host or several; all are harmless."""

import os
import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand

from tasks_app import metrics
from tasks_app.maintenance.ticker import tick_until


class Command(BaseCommand):
    """Ring for what is due, publish figures and sweep, until SIGTERM."""

    help = "Look every half second for what is due; ring, publish figures, sweep."

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the ticker."""
        metrics.start("ticker")
        tick_until(_set_by_signals())


def _set_by_signals() -> threading.Event:
    """Return an event that SIGTERM and SIGINT set.

    A thread does it. Were it done in the signal handler itself, it could wait for a lock that
    the very ``wait`` which it interrupts holds, for ever.
    """
    stop = threading.Event()
    told, tell = os.pipe()
    os.set_blocking(tell, False)

    def wait_for_a_signal() -> None:
        os.read(told, 1)
        stop.set()

    threading.Thread(target=wait_for_a_signal, name="signals", daemon=True).start()
    signal.set_wakeup_fd(tell)
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda *_: None)
    return stop
