"""All checks in their order, each within a time limit, none able to stop the others."""

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from django.db import connections

from tasks_app.maintenance.doctor import (
    address,
    counts,
    database,
    files,
    offers,
    overdue,
    redis,
    service,
)
from tasks_app.maintenance.doctor.finding import Finding, Level, one_line, problem

SECONDS: Final = 15.0
_IMPORT_SECONDS: Final = 60.0
"""Importing a model's libraries takes its time."""


@dataclass(frozen=True, slots=True)
class Check:
    """Something to look at. ``needs`` names checks that must not have found a problem."""

    name: str
    look: Callable[[], Finding]
    needs: tuple[str, ...] = ()
    seconds: float = SECONDS


_TABLES: Final = ("database", "migrations")
CHECKS: Final = (
    Check("settings", address.settings_fit),
    Check("database", database.reachable),
    Check("migrations", database.migrated, ("database",)),
    Check("durability", database.durable, ("database",)),
    Check("connections", database.room_for_connections, ("database",)),
    Check("clock", database.clock, ("database",)),
    Check("redis", redis.reachable),
    Check("redis memory", redis.never_evicts, ("redis",)),
    Check("redis writes", redis.takes_writes, ("redis",)),
    Check("redis persistence", redis.persists, ("redis",)),
    Check("results", files.writable),
    Check("disk", files.room),
    Check("shared files", files.shared, _TABLES),
    Check("secret key", service.same_key, _TABLES),
    Check("generators", offers.generators_load, _TABLES, _IMPORT_SECONDS),
    Check("workers", service.workers_live, (*_TABLES, "redis")),
    Check("queue", service.nothing_waits_in_vain, (*_TABLES, "redis")),
    Check("ticker", service.ticker_lives, _TABLES),
    Check("cron", service.cron_sweeps, _TABLES),
    Check("stuck work", service.nothing_is_stuck, _TABLES),
    Check("housekeeping", overdue.nothing_is_overdue, _TABLES),
    Check("counts", counts.counts_are_right, _TABLES),
    Check("public url", address.public_url),
    Check("internal files", address.files_are_internal, _TABLES),
)


def examine(checks: tuple[Check, ...] = CHECKS) -> Iterator[tuple[str, Finding]]:
    """Yield the name of each check with what it found, in order."""
    failed: set[str] = set()
    for check in checks:
        missing = [name for name in check.needs if name in failed]
        if missing:
            found = Finding(Level.UNKNOWN, f"Not looked at: needs {missing[0]}.")
        else:
            found = within(check.look, check.seconds)
        if found.level in (Level.PROBLEM, Level.UNKNOWN):
            failed.add(check.name)
        yield check.name, found


def within(look: Callable[[], Finding], seconds: float) -> Finding:
    """Look, for so many seconds at most; a check that fails is a finding, too.

    In a thread of its own, which is left behind when it hangs: it ends with the process.
    """
    answers: queue.SimpleQueue[Finding] = queue.SimpleQueue()

    def run() -> None:
        try:
            answers.put(look())
        except Exception as error:  # a check must not stop the others, whatever is broken
            answers.put(
                problem(
                    f"Cannot be told: {type(error).__name__}: {one_line(error)}",
                    "Repair what the error names; other findings may explain it.",
                )
            )
        finally:
            connections.close_all()

    threading.Thread(target=run, name="check", daemon=True).start()
    try:
        return answers.get(timeout=seconds)
    except queue.Empty:
        return problem(
            f"No answer within {seconds:g} s.", "Look at the server or the module that hangs."
        )
