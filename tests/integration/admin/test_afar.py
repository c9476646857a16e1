"""A task's page says how work stands that an upstream does, and whether its result waits."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.utils import timezone

from tasks_app.admin import standing
from tasks_app.admin.rows import Row
from tasks_app.core.remote import setups
from tasks_app.gates import refusals
from tasks_app.models import Attempt, Generator, Task
from tests import artists
from tests.conftest import make_generator
from tests.integration.helpers import claimed, submit

pytestmark = pytest.mark.django_db


@pytest.fixture
def far(db: None) -> Generator:
    """Return a generator whose upstream cannot be asked."""
    settings = {
        "base_url": "http://127.0.0.1:9",
        "webhooks": True,
        "parameters": artists.SCHEMA,
    }
    return make_generator("sleeper", adapter="cog", settings=settings)


def said(task: Task) -> dict[str, Row]:
    fresh = Task.objects.select_related("generator", "owner").get(pk=task.pk)
    return {row.label: row for row in standing.rows(fresh)}


def submitted(far: Generator, alice: Any, **fields: Any) -> Task:
    """Return a task whose attempt an upstream has taken."""
    submit(alice)
    task = claimed().task
    values = {
        "remote": True,
        "setup": setups.setup_of(far),
        "upstream_id": "abc",
        "next_poll_at": Now() + timedelta(seconds=20),
        "heartbeat_at": Now() - timedelta(seconds=1_000),
        **fields,
    }
    Attempt.objects.filter(task_id=task.pk).update(**values)
    return task


def test_submitted_work_is_asked_about_and_has_no_heartbeat(
    far: Generator, alice: Any, open_slots: None
) -> None:
    rows = said(submitted(far, alice, polls=3))
    assert rows["Name at the model service"].text == "abc"
    assert rows["Questions so far"].text == "3"
    assert "(in " in rows["Next question"].text and not rows["Next question"].bad
    assert "Last heartbeat" not in rows, "nobody gives it one"
    assert rows["Last webhook"] == Row("Last webhook", "none has come", bad=True)
    assert "Only a webhook" in rows["Its result"].text
    assert "Questions that told nothing" not in rows


def test_what_is_not_well_with_it_is_told(far: Generator, alice: Any, open_slots: None) -> None:
    task = submitted(
        far,
        alice,
        poll_failures=4,
        failing_since=timezone.now() - timedelta(seconds=300),
        webhook_at=timezone.now(),
        next_poll_at=timezone.now() - timedelta(seconds=1_000),
    )
    rows = said(task)
    assert rows["Next question"].bad
    assert rows["Questions that told nothing"].bad
    assert rows["Questions that told nothing"].text.startswith("4 since ")
    assert not rows["Last webhook"].bad


def test_a_result_that_waits_for_the_storage(
    root: Client, far: Generator, alice: Any, open_slots: None
) -> None:
    task = submitted(far, alice, setup=None)
    assert "Its result" not in said(task)
    refusals.note()
    rows = said(task)
    assert rows["Its result"].bad and "refuses" in rows["Its result"].text
    page = root.get(f"/admin/tasks_app/task/{task.pk}/change/").content.decode()
    assert "The storage of results refuses: what is made waits" in page
