"""A task's page says what holds now: why it waits, who runs it, which slots it holds."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from redis.exceptions import ConnectionError as RedisConnectionError

from tasks_app.admin import standing
from tasks_app.admin.rows import Row
from tasks_app.core import outcomes, staff
from tasks_app.core.claim import holder_of
from tasks_app.gates import figures, slots, workers
from tasks_app.gates.connection import client as redis_client
from tasks_app.maintenance.figures import publish_all
from tasks_app.models import Generator, Task
from tests.conftest import make_generator
from tests.integration.helpers import artifacts, claimed, shift, submit

pytestmark = pytest.mark.django_db


def rows_of(task: Task) -> dict[str, Row]:
    """Return what is said of a task, by label, from new figures."""
    publish_all()
    figures.clear_cache()
    fresh = Task.objects.select_related("generator", "owner").get(pk=task.pk)
    return {row.label: row for row in standing.rows(fresh)}


def test_a_waiting_task_says_why(alice: Any, sleeper: Generator, open_slots: None) -> None:
    task = submit(alice)
    said = rows_of(task)
    assert said["Why it waits"] == Row("Why it waits", "No worker serves its pool.", bad=True)
    assert said["Workers of its pool"] == Row("Workers of its pool", "0", bad=True)
    assert said["Place in line"].text == "1"
    assert "(in " in said["Gives up at"].text
    workers.alive("default", "one", redis_client())
    assert rows_of(task)["Why it waits"].bad is False
    assert rows_of(task)["Workers of its pool"] == Row("Workers of its pool", "1")
    Generator.objects.update(paused=True)
    assert rows_of(task)["Why it waits"] == Row("Why it waits", "Its generator is paused.", True)


def test_a_full_generator_is_seen_in_the_slots(alice: Any, open_slots: None) -> None:
    make_generator("sleeper", max_running=1)
    submit(alice)
    claimed()
    said = rows_of(submit(alice))["Slots taken"]
    assert said.text == "all together 1 / 20 · generator 1 / 1 · owner 1 / 1000"
    assert said.bad


def test_a_running_task_says_who_runs_it_and_until_when(
    alice: Any, sleeper: Generator, open_slots: None
) -> None:
    submit(alice)
    claim = claimed()
    said = rows_of(claim.task)
    assert said["Worker"].text == "by hand (gives no sign of life)"
    assert said["Slots it holds"] == Row("Slots it holds", "all together · generator · owner")
    assert not said["Last heartbeat"].bad
    assert not said["Deadline"].bad
    workers.alive("default", "by hand", redis_client())
    claim.attempt.heartbeat_at -= timedelta(seconds=1_000)
    claim.attempt.save(update_fields=["heartbeat_at"])
    shift(claim.task, "deadline_at", -1_000.0)
    slots.release(holder_of(claim.attempt))
    said = rows_of(claim.task)
    assert "sign of life" in said["Worker"].text
    assert said["Last heartbeat"].bad
    assert said["Deadline"].bad
    assert said["Slots it holds"] == Row("Slots it holds", "none", bad=True)


def test_an_ended_task_whose_execution_goes_on_is_told_of(
    root: Client, alice: Any, sleeper: Generator, open_slots: None
) -> None:
    submit(alice)
    claim = claimed()
    staff.cancel(claim.task.pk, "carol")
    said = rows_of(claim.task)
    assert said["Told to stop, still executing"].bad
    assert "Deadline" not in said
    assert "Why it waits" not in said
    page = f"/admin/tasks_app/task/{claim.task.pk}/change/"
    assert "Told to stop" in root.get(page).content.decode()
    claim.attempt.refresh_from_db()
    outcomes.stopped(claim.attempt)
    assert rows_of(claim.task) == {}
    assert "Told to stop" not in root.get(page).content.decode()


def test_a_task_that_has_come_to_rest_has_nothing_to_say(
    alice: Any, sleeper: Generator, open_slots: None
) -> None:
    submit(alice)
    claim = claimed()
    outcomes.succeeded(claim.attempt, artifacts(claim.task.pk))
    assert rows_of(claim.task) == {}


def test_without_redis_the_page_says_so(
    alice: Any, sleeper: Generator, open_slots: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(alice)
    running, waiting = claimed().task, submit(alice)

    def away(*args: Any, **options: Any) -> Any:
        raise RedisConnectionError("away")

    monkeypatch.setattr(type(redis_client()), "execute_command", away)
    monkeypatch.setattr("redis.client.Pipeline.execute", away)
    figures.clear_cache()
    for task in (running, waiting):
        task.refresh_from_db()
        said = {row.label: row for row in standing.rows(task)}
        assert said["Slots"] == Row("Slots", "Redis does not answer.", bad=True)
    assert said["Workers of its pool"].bad
    assert said["Why it waits"].text.startswith("Not known")


# --- the list and the overview -------------------------------------------------------------


def test_the_list_tells_canceled_from_failed_and_shows_prompts(
    root: Client, alice: Any, sleeper: Generator, open_slots: None
) -> None:
    canceled, timed_out = submit(alice), submit(alice)
    staff.cancel(canceled.pk, "carol")
    staff.time_out(timed_out.pk, "carol")

    def found(state: str) -> list[Any]:
        answer = root.get("/admin/tasks_app/task/", {"state": state})
        return [task.pk for task in answer.context["cl"].result_list]

    assert found("canceled") == [canceled.pk]
    assert found("failed") == []
    assert found("timeout") == [timed_out.pk]
    assert len(found("nonsense")) == 2
    text = root.get("/admin/tasks_app/task/").content.decode()
    assert canceled.params["prompt"] in text
    assert "waited too long" in text
    overview = root.get("/admin/").content.decode()
    assert "<strong>1</strong> <span>canceled" in overview
    assert "<strong>0</strong> <span>failed" in overview


def test_those_who_may_only_look_see_every_page(
    staff_with: Callable[..., Client], alice: Any, sleeper: Generator, key_of: Any
) -> None:
    key_of(alice)
    task = submit(alice)
    plan, key = alice.account.plan, alice.api_keys.get()
    event = task.events.get()
    looker = staff_with("view_group")
    for path in (
        *(f"tasks_app/task/{task.pk}", f"tasks_app/event/{event.pk}"),
        *(f"tasks_app/generator/{sleeper.pk}", f"tasks_app/plan/{plan.pk}"),
        *(f"tasks_app/account/{alice.pk}", f"tasks_app/apikey/{key.pk}", f"auth/user/{alice.pk}"),
    ):
        assert looker.get(f"/admin/{path}/change/").status_code == 200, path
        assert looker.get(f"/admin/{path}/history/").status_code == 200, path
