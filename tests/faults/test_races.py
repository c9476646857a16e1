"""Pauses and losses at the worst moment, each put exactly there."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from uuid import UUID

import pytest

from tasks_app import bells, conf
from tasks_app.core import claim, execution, heartbeat, outcomes
from tasks_app.core.claim import Claim
from tasks_app.core.stopping import Reason, Run
from tasks_app.gates import keys, slots
from tasks_app.gates.connection import client, private_client
from tasks_app.maintenance import due
from tasks_app.maintenance.report import Report
from tasks_app.models import Attempt, Generator
from tests import scenes
from tests.conftest import make_generator
from tests.processes import eventually

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def claimed(alice: Any, sleeper: Generator, open_slots: None) -> Claim:
    """Return the claim of a short task."""
    scenes.submit(alice, sleeper, "picture")
    found = claim.claim_next("default", "test")
    assert found is not None
    return found


def test_a_beat_after_the_sweep_looked_saves_the_attempt(claimed: Claim) -> None:
    seen = Attempt.objects.get(pk=claimed.attempt.pk)
    assert heartbeat.beat(claimed.attempt, 0.5)
    assert not outcomes.lost(seen)
    assert scenes.history(claimed.task.pk) == ["submitted", "claimed"]
    assert scenes.slots_taken() == 3
    assert outcomes.lost(Attempt.objects.get(pk=claimed.attempt.pk))
    assert scenes.outcomes_of(claimed.task.pk) == ["lost"]
    assert scenes.slots_taken() == 0


def test_slots_lost_again_while_they_are_restored_stay_fenced(claimed: Claim) -> None:
    client().flushdb()
    found = [slots.Candidate(claimed.task.pk, claimed.generator.pk, 1, claimed.task.owner_id, 1)]

    def fence_over() -> slots.Answer | None:
        answer = slots.acquire(claimed.attempt.pk, found)
        return answer if answer.restore else None

    def flushing() -> Iterator[slots.Holder]:
        yield claimed.holder
        client().flushdb()

    slots.restore(flushing(), eventually(fence_over).fence)
    answer = slots.acquire(claimed.attempt.pk, found)
    assert (answer.index, answer.wait > 0) == (None, True)
    slots.restore(claim.running_holders(), eventually(fence_over).fence)
    assert slots.acquire(claimed.attempt.pk, found).index is None, "the limit of 1 is reached"


def test_a_claim_that_paused_with_its_slots_is_not_committed(
    alice: Any, sleeper: Generator, open_slots: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redis may have lost the slots in the pause, and the fence for such claims may be over."""
    task_id = scenes.submit(alice, sleeper, "picture")
    acquire = slots.acquire
    asked: list[UUID] = []

    def acquire_slowly(claim_id: UUID, candidates: Sequence[slots.Candidate]) -> slots.Answer:
        answer = acquire(claim_id, candidates)
        if not asked:
            time.sleep(conf.get().slot_fence / 2)
        asked.append(claim_id)
        return answer

    monkeypatch.setattr(slots, "acquire", acquire_slowly)
    found = claim.claim_next("default", "test")
    assert found is not None
    assert (len(asked), found.attempt.claim_id) == (2, asked[1])
    assert scenes.history(task_id) == ["submitted", "claimed"]
    assert scenes.slots_taken() == 3


def test_a_beat_that_comes_after_the_end_leaves_no_slots_behind(
    claimed: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    extend = slots.extend

    def extend_late(holder: slots.Holder, **options: Any) -> None:
        eventually(lambda: scenes.outcomes_of(holder.task_id) == ["success"])
        eventually(lambda: scenes.slots_taken() == 0, within=2)
        extend(holder, **options)

    def beating(_: Run) -> None:
        monkeypatch.setattr(slots, "extend", extend_late)

    monkeypatch.setattr(conf.Conf, "heartbeat_interval", 0.0)
    monkeypatch.setattr(execution, "_generate", _wait_for_a_beat(claimed))
    execution.run(claimed, private_client(), beating)
    assert scenes.slots_taken() == 0


def _wait_for_a_beat(claimed: Claim) -> Callable[..., None]:
    generate = execution._generate
    before = claimed.attempt.heartbeat_at

    def wait(*arguments: Any) -> None:
        attempt = Attempt.objects.filter(pk=claimed.attempt.pk, heartbeat_at__gt=before)
        eventually(attempt.exists)
        generate(*arguments)

    return wait


@pytest.mark.parametrize(
    ("reason", "ending"),
    [
        (Reason.SHUTDOWN, "requeued: worker stopped"),
        (Reason.DEADLINE, "timed_out"),
        (None, "failed: internal"),
    ],
)
def test_models_that_disguise_being_stopped_have_stopped_all_the_same(
    alice: Any,
    open_slots: None,
    monkeypatch: pytest.MonkeyPatch,
    reason: Reason | None,
    ending: str,
) -> None:
    scenes.submit(alice, make_generator(artist="disguise"), "picture")
    found = claim.claim_next("default", "test")
    assert found is not None

    def told(run: Run) -> None:
        report = run.report

        def stopping(fraction: float) -> None:
            if fraction > 0 and reason is not None:
                run.stop(reason)
            report(fraction)

        monkeypatch.setattr(run, "report", stopping)

    execution.run(found, private_client(), told)
    assert scenes.history(found.task.pk)[2] == ending
    assert scenes.slots_taken() == 0


def test_a_stale_attempt_that_is_done_first_does_not_win(claimed: Claim) -> None:
    assert outcomes.lost(Attempt.objects.get(pk=claimed.attempt.pk))
    second = claim.claim_next("default", "other")
    assert second is not None
    execution.run(claimed, private_client(), lambda _: None)
    assert scenes.state_of(claimed.task.pk) == "running"
    assert not scenes.has_its_files(claimed.task.pk)
    assert slots.members(keys.slots_all()) == {second.attempt.claim_id}
    execution.run(second, private_client(), lambda _: None)
    assert scenes.outcomes_of(claimed.task.pk) == ["lost", "success"]
    assert scenes.has_its_files(claimed.task.pk)


def test_nobody_is_rung_for_while_all_slots_are_taken(
    claimed: Claim, alice: Any, sleeper: Generator
) -> None:
    Generator.objects.update(max_running=1)
    scenes.submit(alice, sleeper, "waiting")
    queue = f"rq:queue:{sleeper.pool}"
    client().delete(queue)
    due.ring_where_work_waits(Report(), dry_run=False)
    assert bells.waiting(sleeper.pool) == 0
    slots.release(claimed.holder)
    due.ring_where_work_waits(Report(), dry_run=False)
    assert bells.waiting(sleeper.pool) == 1
