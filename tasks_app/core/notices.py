"""What ended since its owner last looked.

One moment per account: what ended after it is news. ``seen_at`` is empty until the owner looks
for the first time, and nothing is news before that.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import F
from django.db.models.functions import Coalesce, Greatest, Least, Now

from tasks_app.models import Account, Task

MOST: Final = 100
"""Nobody counts further, so the database need not either."""

_ROUNDING: Final = timedelta(milliseconds=1)
"""Callers know moments in milliseconds, the table in microseconds."""


@dataclass(frozen=True, slots=True)
class News:
    """How many tasks are news, since when, and the database's time of that answer."""

    count: int
    seen_at: datetime | None
    asked_at: datetime | None


def of(owner_id: int) -> News:
    """Count an owner's news, up to ``MOST``."""
    row = Account.objects.filter(user_id=owner_id).annotate(now=Now()).values("seen_at", "now")
    found = row.first()
    if found is None or found["seen_at"] is None:
        return News(0, None, found["now"] if found else None)
    ended = Task.objects.filter(owner_id=owner_id, finished_at__gt=found["seen_at"])
    return News(len(ended.values("pk")[:MOST]), found["seen_at"], found["now"])


def looked_at(owner_id: int, until: datetime) -> None:
    """Note that the owner has seen what ended until then: never backwards, never ahead of now."""
    moment = Least(until + _ROUNDING, Now())
    Account.objects.filter(user_id=owner_id).update(
        seen_at=Greatest(Coalesce(F("seen_at"), moment), moment)
    )
