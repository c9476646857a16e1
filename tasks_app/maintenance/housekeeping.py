"""Purging and archiving by the ticker, on a thread of its own and at a slow period.

Bells must not wait for a slow storage. Cron does the same with the commands, so that a service
without cron (``make run``) is kept as well; both at once share the work.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from django.db import close_old_connections, connection

from tasks_app import conf
from tasks_app.maintenance import archive, purge

logger = logging.getLogger(__name__)

_SECONDS: Final = 60.0
"""What one chore may take at a turn; the next turn goes on."""
_FIRST_TURN: Final = 5.0
"""Seconds after the start: not in the same moment as everything else."""


def keep_until(stop: threading.Event) -> None:
    """Purge and archive at the period of the settings until ``stop`` is set."""
    pause = min(_FIRST_TURN, conf.get().purge_interval)
    while not stop.wait(pause):
        begun = time.monotonic()
        for chore in (_purge, _archive):
            if not stop.is_set():
                _do(chore)
        connection.close()  # not kept idle for ten minutes
        pause = max(1.0, conf.get().purge_interval - (time.monotonic() - begun))
        pause = min(pause, conf.get().purge_interval)


def start(stop: threading.Event) -> threading.Thread:
    """Keep house on a thread of its own; it does not keep the process alive."""
    thread = threading.Thread(target=keep_until, args=(stop,), name="housekeeping", daemon=True)
    thread.start()
    return thread


def _do(chore: Callable[[], None]) -> None:
    try:
        close_old_connections()
        chore()
    except Exception as error:
        logger.warning("%s: %s: %s", chore.__name__.strip("_"), type(error).__name__, error)
        connection.close()


def _purge() -> None:
    report = purge.purge(seconds=_SECONDS)
    if report.counts or report.troubles:
        logger.info("purge: %s", ", ".join(report.lines()))


def _archive() -> None:
    moved = sum(batch.tasks for batch in archive.archive(seconds=_SECONDS))
    if moved:
        logger.info("archive: %d tasks moved", moved)
