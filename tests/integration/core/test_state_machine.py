"""Random interleavings of everything that may happen to tasks, on the real databases.

Claims stay in the bag after they were lost, canceled or finished, so every ending is also
tried by stale writers. After each step the invariants of the design (section 5) must hold.
"""

import os
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from tasks_app.core import cancellation, claim, outcomes
from tasks_app.core.claim import Claim
from tasks_app.core.heartbeat import beat
from tasks_app.gates import keys, slots
from tasks_app.gates.connection import client
from tasks_app.lifecycle import ErrorCode, Priority
from tasks_app.maintenance import reconcile
from tasks_app.maintenance.report import Report
from tasks_app.maintenance.sweep import sweep
from tasks_app.models import Artifact, Attempt, Event, Flow, Generator, Pool, Task
from tests.conftest import make_generator, make_user
from tests.integration.helpers import artifacts, submit, wrong_heads

EXAMPLES = int(os.environ.get("DARKROOM_TEST_EXAMPLES", "40"))
A_DAY = timedelta(days=1)
LIMIT = 2
BUDGET = 2
ENDINGS = ("succeeded", "failed", "timed_out", "canceled")


class Tasks(RuleBasedStateMachine):
    """Two users, one generator with two slots, a failure budget of two."""

    claims: Bundle[Claim] = Bundle("claims")

    def __init__(self) -> None:
        super().__init__()
        with transaction.atomic():
            for model in (Artifact, Event, Attempt, Task, Flow, Pool):
                model.objects.all().delete()
        client().flushdb()
        slots.restore([])
        self.users = USERS
        self.final: dict[Any, tuple[Any, ...]] = {}
        self.virtual_time = 0.0

    @rule(who=st.integers(0, 1), priority=st.sampled_from(Priority))
    def submitting(self, who: int, priority: Priority) -> None:
        submit(self.users[who], priority=priority)

    @rule(target=claims)
    def claiming(self) -> Any:
        found = claim.claim_next("default", "worker")
        return multiple() if found is None else found

    @rule(one=claims, pictures=st.integers(1, 3))
    def finishing(self, one: Claim, pictures: int) -> None:
        outcomes.succeeded(one.attempt, artifacts(one.task.pk, pictures))

    @rule(one=claims, retryable=st.booleans())
    def failing(self, one: Claim, retryable: bool) -> None:
        outcomes.failed(one.attempt, ErrorCode.UPSTREAM_ERROR, "no", retryable=retryable)

    @rule(one=claims)
    def interrupting(self, one: Claim) -> None:
        outcomes.interrupted(one.attempt)

    @rule(target=claims, one=claims, silent=st.booleans())
    def superseding(self, one: Claim, silent: bool) -> Any:
        """Take the task away and give it to another: the old claim is stale from here on."""
        if silent:
            self.falling_silent(one)
            sweep()
        else:
            outcomes.interrupted(one.attempt)
        return self.claiming()

    @rule(one=claims)
    def beating(self, one: Claim) -> None:
        if beat(one.attempt, 0.5):
            slots.extend(one.holder)

    @rule(one=claims)
    def stopping(self, one: Claim) -> None:
        if not beat(one.attempt, 0.5):
            outcomes.stopped(one.attempt)

    @rule(one=claims)
    def falling_silent(self, one: Claim) -> None:
        long_ago = Now() - timedelta(seconds=100)
        live = Attempt.objects.filter(pk=one.attempt.pk, ended_at__isnull=True)
        live.update(heartbeat_at=long_ago)
        live.filter(revoked_at__isnull=False).update(revoked_at=long_ago)

    @rule(one=claims)
    def passing_the_deadline(self, one: Claim) -> None:
        Task.objects.filter(pk=one.task.pk).update(deadline_at=F("deadline_at") - A_DAY)

    @rule(who=st.integers(0, 1))
    def waiting_too_long(self, who: int) -> None:
        waiting = Task.objects.filter(owner=self.users[who], state="pending")
        waiting.update(give_up_at=F("give_up_at") - A_DAY)

    @rule()
    def delays_ending(self) -> None:
        Task.objects.filter(not_before__isnull=False, state="pending").update(
            not_before=Now() - timedelta(seconds=1)
        )

    @rule(one=claims)
    def canceling(self, one: Claim) -> None:
        cancellation.cancel(one.task.pk, one.task.owner_id)

    @rule(who=st.integers(0, 1))
    def canceling_what_waits(self, who: int) -> None:
        user = self.users[who]
        for task in Task.objects.filter(owner=user, state="pending")[:1]:
            cancellation.cancel(task.pk, user.pk)

    @rule()
    def sweeping(self) -> None:
        assert sweep().troubles == []

    @rule()
    def losing_redis(self) -> None:
        client().flushdb()
        slots.acquire(uuid4(), [])  # notices, and starts the fence
        let_the_fence_pass()

    @invariant()
    def tasks_are_consistent(self) -> None:
        for task in Task.objects.prefetch_related("events", "attempts", "artifacts"):
            self.terminal_is_final(task)
            every_ending_is_told_once(task)
            attempts_count_up_and_at_most_one_may_write(task)
            success_has_its_pictures_and_one_winner(task)
            assert task.failures <= BUDGET

    def terminal_is_final(self, task: Task) -> None:
        if task.terminal:
            now = (task.state, task.finished_at, task.error_code, task.result_count)
            assert self.final.setdefault(task.pk, now) == now

    @invariant()
    def limits_hold(self) -> None:
        assert Attempt.objects.filter(ended_at__isnull=True).count() <= LIMIT
        assert slots.used([keys.slots_all()])[0] <= LIMIT

    @invariant()
    def heads_are_right(self) -> None:
        assert wrong_heads() == []

    @invariant()
    def virtual_time_moves_forward(self) -> None:
        now = Pool.objects.filter(name="default").values_list("virtual_time", flat=True).first()
        assert (now or 0.0) >= self.virtual_time
        self.virtual_time = now or 0.0

    def teardown(self) -> None:
        """Whatever happened, the slots can be made equal to the table, and work goes on."""
        sweep()
        reconcile.slot_sets(Report(), False)
        running = {one.claim_id for one in Attempt.objects.filter(ended_at__isnull=True)}
        assert slots.members(keys.slots_all()) == running


def every_ending_is_told_once(task: Task) -> None:
    told = [event.kind for event in task.events.all() if event.kind in ENDINGS]
    assert len(told) == (1 if task.terminal else 0)


def attempts_count_up_and_at_most_one_may_write(task: Task) -> None:
    attempts = list(task.attempts.all())
    assert [one.number for one in attempts] == list(range(1, task.attempt_number + 1))
    writers = [one.number for one in attempts if not (one.ended_at or one.revoked_at)]
    assert writers == ([task.attempt_number] if task.state == "running" else [])


def success_has_its_pictures_and_one_winner(task: Task) -> None:
    winners = [one.number for one in task.attempts.all() if one.outcome == "success"]
    assert winners == ([task.attempt_number] if task.state == "success" else [])
    assert len(task.artifacts.all()) == task.result_count


USERS: list[Any] = []


def let_the_fence_pass() -> None:
    """Date the fence back, instead of waiting for it."""
    held = client().get(keys.slots_epoch())
    assert isinstance(held, bytes)
    kind, run, started = held.decode().split(":")
    assert kind == "fence"
    client().set(keys.slots_epoch(), f"fence:{run}:{int(started) - 60_000}")


@pytest.mark.django_db(transaction=True)
def test_invariants_hold_under_random_interleavings(monkeypatch: pytest.MonkeyPatch) -> None:
    # The sweep leaves silent workers alone while the database is as new as a test's.
    monkeypatch.setattr("tasks_app.maintenance.sweep.database_age", lambda: 1e9)
    USERS[:] = [make_user("alice"), make_user("bob")]
    make_generator(max_running=LIMIT, failure_budget=BUDGET)
    assert Generator.objects.count() == 1
    run_state_machine_as_test(
        Tasks,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=30,
            suppress_health_check=list(HealthCheck),
        ),
    )
