"""Combinations that make no sense cannot be stored, whoever writes."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from tasks_app.core import outcomes
from tasks_app.core.claim import Claim
from tasks_app.models import Attempt, Event, Generator, IdempotencyKey, Plan, Task, new_id
from tests.integration.helpers import artifacts, claimed, submit

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("open_slots")]


@pytest.fixture
def pending(alice: Any, sleeper: Generator) -> Task:
    return submit(alice)


@pytest.fixture
def running(pending: Task) -> Claim:
    return claimed()


def refuses(task: Task, constraint: str, **values: Any) -> None:
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        Task.objects.filter(pk=task.pk).update(**values)


@pytest.mark.parametrize("state", ["success", "failed", "timeout"])
def test_a_finished_task_has_a_time_of_end(pending: Task, state: str) -> None:
    refuses(pending, "task_", state=state)
    refuses(pending, "task_finished_at_iff_terminal", finished_at=Now())


def test_a_success_has_a_result(running: Claim) -> None:
    ended = {"state": "success", "finished_at": Now()}
    refuses(running.task, "task_success_has_result", **ended)
    expiry = timezone.now() + timedelta(days=1)
    refuses(running.task, "task_success_has_result", **ended, result_expires_at=expiry)


def test_only_a_success_has_a_result(pending: Task) -> None:
    refuses(pending, "task_result_only_on_success", result_count=1)


def test_a_failure_has_a_code_and_nothing_else_has(pending: Task) -> None:
    refuses(pending, "task_error_iff_failed", state="failed", finished_at=Now())
    refuses(pending, "task_error_iff_failed", error_code="internal")


def test_running_has_a_deadline_and_pending_gives_up(pending: Task) -> None:
    refuses(pending, "task_running_has_deadline", state="running")
    refuses(pending, "task_pending_gives_up", give_up_at=None)


def test_unknown_states_do_not_exist(pending: Task) -> None:
    refuses(pending, "task_state_known", state="paused")


def test_two_tasks_for_one_key_do_not_exist(alice: Any) -> None:
    now = timezone.now()

    def key() -> IdempotencyKey:
        return IdempotencyKey.objects.create(
            user=alice, key="k", fingerprint="f", task_id=new_id(), created_at=now, expires_at=now
        )

    key()
    with pytest.raises(IntegrityError), transaction.atomic():
        key()


def test_two_live_attempts_of_a_task_do_not_exist(running: Claim) -> None:
    values = {f.attname: getattr(running.attempt, f.attname) for f in Attempt._meta.fields}
    values |= {"id": new_id(), "claim_id": new_id(), "number": 2}
    with pytest.raises(IntegrityError, match="attempt_one_live_per_task"), transaction.atomic():
        Attempt.objects.create(**values)


def test_an_attempt_ends_with_an_outcome(running: Claim) -> None:
    with pytest.raises(IntegrityError, match="attempt_outcome_iff_ended"), transaction.atomic():
        Attempt.objects.filter(pk=running.attempt.pk).update(ended_at=Now())


def test_history_is_append_only(pending: Task) -> None:
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        Event.objects.filter(task=pending).update(kind="succeeded")


def test_there_is_one_default_plan(alice: Any) -> None:
    with pytest.raises(IntegrityError, match="plan_one_default"), transaction.atomic():
        Plan.objects.create(name="another", is_default=True)


def test_a_picture_is_stored_once_per_place(running: Claim) -> None:
    outcomes.succeeded(running.attempt, artifacts(running.task.pk, 2))
    with pytest.raises(IntegrityError), transaction.atomic():
        artifacts(running.task.pk)[0].save(force_insert=True)


@pytest.fixture
def migrated() -> Callable[[str | None], None]:
    def migrate(name: str | None) -> None:
        arguments = ["tasks_app", name] if name else ["tasks_app"]
        call_command("migrate", *arguments, verbosity=0)

    return migrate


def test_migrations_run_backwards_and_forwards(migrated: Callable[[str | None], None]) -> None:
    try:
        migrated("zero")
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_proc WHERE proname LIKE 'tasks_app%'")
            assert cursor.fetchone() == (0,)
    finally:
        migrated(None)
    assert Plan.objects.filter(is_default=True).count() == 1


def test_no_migration_is_missing() -> None:
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)
