"""Webhooks: who is believed, what follows, in whatever order they come."""

import base64
import hashlib
import hmac
import json
import time
from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client

from aigc_site import bodies
from tasks_app.core import cancellation
from tasks_app.core.remote import polling
from tasks_app.maintenance.sweep import sweep
from tasks_app.models import Attempt, Event
from tests import scenes
from tests.integration.core.remote.conftest import Hand, make_remote, state
from tests.integration.core.remote.test_way import silence
from tests.processes import eventually
from tests.upstreams import fake
from tests.upstreams.replicate import Replicate

KEY = base64.b64encode(b"k" * 24).decode()
SECRET = f"whsec_{KEY}"


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UPSTREAM_WEBHOOK_SECRET", SECRET)


def hooked(upstream: Replicate) -> None:
    make_remote(
        upstream, settings={"webhooks": True, "webhook_secret": "env:UPSTREAM_WEBHOOK_SECRET"}
    )


def signed(body: bytes, *, at: float = 0.0, key: bytes = b"k" * 24) -> dict[str, Any]:
    moment = str(int(at or time.time()))
    code = hmac.new(key, f"msg_1.{moment}.".encode() + body, hashlib.sha256).digest()
    return {
        "HTTP_WEBHOOK_ID": "msg_1",
        "HTTP_WEBHOOK_TIMESTAMP": moment,
        "HTTP_WEBHOOK_SIGNATURE": f"v1,{base64.b64encode(code).decode()}",
    }


def post(url: str, body: bytes, **headers: Any) -> int:
    path = url[url.index("/webhooks/") :]
    answer = Client().post(path, body, content_type="application/json", **headers)
    return answer.status_code


def told(upstream: Replicate, attempt: Attempt) -> tuple[str, bytes]:
    return upstream.webhook(attempt.upstream_id)


def test_a_webhook_makes_us_ask_now(hand: Hand, upstream: Replicate) -> None:
    hooked(upstream)
    attempt = hand.send()
    url, body = told(upstream, attempt)
    assert post(url, body, **signed(body)) == 200
    polling.round_of("default", hand.engine)  # nobody has to wait
    hand.land()
    assert (state(attempt), upstream.count("get")) == (("success", ""), 1)
    # The same once more, and one out of order, change nothing.
    assert post(url, body, **signed(body)) == 200
    earlier = json.dumps({"id": attempt.upstream_id, "status": "processing"}).encode()
    assert post(url, earlier, **signed(earlier)) == 200
    assert scenes.history(attempt.task_id) == ["submitted", "claimed", "succeeded"]


def test_a_webhook_before_the_submission_is_answered(hand: Hand, upstream: Replicate) -> None:
    hooked(upstream)
    upstream.faults["create"] = [fake.after(1.0)]
    attempt = hand.begin()
    (prediction,) = eventually(lambda: list(upstream.predictions))
    url, body = upstream.webhook(prediction)
    assert post(url, body, **signed(body)) == 200
    polling.round_of("default", hand.engine)
    eventually(lambda: state(attempt) == ("success", ""))
    assert upstream.of("create") and not hand.engine.drained(0), "its answer has not come yet"
    hand.land()
    assert (state(attempt), upstream.count("create")) == (("success", ""), 1)
    assert upstream.count("cancel") == 0


def test_a_webhook_tells_the_id_that_a_dead_submitter_did_not(
    hand: Hand, upstream: Replicate
) -> None:
    hooked(upstream)
    upstream.faults["create"] = [fake.done_then_reset]
    attempt = hand.send()
    assert (attempt.upstream_id, state(attempt)) == ("", ("running", ""))
    (prediction,) = upstream.predictions
    url, body = upstream.webhook(prediction)
    assert post(url, body, **signed(body)) == 200
    polling.round_of("default", hand.engine)
    hand.land()
    assert (state(attempt), upstream.count("create")) == (("success", ""), 1)


def test_without_a_webhook_its_outcome_stays_unknown(hand: Hand, upstream: Replicate) -> None:
    hooked(upstream)
    upstream.faults["create"] = [fake.done_then_reset]
    attempt = hand.ask(hand.send())
    assert state(attempt) == ("running", ""), "its webhook may still be on its way"
    silence(attempt)
    assert state(hand.ask(attempt)) == ("failed", "outcome_unknown")
    # The webhook comes all the same: history, once.
    (prediction,) = upstream.predictions
    url, body = upstream.webhook(prediction)
    for _ in range(2):
        assert post(url, body, **signed(body)) == 200
    assert Event.objects.filter(kind="late_result").count() == 1
    assert state(attempt) == ("failed", "outcome_unknown")


def test_who_is_not_believed(hand: Hand, upstream: Replicate) -> None:
    upstream.seconds = 60
    hooked(upstream)
    attempt, other = hand.send("a boat"), hand.send("another")
    url, _ = told(upstream, attempt)
    done = {"id": attempt.upstream_id, "status": "failed", "error": "x"}
    body = json.dumps(done).encode()
    theirs = json.dumps(done | {"id": other.upstream_id}).encode()
    assert post(url, body) == 403
    assert post(url, body, **signed(body, key=b"j" * 24)) == 403
    assert post(url, body, **signed(body + b" ")) == 403
    assert post(url, body, **signed(body, at=time.time() - 400)) == 403
    assert post(url, body, **signed(body, at=time.time() + 400)) == 403
    assert post(url, theirs, **signed(theirs)) == 403
    assert post(url[:-1] + ("a" if url[-1] != "a" else "b"), body, **signed(body)) == 404
    assert post(url.replace("/far/", "/near/"), body, **signed(body)) == 404
    assert post("/webhooks/far/" + "x" * 500, body, **signed(body)) == 404
    assert post(url, b"<html>", **signed(b"<html>")) == 400
    assert Client().get(url[url.index("/webhooks/") :]).status_code == 405
    before = Attempt.objects.get(pk=attempt.pk)
    assert (before.webhook_at, before.polls, state(attempt)) == (None, 0, ("running", ""))
    assert upstream.count("get") == 0


def test_a_body_that_is_too_large_is_not_read(hand: Hand, upstream: Replicate) -> None:
    assert bodies.most("/webhooks/far/token") == bodies.WEBHOOK
    hooked(upstream)
    url, _ = told(upstream, hand.send())
    body = b" " * (bodies.WEBHOOK + 1)
    assert post(url, body, **signed(body)) == 400


def test_a_secret_that_is_missing_lets_the_upstream_try_again(
    hand: Hand, upstream: Replicate, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooked(upstream)
    attempt = hand.send()
    url, body = told(upstream, attempt)
    monkeypatch.delenv("UPSTREAM_WEBHOOK_SECRET")
    assert post(url, body, **signed(body)) == 503
    monkeypatch.setenv("UPSTREAM_WEBHOOK_SECRET", SECRET)
    assert post(url, body, **signed(body)) == 200


def test_a_webhook_for_a_generator_that_takes_none(hand: Hand, upstream: Replicate) -> None:
    make_remote(upstream)
    attempt = hand.send()
    body = b"{}"
    assert "webhook" not in upstream.of("create")[0].json
    url = f"http://h/webhooks/far/{attempt.webhook_token}"
    assert post(url, body, **signed(body)) == 404


def test_a_webhook_while_somebody_asks_is_asked_about_again(
    hand: Hand, upstream: Replicate
) -> None:
    hooked(upstream)
    upstream.scripts["a boat"] = [{"status": "processing", "output": None}]
    attempt = hand.send()
    upstream.faults["get"] = [fake.after(0.7)]
    Attempt.objects.update(next_poll_at=Now())
    polling.round_of("default", hand.engine)
    eventually(lambda: upstream.count("get") == 1)
    url, body = told(upstream, attempt)
    assert post(url, body, **signed(body)) == 200
    hand.land()
    assert state(attempt) == ("running", "")
    polling.round_of("default", hand.engine)
    hand.land()
    assert state(attempt) == ("success", ""), "an older answer must not overrule the webhook"


def test_a_webhook_after_a_cancel_shows_that_it_has_stopped(
    hand: Hand, upstream: Replicate
) -> None:
    upstream.seconds = 60
    hooked(upstream)
    attempt = hand.send()
    cancellation.cancel(attempt.task_id, hand.user.pk)
    polling.round_of("default", hand.engine)
    hand.land()
    url, body = told(upstream, attempt)
    assert json.loads(body)["status"] == "canceled"
    assert post(url, body, **signed(body)) == 200
    polling.round_of("default", hand.engine)
    hand.land()
    assert scenes.outcomes_of(attempt.task_id) == ["revoked"]
    sweep()
    assert scenes.slots_taken() == 0
