"""Clearing away what has run out: results, idempotency keys and sessions, in small batches.

Results: one transaction makes tombstones of a batch; then, with no transaction open, its files
are deleted. The rows say which files are still owed, so whoever begins again goes on, after a
kill as well, and a file that the storage does not give up is tried again later and never stops
the rest. Rows that another purge has locked are left to it.

A result is purged ``DARKROOM_LINK_SECONDS`` after it has expired: nobody is given a link to it
any more, and the last one given has ended. Who is in the middle of a download has the file open.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import connection

from tasks_app import conf, metrics
from tasks_app.core import results
from tasks_app.core.clock import database_now
from tasks_app.maintenance.report import Report
from tasks_app.models import Artifact

logger = logging.getLogger(__name__)

BATCH: Final = 100
"""Results of one transaction, each with a line of history; files of one round."""
_ROWS: Final = 1_000
_MOST_BATCHES: Final = 1_000_000
_MOST_TOLD: Final = 20
MOST_COUNTED: Final = 1_000_000

Done = Callable[[int], None]
"""Called with the number of results and files just dealt with."""


def _quiet(number: int) -> None:
    """Tell nobody."""


@dataclass(slots=True)
class Bounds:
    """How many results and owed files to deal with, and until when (``time.monotonic``)."""

    left: int | None = None
    give_up: float | None = None

    @classmethod
    def of(cls, limit: int | None, seconds: float | None) -> "Bounds":
        """Return bounds that begin now."""
        return cls(limit, None if seconds is None else time.monotonic() + seconds)

    @property
    def over(self) -> bool:
        """Whether it is time to end."""
        late = self.give_up is not None and time.monotonic() > self.give_up
        return late or (self.left is not None and self.left <= 0)

    def batch(self) -> int:
        """Return how much the next batch may take."""
        return BATCH if self.left is None else min(BATCH, self.left)

    def spend(self, number: int) -> None:
        """Note what a batch took."""
        if self.left is not None:
            self.left -= number


def moment() -> datetime:
    """Return the moment before which a result must have expired to be purged."""
    return database_now() - timedelta(seconds=conf.get().link_seconds)


def due() -> dict[str, int]:
    """Return how much of each kind is due, counted up to ``MOST_COUNTED``."""
    expired = results.expired(moment()).order_by().values("pk")[:MOST_COUNTED]
    owed = results.owed(database_now()).order_by().values("pk")[:MOST_COUNTED]
    return {
        "results": expired.count(),
        "files owed": owed.count(),
        **{kind: _count(table, column) for kind, (table, _, column) in _ROWS_OF.items()},
    }


def purge(*, limit: int | None = None, seconds: float | None = None, done: Done = _quiet) -> Report:
    """Clear away what is due, up to ``limit`` results and owed files, or for ``seconds``.

    Files that the storage refuses to delete are troubles of the report, with their task's id.
    Raises a database error; what was done before stays done.
    """
    report, bounds = Report(), Bounds.of(limit, seconds)
    refused: Counter[UUID] = Counter()
    for kind, (table, key, column) in _ROWS_OF.items():
        _forget(kind, table, key, column, bounds, report)
    _expire(bounds, report, refused, done)
    _delete_owed(bounds, report, refused, done)
    _tell(refused, report)
    return report


def _expire(bounds: Bounds, report: Report, refused: Counter[UUID], done: Done) -> None:
    before = moment()
    for _ in range(_MOST_BATCHES):
        if bounds.over:
            return
        number, files = results.expire(before, bounds.batch())
        if not number:
            return
        _add(report, "results", number)
        _delete(files, report, refused)
        bounds.spend(number)
        done(number)


def _delete_owed(bounds: Bounds, report: Report, refused: Counter[UUID], done: Done) -> None:
    """Go through what was due at the beginning: what fails again is due later than that."""
    now = database_now()
    for _ in range(_MOST_BATCHES):
        if bounds.over:
            return
        found = list(results.owed(now)[: bounds.batch()])
        if not found:
            return
        _delete(found, report, refused)
        bounds.spend(len(found))
        done(len(found))


def _delete(files: list[Artifact], report: Report, refused: Counter[UUID]) -> None:
    gone = results.delete_files(files)
    _add(report, "files", gone)
    if gone == len(files):
        return
    pks = [file.pk for file in files]
    kept = Artifact.objects.filter(pk__in=pks, files_gone_at__isnull=True)
    for task_id in kept.values_list("task_id", flat=True):
        refused[task_id] += 1


def _tell(refused: Counter[UUID], report: Report) -> None:
    if not refused:
        return
    metrics.count(metrics.PURGED, "file_failures", by=refused.total())
    for task_id, number in list(refused.items())[:_MOST_TOLD]:
        report.troubles.append(f"task {task_id}: {number} files cannot be deleted, tried again")
    if len(refused) > _MOST_TOLD:
        report.troubles.append(f"and files of {len(refused) - _MOST_TOLD} more tasks")


def _add(report: Report, kind: str, number: int) -> None:
    if number:
        report.add(kind, number)
        metrics.count(metrics.PURGED, kind, by=number)


# --- rows that nothing hangs on ------------------------------------------------------------

_ROWS_OF: Final = {
    "keys": ("tasks_app_idempotencykey", "id", "expires_at"),
    "sessions": ("django_session", "session_key", "expire_date"),
}
"""Table, key, and the indexed moment at which a row has run out."""


def _forget(kind: str, table: str, key: str, column: str, bounds: Bounds, report: Report) -> None:
    """Delete rows that have run out. A key that is being taken over is left to its taker."""
    statement = (
        f"DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM {table} "  # noqa: S608 - constants
        f"WHERE {column} <= statement_timestamp() ORDER BY {column} LIMIT %s "
        "FOR UPDATE SKIP LOCKED)"
    )
    for _ in range(_MOST_BATCHES):
        with connection.cursor() as cursor:
            cursor.execute(statement, [_ROWS])
            gone = cursor.rowcount
        _add(report, kind, gone)
        if gone < _ROWS or bounds.over:
            return


def _count(table: str, column: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM (SELECT FROM {table} WHERE {column} <= statement_timestamp() "  # noqa: S608
            "LIMIT %s) AS due",
            [MOST_COUNTED],
        )
        return int(cursor.fetchone()[0])
