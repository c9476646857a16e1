"""What the log says about tasks: one line per transition, with the ids of the caller's request."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from pytest_django import Settings

from tasks_app import logs
from tasks_app.core import cancellation, outcomes
from tasks_app.models import Event, Generator, Task
from tests.integration.helpers import artifacts, claimed, submit

pytestmark = pytest.mark.django_db(transaction=True)


def said(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    own = [one for one in caplog.records if one.name == "tasks_app.core.transitions"]
    return [one.__dict__["about"] for one in own]


@pytest.mark.usefixtures("open_slots")
def test_every_line_of_history_is_a_line_of_the_log(
    alice: Any,
    sleeper: Generator,
    key_of: Callable[[Any], str],
    client: Client,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    answer = client.post(
        "/v1/tasks",
        {"generator": "sleeper", "params": {"prompt": "a secret boat"}},
        content_type="application/json",
        headers={"Authorization": f"Bearer {key_of(alice)}", "X-Request-Id": "from-the-caller"},
    )
    task_id = answer.json()["task_id"]
    claim = claimed()
    outcomes.succeeded(claim.attempt, artifacts(claim.task.pk))
    lines = said(caplog)
    assert [line["event"] for line in lines] == ["submitted", "claimed", "succeeded"]
    assert [line.get("from") for line in lines] == [None, "pending", "running"]
    assert [line["to"] for line in lines] == ["pending", "running", "success"]
    assert {line["task"] for line in lines} == {task_id}
    assert {line["request"] for line in lines} == {"from-the-caller"}
    assert {line["generator"] for line in lines} == {"sleeper"}
    assert [line["attempt"] for line in lines] == [0, 1, 1]
    assert "a secret boat" not in caplog.text + str(lines)
    assert len(lines) == Event.objects.count()


def test_the_request_that_cancels_is_told_beside_the_one_that_submitted(
    alice: Any, sleeper: Generator, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    task = submit(alice, request_id="submitting")
    with logs.about(request="canceling"):
        cancellation.cancel(task.pk, alice.pk)
    last = said(caplog)[-1]
    assert last["request"] == "submitting"
    assert last["by_request"] == "canceling"
    assert last["code"] == "canceled"


def test_what_is_rolled_back_is_not_told(
    alice: Any, sleeper: Generator, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with transaction.atomic():
        submit(alice)
        transaction.set_rollback(True)
    assert said(caplog) == []
    assert not Task.objects.exists()


def test_prompts_are_told_when_the_setting_says_so(
    alice: Any, sleeper: Generator, caplog: pytest.LogCaptureFixture, settings: Settings
) -> None:
    caplog.set_level(logging.INFO)
    settings.DARKROOM = settings.DARKROOM | {"log_prompts": True}
    task = submit(alice)
    assert said(caplog)[0]["params"] == task.params
