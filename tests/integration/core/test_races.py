"""Everything that may end a running task, at the same instant: one wins, the others do nothing."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from tasks_app.core import cancellation, claim, execution, outcomes, submission
from tasks_app.core.claim import Claim
from tasks_app.core.submission import Wish
from tasks_app.core.transitions import IllegalTransition, move
from tasks_app.gates import keys, slots
from tasks_app.gates.connection import client
from tasks_app.lifecycle import ErrorCode, EventKind, State
from tasks_app.models import Attempt, Event, Generator, Task
from tests.conftest import make_generator, make_user
from tests.integration.helpers import artifacts, claimed, submit, wrong_heads

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("open_slots")]

ENDINGS = ("succeeded", "failed", "timed_out", "canceled")
ROUNDS = 25


def together(*actions: Callable[[], object]) -> list[BaseException]:
    """Call all at the same instant, each in a thread of its own; returns what they raised."""
    barrier = threading.Barrier(len(actions))
    raised: list[BaseException] = []

    def run(action: Callable[[], object]) -> None:
        try:
            barrier.wait(10)
            action()
        except BaseException as error:
            raised.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return raised


def endings(one: Claim, user: Any) -> list[Callable[[], object]]:
    """Return all that may happen to a running task."""
    return [
        lambda: outcomes.succeeded(one.attempt, artifacts(one.task.pk)),
        lambda: outcomes.succeeded(one.attempt, artifacts(one.task.pk)),
        lambda: outcomes.failed(one.attempt, ErrorCode.INTERNAL, "", retryable=False),
        lambda: outcomes.failed(one.attempt, ErrorCode.INTERNAL, "", retryable=True),
        lambda: outcomes.timed_out(Task.objects.get(pk=one.task.pk)),
        lambda: cancellation.cancel(one.task.pk, user.pk),
        lambda: outcomes.lost(one.attempt),
        lambda: outcomes.interrupted(one.attempt),
    ]


def test_terminal_is_final_first_writer_wins(alice: Any, sleeper: Generator) -> None:
    for _ in range(ROUNDS):
        task = submit(alice)
        one = claimed()
        assert together(*endings(one, alice)) == []
        task.refresh_from_db()
        told = Event.objects.filter(task=task, kind__in=ENDINGS).count()
        assert told == (1 if task.terminal else 0)
        winners = Attempt.objects.filter(task=task, outcome="success").count()
        assert winners == (1 if task.state == "success" else 0)
        assert task.artifacts.count() == task.result_count == winners
        assert wrong_heads() == []
        outcomes.stopped(one.attempt)
        cancellation.cancel(task.pk, alice.pk)
    assert slots.members(keys.slots_all()) == set()


def test_a_task_is_claimed_once_and_limits_hold_under_many_claimers(alice: Any, bob: Any) -> None:
    make_generator("narrow", max_running=3)
    make_generator("wide", max_running=50)
    for number in range(12):
        submit((alice, bob)[number % 2], ("narrow", "wide")[number % 3 == 0])
    got: list[Claim] = []

    def take() -> None:
        for _ in range(4):
            found = claim.claim_next("default", "w")
            if found:
                got.append(found)

    assert together(*[take] * 8) == []
    assert len({one.task.pk for one in got}) == len(got) == 3 + 4
    assert Attempt.objects.filter(ended_at__isnull=True).count() == 7
    assert slots.members(keys.slots_all()) == {one.attempt.claim_id for one in got}


def test_the_owner_limit_holds_under_many_claimers(sleeper: Generator) -> None:
    user = make_user("carol", max_running=2)
    for _ in range(8):
        submit(user)
    got: list[Claim] = []

    def take() -> None:
        found = claim.claim_next("default", "w")
        if found:
            got.append(found)

    assert together(*[take] * 8) == []
    assert len(got) == 2


def test_a_claim_and_a_cancel_at_once(alice: Any, sleeper: Generator) -> None:
    for _ in range(ROUNDS):
        task = submit(alice)
        got: list[Claim | None] = []
        raised = together(
            lambda got=got: got.append(claim.claim_next("default", "w")),  # type: ignore[misc]
            lambda task=task: cancellation.cancel(task.pk, alice.pk),  # type: ignore[misc]
        )
        assert raised == []
        task.refresh_from_db()
        assert (task.state, task.error_code) == ("failed", "canceled")
        for one in got:
            if one is not None:
                outcomes.stopped(one.attempt)
        assert slots.members(keys.slots_all()) == set()
        assert wrong_heads() == []


def test_submissions_and_claims_of_one_flow_at_once_leave_the_head_right(
    alice: Any, sleeper: Generator
) -> None:
    def work() -> None:
        for _ in range(5):
            submit(alice)
            found = claim.claim_next("default", "w")
            if found:
                outcomes.interrupted(found.attempt)

    assert together(*[work] * 6) == []
    assert wrong_heads() == []
    assert Task.objects.filter(state="pending").count() == 30


def test_what_changed_since_it_was_read_is_left_alone(alice: Any, sleeper: Generator) -> None:
    task = submit(alice)
    read = Task.objects.get(pk=task.pk)
    cancellation.cancel(task.pk, alice.pk)
    before = Event.objects.count()
    assert move(read, State.TIMEOUT, EventKind.TIMED_OUT, error_code="internal") is False
    assert Event.objects.count() == before
    assert Task.objects.get(pk=task.pk).error_code == "canceled"


def test_an_older_attempt_number_is_fenced(alice: Any, sleeper: Generator) -> None:
    submit(alice)
    first = claimed()
    outcomes.interrupted(first.attempt)
    second = claimed()
    assert second.task.pk == first.task.pk
    stale = first.task  # state "running", but with the number of the first attempt
    assert move(stale, State.FAILED, EventKind.FAILED, error_code="internal") is False
    assert outcomes.succeeded(first.attempt, artifacts(first.task.pk)) is False
    assert Task.objects.get(pk=first.task.pk).state == "running"


def test_a_change_that_the_table_does_not_have_is_a_bug(alice: Any, sleeper: Generator) -> None:
    task = submit(alice)
    with pytest.raises(IllegalTransition):
        move(task, State.SUCCESS, EventKind.SUCCEEDED)


def test_simultaneous_duplicates_all_get_the_same_task(alice: Any, sleeper: Generator) -> None:
    ids: list[Any] = []
    wish = Wish("sleeper", {"prompt": "one"}, idempotency_key="the same")
    raised = together(
        *[lambda: ids.append(submission.submit(alice, wish).task_id) for _ in range(20)]
    )
    assert raised == []
    assert len(ids) == 20
    assert set(ids) == set(Task.objects.values_list("pk", flat=True))
    assert len(set(ids)) == 1


def test_a_task_that_cannot_be_claimed_does_not_stand_before_the_others(
    alice: Any, sleeper: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, sound = submit(alice), submit(alice)
    create = Attempt.objects.create

    def refuse(**values: Any) -> Attempt:
        if values["task"].pk == broken.pk:
            raise ValueError("whatever it is")
        return create(**values)

    monkeypatch.setattr(Attempt.objects, "create", refuse)
    assert claimed().task.pk == sound.pk
    broken.refresh_from_db()
    assert broken.state == "pending"
    assert len(slots.members(keys.slots_all())) == 1


def test_a_generator_whose_adapter_is_gone_fails_its_tasks(alice: Any, sleeper: Generator) -> None:
    task = submit(alice)
    Generator.objects.update(adapter="no longer there")
    one = claimed()
    execution.run(one, client(), lambda _: None)
    task.refresh_from_db()
    assert (task.state, task.error_code) == ("failed", "internal")
