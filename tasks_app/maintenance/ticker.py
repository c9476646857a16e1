"""The ticker: looks every half second for what is due, and rings.

Several may run; all they do is harmless to do twice. Each chore has its own period, and a
chore that fails (Redis or the database away) is tried again at its next turn.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.db import DatabaseError, InterfaceError, close_old_connections, connection
from redis.exceptions import RedisError

from tasks_app import conf
from tasks_app.core import credentials, signs
from tasks_app.maintenance import due, figures, remote
from tasks_app.maintenance.report import Report
from tasks_app.maintenance.sweep import sweep

logger = logging.getLogger(__name__)

_CREDENTIALS_INTERVAL: Final = 60.0
_SIGN_INTERVAL: Final = 60.0


@dataclass(slots=True)
class Chore:
    """Something to do every so many seconds, or sooner if the action says so."""

    name: str
    period: float
    action: Callable[[], float | None]
    next_at: float = 0.0


def chores() -> list[Chore]:
    """Return what the ticker does, with the periods of the settings."""
    settings = conf.get()
    return [
        Chore("bells", settings.tick_interval, _ring),
        Chore("figures", settings.figures_interval, figures.publish_all),
        Chore("sweep", settings.sweep_interval, _sweep),
        Chore("key use", _CREDENTIALS_INTERVAL, credentials.flush_use),
        Chore("sign", _SIGN_INTERVAL, signs.tick),
    ]


def tick_until(stop: threading.Event) -> None:
    """Do the chores at their periods until ``stop`` is set."""
    todo = chores()
    while not stop.is_set():
        for chore in todo:
            if time.monotonic() >= chore.next_at and not stop.is_set():
                chore.next_at = time.monotonic() + chore.period
                again = do(chore)
                if again is not None:
                    chore.next_at = min(chore.next_at, time.monotonic() + again)
        pause = min(chore.next_at for chore in todo) - time.monotonic()
        stop.wait(max(0.01, pause))
    connection.close()


def do(chore: Chore) -> float | None:
    """Do one chore; returns in how many seconds it wants to be done again, if it says so.

    Whatever goes wrong is logged: the other chores must be done all the same.
    """
    try:
        close_old_connections()
        return chore.action()
    except (RedisError, DatabaseError, InterfaceError) as error:
        logger.warning("%s: %s", chore.name, error)
        connection.close()
    except Exception:
        logger.exception("%s failed", chore.name)
        connection.close()
    return None


def _ring() -> float | None:
    report = Report()
    due.release_due(report, False)
    due.ring_where_work_waits(report, False)
    remote.ring_for_due(report, False)
    due.ring_for_callbacks(report, False)
    return due.soonest_rate()


def _sweep() -> None:
    report = sweep()
    repairs = {kind: n for kind, n in report.counts.items() if kind != "bells"}
    if repairs:
        logger.info("sweep: %s", ", ".join(f"{kind} {n}" for kind, n in repairs.items()))
