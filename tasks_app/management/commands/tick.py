"""`manage.py tick`: the ticker. Run one per host or several; all are harmless."""

import os
import signal
import threading
from typing import Any, Final

from django.core.management.base import BaseCommand

from tasks_app import metrics
from tasks_app.maintenance import housekeeping
from tasks_app.maintenance.ticker import tick_until

_LAST_BATCH: Final = 5.0
"""Seconds that purging and archiving have to end what they are at; whoever is next goes on."""


class Command(BaseCommand):
    """Ring for what is due, publish figures, sweep, purge and archive, until SIGTERM."""

    help = "Look every half second for what is due; ring, publish figures, sweep; keep house."

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the ticker."""
        metrics.start("ticker")
        stop = _set_by_signals()
        house = housekeeping.start(stop)
        tick_until(stop)
        house.join(_LAST_BATCH)


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
