"""Counts under everything at once: never above the limit, never wrong, and nobody deadlocks."""

import contextlib
from typing import Any

import pytest

from tasks_app.core import cancellation, claim, outcomes, quotas
from tasks_app.core.clock import database_now
from tasks_app.core.errors import TooMany
from tasks_app.lifecycle import ErrorCode
from tasks_app.maintenance import counts
from tasks_app.models import Account, DayUse, Generator, Plan, Task
from tests.integration.core.test_races import together
from tests.integration.helpers import artifacts, submit

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("open_slots")]

LIMIT = 6
STEPS = 6


def number(user: Any) -> int:
    return DayUse.objects.filter(owner=user).values_list("number", flat=True).first() or 0


class Crowd:
    """All that may happen to the tasks of one owner."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.seen: list[int] = []

    def submits(self) -> None:
        for _ in range(STEPS):
            with contextlib.suppress(TooMany):
                submit(self.owner)
            self.seen.append(number(self.owner))

    def cancels(self) -> None:
        for _ in range(STEPS):
            for task in Task.objects.filter(state__in=("pending", "running"))[:2]:
                cancellation.cancel(task.pk, self.owner.pk)

    def works(self) -> None:
        for step in range(STEPS):
            one = claim.claim_next("default", "by hand")
            if one is not None and step == 0:
                outcomes.succeeded(one.attempt, artifacts(one.task.pk))
            elif one is not None:
                outcomes.failed(one.attempt, ErrorCode.INTERNAL, "", retryable=False)

    def changes(self) -> None:
        for step in range(STEPS):
            Account.objects.filter(user=self.owner).update(own_plan=None, weight=1 + step % 2)
            Plan.objects.filter(is_default=True).update(rank=step)


def test_submissions_endings_and_cancels_of_one_owner(alice: Any, sleeper: Generator) -> None:
    Account.objects.filter(user=alice).update(max_day=LIMIT)
    one = Crowd(alice)
    everything = (*[one.submits] * 3, *[one.cancels] * 2, *[one.works] * 2, one.changes)
    assert together(*everything) == []
    assert 1 <= max(one.seen) <= LIMIT
    assert counts.wrong(quotas.day_of(database_now())) == []
    while number(alice) < LIMIT:
        submit(alice)
    with pytest.raises(TooMany):
        submit(alice)
