"""The way of remote work, from claim to result, and what may go wrong on it."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.db.models.functions import Now

from tasks_app.core import cancellation
from tasks_app.core.clock import database_now
from tasks_app.core.remote import polling, submitting
from tasks_app.gates import slots
from tasks_app.gates.connection import client
from tasks_app.maintenance.sweep import sweep
from tasks_app.models import Artifact, Attempt, Event, Generator, Setup, Task
from tests import scenes
from tests.integration.core.remote.conftest import Hand, held, make_remote, state
from tests.processes import eventually
from tests.upstreams import fake
from tests.upstreams.replicate import TOKEN, Replicate


def silence(attempt: Attempt) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(heartbeat_at=Now() - timedelta(seconds=100))


def kinds(attempt: Attempt) -> list[str]:
    return scenes.history(attempt.task_id)


def test_a_picture_from_elsewhere(hand: Hand, upstream: Replicate) -> None:
    make_remote(upstream)
    attempt = hand.send("a boat")
    assert attempt.upstream_id in upstream.predictions
    assert attempt.submit_started_at is not None
    assert attempt.next_poll_at is not None
    assert len(attempt.webhook_token) > 20
    assert (state(attempt), held()) == (("running", ""), 1)

    attempt = hand.ask(attempt)
    assert (state(attempt), attempt.outcome, held()) == (("success", ""), "success", 0)
    artifact = Artifact.objects.get()
    assert (artifact.media_type, artifact.width) == ("image/png", 48)
    assert scenes.has_its_files(attempt.task_id)
    assert kinds(attempt) == ["submitted", "claimed", "succeeded"]
    assert (upstream.count("create"), upstream.count("get"), upstream.count("file")) == (1, 1, 1)
    sent = upstream.of("create")[0].json
    assert sent["version"] == "v1"
    assert sent["input"]["prompt"] == "a boat"
    assert "seed" not in sent["input"], "what was left open is not sent"


def test_it_is_asked_until_it_is_done(hand: Hand, upstream: Replicate) -> None:
    make_remote(upstream)
    upstream.scripts["a boat"] = [
        {"status": "processing", "output": None},
        {"status": "dreaming", "output": None},
        {"status": 7, "output": None},
        {"status": "starting", "output": None},
    ]
    attempt = hand.send()
    for polls in range(1, 5):
        attempt = hand.ask(attempt)
        assert (state(attempt), attempt.polls) == (("running", ""), polls)
        assert attempt.next_poll_at is not None
    assert state(hand.ask(attempt)) == ("success", "")


@pytest.mark.parametrize(
    ("prompt", "code"), [("fail", "upstream_error"), ("nsfw", "content_rejected")]
)
def test_what_fails_upstream_fails_and_is_not_made_again(
    hand: Hand, upstream: Replicate, prompt: str, code: str
) -> None:
    make_remote(upstream)
    attempt = hand.ask(hand.send(prompt))
    assert (state(attempt), attempt.outcome, held()) == (("failed", code), "error", 0)
    assert upstream.count("create") == 1


def test_a_cancel_reaches_the_upstream_and_keeps_the_slot_until_it_has_stopped(
    hand: Hand, upstream: Replicate
) -> None:
    upstream.seconds = 60
    make_remote(upstream)
    other, attempt = hand.send("another"), hand.send("a boat")
    cancellation.cancel(attempt.task_id, hand.user.pk)
    assert (state(attempt), held()) == (("failed", "canceled"), 2)
    polling.round_of("default", hand.engine)  # nobody has to wait for the next question
    hand.land()
    assert [seen.path.split("/")[3] for seen in upstream.of("cancel")] == [attempt.upstream_id]
    attempt.refresh_from_db()
    assert (attempt.ended_at, held()) == (None, 2)
    attempt = hand.ask(attempt)
    assert (attempt.outcome, held()) == ("revoked", 1)
    assert state(other) == ("running", "")


def test_a_deadline_reaches_the_upstream(hand: Hand, upstream: Replicate) -> None:
    upstream.seconds = 60
    make_remote(upstream)
    attempt = hand.send()
    Task.objects.update(deadline_at=Now() - timedelta(seconds=1))
    sweep()
    assert state(attempt) == ("timeout", "deadline_exceeded")
    polling.round_of("default", hand.engine)
    hand.land()
    assert upstream.count("cancel") == 1
    assert hand.ask(attempt).outcome == "revoked"


def test_a_cancel_while_it_is_being_submitted_reaches_the_upstream(
    hand: Hand, upstream: Replicate
) -> None:
    upstream.seconds = 60
    upstream.faults["create"] = [fake.after(1.0)]
    make_remote(upstream)
    attempt = hand.begin()
    eventually(lambda: upstream.predictions)
    cancellation.cancel(attempt.task_id, hand.user.pk)
    hand.land()
    attempt.refresh_from_db()
    assert attempt.upstream_id, "the id is kept whatever the task has become"
    polling.round_of("default", hand.engine)
    hand.land()
    assert upstream.count("cancel") == 1
    assert hand.ask(attempt).outcome == "revoked"
    assert held() == 0


def test_what_was_canceled_before_its_submission_is_not_submitted(
    hand: Hand, upstream: Replicate
) -> None:
    make_remote(upstream)
    hand.submit()
    claim = hand.claim()
    cancellation.cancel(claim.task.pk, hand.user.pk)
    submitting.begin(claim, hand.engine)
    hand.land()
    assert (upstream.count("create"), held()) == (0, 0)


def test_an_answer_after_the_attempt_was_given_up_cancels_upstream(
    hand: Hand, upstream: Replicate
) -> None:
    upstream.seconds = 60
    upstream.faults["create"] = [fake.after(1.0)]
    make_remote(upstream)
    attempt = hand.begin()
    eventually(lambda: upstream.predictions)
    silence(attempt)
    assert sweep().counts["outcome unknown"] == 1
    assert state(attempt) == ("failed", "outcome_unknown")
    hand.land()
    assert upstream.count("cancel") == 1
    attempt.refresh_from_db()
    assert attempt.upstream_id in upstream.predictions


def test_a_late_success_is_history_and_no_state(hand: Hand, upstream: Replicate) -> None:
    make_remote(upstream)
    attempt = hand.send()
    cancellation.cancel(attempt.task_id, hand.user.pk)
    hand.ask(attempt)  # cancels: it is done already
    attempt = hand.ask(attempt)
    assert (state(attempt), attempt.outcome) == (("failed", "canceled"), "revoked")
    assert kinds(attempt)[-1] == "late_result"
    assert upstream.count("file") == 0


def test_a_worker_that_died_before_it_submitted_costs_an_attempt(
    hand: Hand, upstream: Replicate
) -> None:
    make_remote(upstream)
    hand.submit()
    claim = hand.claim()
    silence(claim.attempt)
    assert sweep().counts["worker lost"] == 1
    assert state(claim.attempt) == ("pending", "")
    assert upstream.count("create") == 0


@pytest.mark.parametrize(
    ("free", "found"), [(False, ("failed", "outcome_unknown")), (True, ("pending", ""))]
)
def test_a_worker_that_died_while_it_submitted(
    hand: Hand, upstream: Replicate, free: bool, found: tuple[str, str]
) -> None:
    make_remote(upstream, settings={"free_to_repeat": free})
    upstream.faults["create"] = [fake.done_then_silent]
    attempt = hand.begin()
    eventually(lambda: upstream.predictions)
    hand.engine.stop()  # as a kill does, without an ending
    attempt.refresh_from_db()
    assert (attempt.ended_at, attempt.upstream_id) == (None, "")
    silence(attempt)
    sweep()
    assert state(attempt) == found
    assert len(upstream.predictions) == 1


def test_a_worker_that_died_after_the_id_was_kept_is_resumed(
    hand: Hand, upstream: Replicate
) -> None:
    make_remote(upstream)
    attempt = hand.send()
    # Whoever had taken it to ask about it died: its lease ends by itself.
    Attempt.objects.update(next_poll_at=Now() - timedelta(seconds=1), polls=F("polls") + 1)
    polling.round_of("default", hand.engine)
    hand.land()
    assert state(attempt) == ("success", "")
    assert upstream.count("create") == 1


def test_an_answer_to_an_earlier_question_changes_nothing(hand: Hand, upstream: Replicate) -> None:
    make_remote(upstream)
    upstream.scripts["a boat"] = [{"status": "processing", "output": None}]
    attempt = hand.send()
    upstream.faults["get"] = [fake.after(1.0)]
    Attempt.objects.update(next_poll_at=Now())
    polling.round_of("default", hand.engine)
    eventually(lambda: upstream.count("get") == 1)
    Attempt.objects.update(polls=F("polls") + 1, next_poll_at=Now() + timedelta(seconds=500))
    before = Attempt.objects.values("polls", "next_poll_at").get()
    hand.land()
    assert Attempt.objects.values("polls", "next_poll_at").get() == before
    assert state(attempt) == ("running", "")


def test_slots_are_held_until_it_must_have_ended(hand: Hand, upstream: Replicate) -> None:
    upstream.seconds = 60
    make_remote(upstream, timeout_seconds=600)
    attempt = hand.send()
    redis = client()
    scope = next(k for k in redis.scan_iter("*{slots}:all"))

    def left() -> float:
        score: Any = redis.zscore(scope, str(attempt.claim_id))
        return float(score) / 1000 - float(redis.time()[0])

    assert 600 < left() < 605
    slots.release(slots.Holder(attempt.claim_id, attempt.task_id, attempt.task.generator_id, 0))
    sweep()
    sweep()
    assert left() > 590, "slots that Redis lost are held again, for as long"


def test_work_stays_with_the_settings_it_was_submitted_with(
    hand: Hand, upstream: Replicate, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = make_remote(upstream)
    attempt = hand.send()
    other = Replicate()
    try:
        Generator.objects.filter(pk=generator.pk).update(
            settings={"base_url": other.url, "credential": "env:UPSTREAM_OTHER", "version": "v2"}
        )
        assert state(hand.ask(attempt)) == ("success", "")
        monkeypatch.setenv("UPSTREAM_OTHER", TOKEN)
        hand.send("another")
        assert (other.count("create"), upstream.count("create")) == (1, 1)
        assert Setup.objects.count() == 2
    finally:
        other.stop()


def test_nothing_that_is_kept_or_said_holds_the_credential(
    hand: Hand, upstream: Replicate, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    upstream.faults["create"] = [fake.status(422, {"detail": f"the token {TOKEN} is odd"})]
    make_remote(upstream)
    attempt = hand.send()
    assert state(attempt) == ("failed", "upstream_rejected")
    kept = [
        *Task.objects.values_list("error_detail", flat=True),
        *Attempt.objects.values_list("error_detail", flat=True),
        *(str(data) for data in Event.objects.values_list("data", flat=True)),
        *(str(one) for one in Setup.objects.values_list("settings", flat=True)),
        caplog.text,
    ]
    assert "is odd" in kept[0]
    assert not [text for text in kept if TOKEN in text]


def test_two_who_take_take_different_ones(hand: Hand, upstream: Replicate) -> None:
    upstream.seconds = 60
    make_remote(upstream)
    for number in range(5):
        hand.send(f"boat {number}")
    Attempt.objects.update(next_poll_at=Now())
    polling.round_of("default", hand.engine)
    polling.round_of("default", hand.engine)
    hand.land()
    assert upstream.count("get") == 5


def test_endings_of_attempts_that_nobody_can_ask_about(hand: Hand, upstream: Replicate) -> None:
    upstream.seconds = 60
    make_remote(upstream)
    attempt = hand.send()
    cancellation.cancel(attempt.task_id, hand.user.pk)
    Setup.objects.update(adapter="no-such-adapter")
    hand.ask(attempt)
    assert held() == 1
    Attempt.objects.update(revoked_at=Now() - timedelta(seconds=100))
    sweep()
    assert held() == 0


def test_refusals_cost_nothing(hand: Hand, upstream: Replicate) -> None:
    make_remote(upstream, failure_budget=1)
    upstream.faults["create"] = [fake.status(429, {"detail": "slow down"}, Retry_After="120")]
    attempt = hand.send()
    task = attempt.task
    assert (task.state, task.failures, attempt.outcome) == ("pending", 0, "refused")
    assert task.not_before is not None
    assert 119 < (task.not_before - database_now()).total_seconds() < 140
    assert (kinds(attempt)[-1], held()) == ("requeued: upstream busy", 0)
