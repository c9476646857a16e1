"""How many tasks of a user count for a day and a month (UTC), and what is given back.

A count is one row per user and day; a month is the sum of its days, at most 31 rows of one
index. A submission adds one in its own transaction, while it holds the account, so that nobody
passes the limit at the same moment. An ending that delivered nothing takes the one away again
from the day it was added to, in the transaction of the change of state: exactly once, as only
one change ends a task. The row is locked after the task's; see `docs/scarce-things.md`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from django.db import connection
from django.db.models import Q, Sum

from tasks_app.core.seen import Seen
from tasks_app.lifecycle import ErrorCode, State
from tasks_app.models import DayUse

GIVEN_BACK: Final = "given_back"
"""What the history's line of an ending says when the task counts no longer."""
_CALLERS_OWN: Final = frozenset(
    {ErrorCode.INVALID_PARAMS, ErrorCode.CONTENT_REJECTED, ErrorCode.UPSTREAM_REJECTED}
)
"""What the request itself was the cause of: it counts, or a filter could be tried without end."""


@dataclass(frozen=True, slots=True)
class Counted:
    """How many tasks count for today and for this month."""

    today: int = 0
    month: int = 0


def day_of(moment: datetime) -> date:
    """Return the day that a moment counts for."""
    return moment.astimezone(UTC).date()


def day_ends(now: datetime) -> datetime:
    """Return when the day's count begins anew."""
    return _midnight(day_of(now)) + timedelta(days=1)


def month_begins(now: datetime) -> datetime:
    """Return when the month's count began."""
    return _midnight(day_of(now).replace(day=1))


def month_ends(now: datetime) -> datetime:
    """Return when the month's count begins anew."""
    return month_begins(month_begins(now) + timedelta(days=32))


def counted(owner_id: int, now: datetime) -> Counted:
    """Return what counts for a user."""
    return counted_of([owner_id], now)[owner_id]


def counted_of(owner_ids: Iterable[int], now: datetime) -> dict[int, Counted]:
    """Return what counts for each of these users, from one index."""
    today = day_of(now)
    found = dict.fromkeys(owner_ids, Counted())
    rows = DayUse.objects.filter(owner_id__in=list(found), day__gte=today.replace(day=1))
    sums = rows.values_list("owner_id").annotate(
        today=Sum("number", filter=Q(day=today), default=0), month=Sum("number")
    )
    for owner_id, of_today, of_month in sums.order_by():
        found[owner_id] = Counted(of_today, of_month)
    return found


_COUNT = """
INSERT INTO tasks_app_dayuse AS use (owner_id, day, number) VALUES (%s, %s, 1)
ON CONFLICT (owner_id, day) DO UPDATE SET number = use.number + 1
RETURNING xmax = 0
"""
_KEPT: Final = timedelta(days=62)


def count(owner_id: int, now: datetime) -> None:
    """Count a task that is being submitted: the last thing of its transaction.

    The first one of a day clears away what is older than two months.
    """
    today = day_of(now)
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, [owner_id, today])
        (first,) = cursor.fetchone()
    if first:
        DayUse.objects.filter(owner_id=owner_id, day__lt=today - _KEPT).delete()


def undelivered(source: State, target: State, code: str, data: Mapping[str, Any]) -> bool:
    """Say whether an ending gives its count back.

    Users pay for what was delivered, for what they canceled while it ran, and for requests that
    were refused for what they asked.
    """
    if target == State.TIMEOUT:
        return True
    if target != State.FAILED:
        return False
    if code == ErrorCode.CANCELED:
        return source == State.PENDING or data.get("by") == "staff"
    return code not in _CALLERS_OWN


# The rows are locked in one order: batches and single endings may want the same ones.
_GIVE_BACK = """
WITH held AS (
    SELECT use.id, given.number FROM tasks_app_dayuse AS use
    JOIN unnest(%(owners)s::bigint[], %(days)s::date[], %(numbers)s::bigint[])
        AS given(owner_id, day, number) ON given.owner_id = use.owner_id AND given.day = use.day
    ORDER BY use.owner_id, use.day FOR NO KEY UPDATE OF use
)
UPDATE tasks_app_dayuse AS use SET number = GREATEST(use.number - held.number, 0)
FROM held WHERE use.id = held.id
"""


def give_back(tasks: Iterable[Seen]) -> None:
    """Take tasks out of the counts of their days, within the transaction that ends them."""
    given = Counter((task.owner_id, task.counted_on) for task in tasks)
    values: dict[str, Any] = {
        "owners": [owner_id for owner_id, _ in given],
        "days": [day for _, day in given],
        "numbers": list(given.values()),
    }
    with connection.cursor() as cursor:
        cursor.execute(_GIVE_BACK, values)


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
