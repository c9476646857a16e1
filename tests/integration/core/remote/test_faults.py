"""The fault table: for each fault the exact end of the task, and how often it was submitted."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from pytest_django import Settings

from tasks_app.core.remote import lines, secrets, submitting
from tasks_app.generators.errors import Busy
from tasks_app.maintenance import due
from tasks_app.maintenance.report import Report
from tasks_app.models import Attempt, Generator, Pressure, Task
from tests import scenes
from tests.integration.core.remote.conftest import Hand, held, make_remote, state
from tests.processes import free_port
from tests.upstreams import fake
from tests.upstreams.replicate import TOKEN, Replicate

HTML = b"<!doctype html><title>502 Bad Gateway</title>"

# Fault of the submission: state and error, how the attempt ended, failures that it cost, how many
# submissions the upstream saw and how many jobs it has.
SUBMISSIONS: dict[str, tuple[fake.Fault, tuple[str, str], str, int, int, int]] = {
    "429": (fake.status(429), ("pending", ""), "refused", 0, 1, 0),
    "503": (fake.status(503), ("pending", ""), "refused", 0, 1, 0),
    "401": (fake.status(401), ("pending", ""), "refused", 0, 1, 0),
    "402": (fake.status(402), ("pending", ""), "refused", 0, 1, 0),
    "redirect": (
        fake.status(307, Location="http://127.0.0.1:1/"),
        *(("pending", ""), "refused", 0, 1, 0),
    ),
    "500": (fake.status(500), ("pending", ""), "error", 1, 1, 0),
    "400": (fake.status(400), ("failed", "upstream_rejected"), "error", 1, 1, 0),
    "422": (fake.status(422), ("failed", "upstream_rejected"), "error", 1, 1, 0),
    "502": (fake.status(502), ("failed", "outcome_unknown"), "error", 1, 1, 0),
    "504": (fake.status(504), ("failed", "outcome_unknown"), "error", 1, 1, 0),
    "524": (fake.status(524), ("failed", "outcome_unknown"), "error", 1, 1, 0),
    "reset": (fake.reset, ("failed", "outcome_unknown"), "error", 1, 1, 0),
    "done, then reset": (fake.done_then_reset, ("failed", "outcome_unknown"), "error", 1, 1, 1),
    "truncated": (fake.truncated, ("failed", "outcome_unknown"), "error", 1, 1, 1),
    "html": (fake.saying(HTML), ("failed", "outcome_unknown"), "error", 1, 1, 1),
    "a list": (fake.saying(b"[1]"), ("failed", "outcome_unknown"), "error", 1, 1, 1),
    "no id": (fake.saying(b'{"id": 7}'), ("failed", "outcome_unknown"), "error", 1, 1, 1),
    "a huge id": (
        fake.saying(b'{"id": "%s"}' % (b"x" * 300)),
        *(("failed", "outcome_unknown"), "error", 1, 1, 1),
    ),
    "silent": (fake.done_then_silent, ("failed", "outcome_unknown"), "error", 1, 1, 1),
    "drip": (fake.drip, ("failed", "outcome_unknown"), "error", 1, 1, 1),
    "endless": (
        fake.saying(b" " * 2_000_000),
        *(("failed", "outcome_unknown"), "error", 1, 1, 1),
    ),
}


@pytest.mark.parametrize("name", SUBMISSIONS)
def test_faults_of_submissions(hand: Hand, upstream: Replicate, name: str) -> None:
    fault, ending, outcome, failures, seen, jobs = SUBMISSIONS[name]
    upstream.seconds = 60
    upstream.faults["create"] = [fault]
    make_remote(upstream, settings={"answer_seconds": 1})
    attempt = hand.send()
    assert (state(attempt), attempt.outcome) == (ending, outcome)
    assert (attempt.task.failures, held()) == (failures, 0)
    assert (upstream.count("create"), len(upstream.predictions)) == (seen, jobs)


def test_nobody_listens(hand: Hand, upstream: Replicate) -> None:
    make_remote(upstream, settings={"base_url": f"http://127.0.0.1:{free_port()}"})
    attempt = hand.send()
    assert (state(attempt), attempt.error_code) == (("pending", ""), "upstream_unreachable")
    assert attempt.task.failures == 1


def test_a_restart_is_waited_for_before_the_last_try(hand: Hand, upstream: Replicate) -> None:
    make_remote(upstream, settings={"base_url": f"http://127.0.0.1:{free_port()}"})
    attempt = hand.send()
    waits = []
    for _ in range(2):
        again, ended = Task.objects.get().not_before, Attempt.objects.latest("number").ended_at
        assert again is not None and ended is not None
        waits.append((again - ended).total_seconds())
        Task.objects.update(not_before=Now() - timedelta(seconds=1))
        due.release_due(Report(), False)
        submitting.begin(hand.claim(), hand.engine)
        hand.land()
    assert state(attempt) == ("failed", "upstream_unreachable")
    assert waits[0] < 5 < 59 < waits[1]


def test_a_name_that_leads_nowhere(hand: Hand, upstream: Replicate) -> None:
    make_remote(upstream, settings={"base_url": "http://nowhere.invalid"}, failure_budget=1)
    assert state(hand.send()) == ("failed", "upstream_unreachable")


def test_the_budget_ends_what_fails_again_and_again(hand: Hand, upstream: Replicate) -> None:
    upstream.faults["create"] = [fake.status(500, {"detail": "out of order"})] * 3
    make_remote(upstream, failure_budget=3)
    attempt = hand.send()
    for _ in range(2):
        Task.objects.update(not_before=Now() - timedelta(seconds=1))
        due.release_due(Report(), False)
        claim = hand.claim()
        submitting.begin(claim, hand.engine)
        hand.land()
    assert state(attempt) == ("failed", "upstream_error")
    assert upstream.count("create") == 3
    assert Task.objects.get().error_detail == "out of order"


QUESTIONS: dict[str, fake.Fault] = {
    "500": fake.status(500),
    "502": fake.status(502),
    "400": fake.status(400),
    "html at 200": fake.saying(HTML),
    "truncated": fake.truncated,
    "reset": fake.reset,
    "silent": fake.silent,
    "drip": fake.drip,
    "too large": fake.saying(b" " * 20_000_000),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_faults_of_questions(
    hand: Hand,
    upstream: Replicate,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    """One costs nothing; three in a row end it once they span a minute."""
    monkeypatch.setattr(lines, "POLL_SECONDS", 0.5)
    upstream.seconds = 60
    upstream.faults["get"] = [QUESTIONS[name]] * 3
    make_remote(upstream)
    attempt = hand.send()
    for failures in (1, 2, 3):
        attempt = hand.ask(attempt)
        assert (state(attempt), attempt.poll_failures) == (("running", ""), failures)
    Attempt.objects.update(failing_since=Now() - timedelta(seconds=61))
    upstream.faults["get"] = [QUESTIONS[name]]
    attempt = hand.ask(attempt)
    assert state(attempt) == ("failed", "upstream_unreachable")
    assert (upstream.count("create"), held()) == (1, 0)


def test_an_answer_in_between_begins_anew(hand: Hand, upstream: Replicate) -> None:
    upstream.seconds = 60
    make_remote(upstream)
    attempt = hand.send()
    upstream.faults["get"] = [fake.status(500), fake.status(500)]
    hand.ask(hand.ask(attempt))
    Attempt.objects.update(failing_since=Now() - timedelta(seconds=100))
    assert hand.ask(attempt).poll_failures == 0
    upstream.faults["get"] = [fake.status(500)]
    attempt = hand.ask(attempt)
    assert (state(attempt), attempt.poll_failures) == (("running", ""), 1)


@pytest.mark.parametrize("code", [401, 402, 403, 429, 503])
def test_a_busy_upstream_and_a_bad_credential_never_end_what_was_submitted(
    hand: Hand, upstream: Replicate, code: int
) -> None:
    make_remote(upstream)
    attempt = hand.send()
    upstream.faults["get"] = [fake.status(code)] * 5
    for _ in range(5):
        attempt = hand.ask(attempt)
    assert (state(attempt), attempt.poll_failures) == (("running", ""), 0)
    assert state(hand.ask(attempt)) == ("success", "")


def test_an_upstream_that_forgot(hand: Hand, upstream: Replicate) -> None:
    """404: it was started anew, or the job is too old."""
    make_remote(upstream)
    attempt = hand.send()
    upstream.predictions.clear()
    for _ in range(3):
        attempt = hand.ask(attempt)
    assert state(attempt) == ("running", "")
    Attempt.objects.update(failing_since=Now() - timedelta(seconds=61))
    assert state(hand.ask(attempt)) == ("failed", "upstream_error")
    assert "does not know" in Task.objects.get().error_detail


ODD_ANSWERS: dict[str, dict[str, Any]] = {
    "no status": {"status": None},
    "a number": {"status": 3},
    "an unknown word": {"status": "pondering"},
    "a long word": {"status": "x" * 10_000},
}


@pytest.mark.parametrize("name", ODD_ANSWERS)
def test_odd_answers_mean_that_it_still_runs(hand: Hand, upstream: Replicate, name: str) -> None:
    make_remote(upstream)
    upstream.scripts["a boat"] = [{"output": None} | ODD_ANSWERS[name]]
    attempt = hand.ask(hand.send())
    assert state(attempt) == ("running", "")
    assert state(hand.ask(attempt)) == ("success", "")


@pytest.mark.parametrize("output", [None, [], "", {}, 7, ["", None], {"a": 1}])
def test_success_without_a_file(hand: Hand, upstream: Replicate, output: Any) -> None:
    make_remote(upstream)
    upstream.scripts["a boat"] = [{"status": "succeeded", "output": output}]
    assert state(hand.ask(hand.send())) == ("failed", "result_unusable")


def test_it_is_not_asked_for_ever(hand: Hand, upstream: Replicate) -> None:
    upstream.seconds = 60
    make_remote(upstream, timeout_seconds=30.0)
    attempt = hand.send()
    Attempt.objects.update(polls=15)  # 3 x 30 / 15 + 10 = 16
    assert state(hand.ask(attempt)) == ("running", "")
    assert state(hand.ask(attempt)) == ("failed", "upstream_error")


REFERENCES = {
    "env:UPSTREAM_MISSING": "is not set",
    "env:DARKROOM_SECRET_KEY": "DARKROOM_UPSTREAM_SECRETS",
    "env:DATABASE_URL": "DARKROOM_UPSTREAM_SECRETS",
    "file:/etc/passwd": "DARKROOM_UPSTREAM_SECRETS",
    "file:{folder}/../outside": "DARKROOM_UPSTREAM_SECRETS",
    "file:{folder}/link": "DARKROOM_UPSTREAM_SECRETS",
    "file:{folder}/none": "is not there",
    "file:{folder}/lines": "one line",
    "file:{folder}/empty": "one line",
    "file:{folder}": "cannot be read",
}


@pytest.mark.parametrize("reference", REFERENCES)
def test_secrets_that_nobody_may_refer_to(
    settings: Settings, tmp_path: Any, reference: str
) -> None:
    folder = tmp_path / "secrets"
    folder.mkdir()
    (tmp_path / "outside").write_text("secret")
    (folder / "link").symlink_to(tmp_path / "outside")
    (folder / "lines").write_text("one\ntwo")
    (folder / "empty").write_text("")
    settings.DARKROOM = settings.DARKROOM | {"upstream_secrets": ("UPSTREAM_*", str(folder))}
    with pytest.raises(Busy) as caught:
        secrets.read(reference.format(folder=folder))
    assert caught.value.ours
    assert REFERENCES[reference] in caught.value.detail


def test_a_file_with_a_secret_acts_at_once(
    hand: Hand, upstream: Replicate, settings: Settings, tmp_path: Any
) -> None:
    file = tmp_path / "token"
    file.write_text("old\n")
    settings.DARKROOM = settings.DARKROOM | {"upstream_secrets": (str(tmp_path),)}
    make_remote(upstream, settings={"credential": f"file:{file}"})
    assert state(hand.send()) == ("pending", "")
    file.write_text(f"{TOKEN}\n")
    Pressure.objects.update(hold_until=None)  # its tasks are held for half a minute
    attempt = hand.send("another")
    assert state(hand.ask(attempt)) == ("success", "")


def test_a_generator_that_is_set_up_wrongly(hand: Hand, upstream: Replicate) -> None:
    make_remote(upstream)
    hand.submit()
    claim = hand.claim()
    Generator.objects.update(settings={"base_url": "nonsense"})
    claim.generator.refresh_from_db()
    submitting.begin(claim, hand.engine)
    hand.land()
    assert state(claim.attempt) == ("failed", "internal")
    assert scenes.slots_taken() == 0
