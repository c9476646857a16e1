"""`manage.py tick`: the ticker. Run one per host or several; all are harmless."""

import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand

from tasks_app.maintenance.ticker import tick_until


class Command(BaseCommand):
    """Ring for what is due, publish figures and sweep, until SIGTERM."""

    help = "Look every half second for what is due; ring, publish figures, sweep."

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the ticker."""
        stop = threading.Event()
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, lambda *_: stop.set())
        tick_until(stop)
