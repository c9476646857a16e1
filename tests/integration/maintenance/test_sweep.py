"""Each repair of the sweep, one by one."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models.functions import Now
from redis.exceptions import RedisError

from tasks_app import bells
from tasks_app.core import cancellation, outcomes
from tasks_app.core.claim import claim_next
from tasks_app.gates import control, figures, keys, slots
from tasks_app.gates.connection import client
from tasks_app.lifecycle import ErrorCode
from tasks_app.maintenance import figures as publishing
from tasks_app.maintenance.sweep import sweep
from tasks_app.models import Attempt, Event, Generator, Task
from tests.conftest import make_generator, make_user
from tests.integration.helpers import claimed, shift, submit

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("open_slots")]


@pytest.fixture(autouse=True)
def _old_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks_app.maintenance.sweep.database_age", lambda: 1e9)


def silence(attempt: Attempt) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(heartbeat_at=Now() - timedelta(seconds=100))


def kinds(task: Task) -> list[str]:
    return list(Event.objects.filter(task=task).order_by("id").values_list("kind", flat=True))


def test_running_past_its_deadline_times_out_and_its_worker_is_told(
    alice: Any, sleeper: Generator
) -> None:
    submit(alice)
    one = claimed()
    shift(one.task, "deadline_at", -100)
    assert sweep().counts["deadline exceeded"] == 1
    task = Task.objects.get()
    assert (task.state, task.error_code) == ("timeout", "deadline_exceeded")
    assert control.asked_to_stop(one.attempt.claim_id, client()) == "timed_out"
    # It still runs, so it still counts.
    assert slots.members(keys.slots_all()) == {one.attempt.claim_id}


def test_waiting_too_long_times_out(alice: Any, sleeper: Generator) -> None:
    task = submit(alice, max_wait=60.0)
    shift(task, "give_up_at", -100)
    assert sweep().counts["waited too long"] == 1
    task.refresh_from_db()
    assert (task.state, task.error_code) == ("timeout", "waited_too_long")


def test_a_lost_worker_is_noticed_and_the_task_waits_again(alice: Any, sleeper: Generator) -> None:
    task = submit(alice)
    one = claimed()
    silence(one.attempt)
    assert sweep().counts["worker lost"] == 1
    task.refresh_from_db()
    assert (task.state, task.failures) == ("pending", 1)
    assert kinds(task) == ["submitted", "claimed", "requeued"]
    assert slots.members(keys.slots_all()) == set()
    assert claimed().attempt.number == 2


def test_lost_workers_end_a_task_when_the_budget_is_spent(alice: Any) -> None:
    make_generator(failure_budget=2)
    task = submit(alice)
    for _ in range(2):
        silence(claimed().attempt)
        sweep()
    task.refresh_from_db()
    assert (task.state, task.error_code) == ("failed", "worker_lost")


def test_nobody_is_lost_while_the_database_has_just_come_back(
    alice: Any, sleeper: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(alice)
    silence(claimed().attempt)
    monkeypatch.setattr("tasks_app.maintenance.sweep.database_age", lambda: 1.0)
    assert sweep().counts["worker lost"] == 0


def test_a_canceled_attempt_whose_worker_died_ends_after_the_grace(
    alice: Any, sleeper: Generator
) -> None:
    task = submit(alice)
    one = claimed()
    cancellation.cancel(task.pk, alice.pk)
    sweep()
    assert slots.members(keys.slots_all()) == {one.attempt.claim_id}
    Attempt.objects.update(revoked_at=Now() - timedelta(seconds=100))
    assert sweep().counts["stopped after grace"] == 1
    assert slots.members(keys.slots_all()) == set()
    assert kinds(task) == ["submitted", "claimed", "canceled", "attempt_ended"]


def test_slot_sets_are_made_equal_to_the_table(alice: Any, sleeper: Generator) -> None:
    submit(alice)
    one = claimed()
    slots.release(one.holder)
    submit(alice)
    two = claimed()
    Attempt.objects.filter(pk=two.attempt.pk).update(ended_at=Now(), outcome="lost")
    unknown = slots.Holder(two.task.pk, two.task.pk, sleeper.pk, alice.pk)
    slots.extend(unknown, lease=5)
    counts = sweep().counts
    assert (counts["slots added"], counts["slots removed"]) == (1, 1)
    # A claim that no row knows may be about to commit: it lives out its lease.
    assert slots.members(keys.slots_all()) == {one.attempt.claim_id, unknown.claim_id}


def test_a_lost_redis_is_noticed_before_somebody_claims(alice: Any, sleeper: Generator) -> None:
    client().flushall()
    sweep(dry_run=True)
    assert client().get(keys.slots_epoch()) is None
    sweep()
    held = client().get(keys.slots_epoch())
    assert isinstance(held, bytes)
    assert held.startswith(b"fence:")
    sweep()  # another pass does not begin it anew
    assert client().get(keys.slots_epoch()) == held
    start, _, began = held.decode().rpartition(":")
    client().set(keys.slots_epoch(), f"{start}:{int(began) - 60_000}")
    task = submit(alice)
    assert claimed().task.pk == task.pk


def test_held_back_tasks_become_due(alice: Any, sleeper: Generator) -> None:
    task = submit(alice)
    one = claimed()
    outcomes.failed(one.attempt, ErrorCode.UPSTREAM_ERROR, "", retryable=True)
    Task.objects.update(not_before=Now() + timedelta(seconds=100))
    sweep()
    assert claim_next("default", "w") is None
    Task.objects.update(not_before=Now() - timedelta(seconds=1))
    assert sweep().counts["due again"] == 1
    assert claimed().task.pk == task.pk


def test_bells_are_rung_where_work_waits(alice: Any, sleeper: Generator) -> None:
    submit(alice)
    client().delete("rq:queue:default")
    assert sweep().counts["bells"] >= 1
    waiting = bells.waiting("default")
    assert waiting >= 1
    sweep()
    assert bells.waiting("default") == waiting, "bells do not pile up"


def test_a_dry_run_changes_nothing(alice: Any, sleeper: Generator) -> None:
    task = submit(alice)
    one = claimed()
    silence(one.attempt)
    shift(task, "deadline_at", -100)
    report = sweep(dry_run=True)
    assert report.counts["deadline exceeded"] == 1
    task.refresh_from_db()
    assert task.state == "running"


def test_a_step_that_fails_is_reported_and_the_others_go_on(
    alice: Any, sleeper: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = submit(alice, max_wait=60.0)
    shift(task, "give_up_at", -100)

    def away(*_: object) -> None:
        raise RedisError("away")

    monkeypatch.setattr("tasks_app.maintenance.reconcile.slots.members", away)
    report = sweep()
    assert report.counts["waited too long"] == 1
    assert report.troubles == ["slots: away"]
    with pytest.raises(SystemExit) as left:
        call_command("sweep_tasks")
    assert left.value.code == 1


def test_the_command_prints_a_line_per_kind(
    alice: Any, sleeper: Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    shift(submit(alice, max_wait=60.0), "give_up_at", -100)
    call_command("sweep_tasks")
    assert "waited too long: 1" in capsys.readouterr().out


def test_figures_tell_what_a_pool_is_like(alice: Any, sleeper: Generator) -> None:
    carol = make_user("carol", max_running=1)
    for _ in range(3):
        submit(carol)
    claimed()
    claim_next("default", "w")
    publishing.publish_all()
    found = figures.read("default")
    assert found is not None
    assert (found.pending, found.workers, found.used) == (2, 0, 1)
    assert found.full_owners == [carol.pk]
    known = found.of(sleeper.pk)
    assert known is not None
    assert (known.used, known.limit, known.seconds) == (1, 1000, 1.0)
