"""Counts of the day against the tasks that they count: for the doctor, and to correct them.

Both are written in the same transactions, so they differ only where somebody changed rows by
hand, or where the release before the counts went on accepting tasks during an upgrade.
"""

from dataclasses import dataclass
from datetime import date
from typing import Final

from django.db import connection, transaction

from tasks_app.models import Account, DayUse

MOST: Final = 100
"""Users whose counts one look compares: those who submitted most on the day."""

# One statement sees one moment: a task and its count commit together. Days that are looked at may
# be in the archive already, where DARKROOM_ARCHIVE_DAYS is short.
_OF_THE_DAY: Final = """task.owner_id = use.owner_id
        AND task.created_at >= use.day::timestamp AT TIME ZONE 'UTC'
        AND task.created_at < (use.day::timestamp + interval '1 day') AT TIME ZONE 'UTC'"""
_TASKS: Final = """((
    SELECT count(*) FROM tasks_app_task AS task
    WHERE OF_THE_DAY
        AND NOT EXISTS (
            SELECT 1 FROM tasks_app_event AS event
            WHERE event.task_id = task.id AND event.data ? 'given_back'
        )
) + (
    SELECT count(*) FROM tasks_app_archivedtask AS task
    WHERE OF_THE_DAY AND NOT task.events @? '$[*].data.given_back'
))""".replace("OF_THE_DAY", _OF_THE_DAY)
_BUSIEST: Final = (
    "SELECT use.owner_id, use.number, TASKS FROM ("
    "SELECT owner_id, day, number FROM tasks_app_dayuse WHERE day = %s "
    "ORDER BY number DESC, owner_id LIMIT %s) AS use"
).replace("TASKS", _TASKS)
_CORRECT: Final = (
    "UPDATE tasks_app_dayuse AS use SET number = TASKS "
    "WHERE owner_id = %s AND day = %s AND number <> TASKS"
).replace("TASKS", _TASKS)


@dataclass(frozen=True, slots=True)
class Wrong:
    """A user's count and what it should be."""

    owner_id: int
    counted: int
    tasks: int


def wrong(day: date, most: int = MOST) -> list[Wrong]:
    """Return counts of a day (UTC), among its busiest users', that are not those of the tasks."""
    with connection.cursor() as cursor:
        cursor.execute(_BUSIEST, [day, most])
        found = [Wrong(*row) for row in cursor.fetchall()]
    return [one for one in found if one.counted != one.tasks]


def correct(day: date, owner_id: int) -> bool:
    """Set a user's count to the number of his tasks; False if it was right, or is not there.

    Holds the account, so that nothing is submitted meanwhile, then the count, so that nothing is
    given back; a statement that begins after that sees all that has been.
    """
    with transaction.atomic():
        account = Account.objects.select_for_update(of=("self",)).filter(pk=owner_id)
        count = DayUse.objects.select_for_update().filter(owner_id=owner_id, day=day)
        if not account or not count:
            return False
        with connection.cursor() as cursor:
            cursor.execute(_CORRECT, [owner_id, day])
            return bool(cursor.rowcount)
