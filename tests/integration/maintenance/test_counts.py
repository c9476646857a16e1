"""Counts of the day are those of the tasks, and are set right where somebody changed them."""

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from pytest_django import Settings

from tasks_app.core import cancellation, outcomes, quotas
from tasks_app.core.clock import database_now
from tasks_app.lifecycle import ErrorCode
from tasks_app.maintenance import archive, counts
from tasks_app.maintenance.counts import Wrong
from tasks_app.maintenance.doctor.counts import counts_are_right
from tasks_app.maintenance.doctor.finding import Level
from tasks_app.models import DayUse, Generator
from tests.integration.helpers import claimed, submit

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("open_slots")]


def recount() -> str:
    out = StringIO()
    call_command("recount_tasks", stdout=out)
    return out.getvalue().strip()


def test_counts_are_those_of_the_tasks_until_somebody_changes_them(
    alice: Any, bob: Any, sleeper: Generator
) -> None:
    for user in (alice, alice, alice, bob):
        submit(user)
    outcomes.failed(claimed().attempt, ErrorCode.INTERNAL, "", retryable=False)
    cancellation.cancel(submit(bob).pk, bob.pk)
    today = quotas.day_of(database_now())
    assert counts.wrong(today) == []
    assert counts_are_right().level == Level.OK
    assert recount() == "0 counts corrected"
    right = dict(DayUse.objects.values_list("owner_id", "number"))
    DayUse.objects.filter(owner=alice).update(number=9)
    assert counts.wrong(today) == [Wrong(alice.pk, 9, right[alice.pk])]
    found = counts_are_right()
    assert found.level == Level.WARNING
    assert f"first of user {alice.pk}: 9 instead of {right[alice.pk]}" in found.text
    assert "recount_tasks" in found.cure
    assert recount() == "1 counts corrected"
    assert dict(DayUse.objects.values_list("owner_id", "number")) == right
    assert not counts.correct(today, -1)


def test_the_first_task_of_a_day_clears_old_counts_of_its_owner(
    alice: Any, bob: Any, sleeper: Generator
) -> None:
    today = quotas.day_of(database_now())
    for user in (alice, bob):
        for age in (61, 62, 63, 400):
            DayUse.objects.create(owner=user, day=today - timedelta(days=age), number=1)
    submit(alice)
    kept = DayUse.objects.filter(owner=alice).order_by("day").values_list("day", flat=True)
    assert [(today - day).days for day in kept] == [62, 61, 0]
    assert DayUse.objects.filter(owner=bob).count() == 4


@pytest.mark.django_db(transaction=True)
def test_what_was_archived_on_its_own_day_still_counts(
    alice: Any, sleeper: Generator, settings: Settings
) -> None:
    settings.DARKROOM = settings.DARKROOM | {"archive_days": 0.0}
    for code in (ErrorCode.INTERNAL, ErrorCode.CONTENT_REJECTED):
        submit(alice)
        outcomes.failed(claimed().attempt, code, "", retryable=False)
    cancellation.cancel(submit(alice).pk, alice.pk)
    assert sum(moved.tasks for moved in archive.archive()) == 3
    assert counts.wrong(quotas.day_of(database_now())) == []
    assert dict(DayUse.objects.values_list("owner_id", "number")) == {alice.pk: 1}
    assert recount() == "0 counts corrected"
