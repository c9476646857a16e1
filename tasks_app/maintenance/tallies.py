"""Folding tallies into totals, so that what has happened stays cheap to read."""

from typing import Final

from django.db import connection, transaction

from tasks_app.core.observation import BOUNDS, TALLIES
from tasks_app.maintenance.report import Report

BATCH: Final = 5_000
_BATCHES: Final = 20
_LOCK: Final = 0x6461726B726F6F6D
"""Whose holder folds: two that update the same totals in other orders would deadlock."""

_FOLD = f"""
WITH taken AS (
    DELETE FROM tasks_app_tally
    WHERE id IN (SELECT id FROM tasks_app_tally ORDER BY id LIMIT %(batch)s)
    RETURNING *
), measured AS ({TALLIES} FROM taken), folded AS (
    INSERT INTO tasks_app_total AS total
        (kind, generator_id, state, code, reason, le, number, seconds)
    SELECT kind, generator_id, state, code, reason, le, sum(number), sum(seconds)
    FROM measured GROUP BY kind, generator_id, state, code, reason, le
    ON CONFLICT (kind, generator_id, state, code, reason, le) DO UPDATE SET
        number = total.number + EXCLUDED.number, seconds = total.seconds + EXCLUDED.seconds
)
SELECT count(*) FROM taken
"""  # noqa: S608 - constants only


def fold(report: Report, dry_run: bool) -> None:
    """Fold what there is, in batches. Nothing to report: it repairs nothing."""
    if dry_run:
        return
    for _ in range(_BATCHES):
        if _fold_batch() < BATCH:
            return


def _fold_batch() -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK])
        if not cursor.fetchone()[0]:
            return 0
        cursor.execute(_FOLD, {"bounds": BOUNDS, "batch": BATCH})
        return int(cursor.fetchone()[0])
