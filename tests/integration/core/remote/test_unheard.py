"""Predictions of cog whose last webhook is lost: nobody can ask what became of them."""

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db.models import Sum
from django.db.models.functions import Now
from django.test import Client

from tasks_app.core import cancellation
from tasks_app.generators import registry
from tasks_app.generators.errors import InvalidSettings
from tasks_app.models import Attempt, DayUse, Generator, Task
from tests import scenes
from tests.integration.core.remote.conftest import Hand, held, state
from tests.integration.core.remote.test_way import silence
from tests.upstreams import fake
from tests.upstreams.fake import PICTURE, Answer, Fake, Seen

BORN = datetime(2026, 1, 1, tzinfo=UTC)


class Server(Fake):
    """What a server of cog says of itself, and of the one prediction that it runs."""

    def __init__(self) -> None:
        super().__init__()
        self.health = "BUSY"
        self.born = BORN
        self.hooks: list[str] = []

    def name_of(self, seen: Seen) -> str:
        if seen.path == "/health-check":
            return "health"
        return "put" if seen.method == "PUT" else "cancel"

    def answer(self, seen: Seen) -> Answer:
        match self.name_of(seen):
            case "health":
                setup = {"started_at": self.born.isoformat(), "status": "succeeded"}
                return Answer(200, {"status": self.health, "setup": setup})
            case "put":
                self.hooks.append(seen.json["webhook"])
                self.health = "BUSY"
                name = seen.path.rpartition("/")[2]
                return Answer(202, {"id": name, "status": "starting"})
        return Answer(200, {}) if self.health == "BUSY" else Answer(404, {})


@pytest.fixture
def server() -> Iterator[Server]:
    """Return a server whose prediction goes on until it is told that it has room."""
    made = Server()
    yield made
    made.stop()


def make(server: Server, **settings: Any) -> Generator:
    return Generator.objects.create(
        name="far",
        title="Far",
        adapter="cog",
        max_running=5,
        settings={"base_url": server.url, "webhooks": True, **settings},
    )


def long_ago(seconds: float) -> None:
    """Let the submission, and what fails since then, be of so many seconds ago."""
    moment = Now() - timedelta(seconds=seconds)
    Attempt.objects.update(submit_started_at=moment)
    Attempt.objects.filter(poll_failures__gt=0).update(failing_since=moment, poll_failures=2)


def used() -> int:
    return int(DayUse.objects.aggregate(number=Sum("number", default=0))["number"])


def finished(server: Server, attempt: Attempt) -> None:
    """Let the webhook come that the server has sent again and again."""
    output = f"data:image/png;base64,{base64.b64encode(PICTURE).decode()}"
    body = {"id": str(attempt.pk), "status": "succeeded", "output": output}
    path = server.hooks[0][server.hooks[0].index("/webhooks/") :]
    answer = Client().post(path, json.dumps(body), content_type="application/json")
    assert answer.status_code == 200


def test_a_server_that_has_room_has_ended_it_and_its_word_is_waited_for(
    hand: Hand, server: Server
) -> None:
    make(server, slots=1)
    attempt = hand.send()
    assert (state(hand.ask(attempt)), used()) == (("running", ""), 1)
    server.health = "READY"
    long_ago(60)
    for seconds in (100, 300, 470):
        attempt = hand.ask(attempt)
        assert (state(attempt), held()) == (("running", ""), 1), "it may still come"
        long_ago(seconds)
    long_ago(481)
    attempt = hand.ask(attempt)
    assert (state(attempt), held(), used()) == (("failed", "outcome_unknown"), 0, 0)
    assert "webhook with its result has not come" in Task.objects.get().error_detail
    assert server.count("put") == 1
    finished(server, attempt)
    assert scenes.history(attempt.task_id)[-1] == "late_result"


def test_a_word_that_comes_late_is_a_result(hand: Hand, server: Server) -> None:
    make(server, slots=1)
    attempt = hand.send()
    server.health = "READY"
    long_ago(60)
    hand.ask(attempt)
    long_ago(470)
    finished(server, attempt)
    assert state(hand.ask(attempt)) == ("success", "")


def test_a_server_of_unknown_size_may_have_room_beside_it(hand: Hand, server: Server) -> None:
    make(server)
    attempt = hand.send()
    server.health = "READY"
    long_ago(5_000)
    attempt = hand.ask(attempt)
    assert (state(attempt), attempt.poll_failures, server.count("put")) == (("running", ""), 0, 1)


def test_what_is_free_to_repeat_is_made_anew(hand: Hand, server: Server) -> None:
    make(server, free_to_repeat=True)
    attempt = hand.send()
    attempt = hand.ask(attempt)
    assert server.count("put") == 1, "while it runs nobody asks by that"
    server.health = "READY"
    attempt = hand.ask(attempt)
    assert (state(attempt), server.count("put")) == (("running", ""), 2)
    assert server.hooks[0] == server.hooks[1]
    assert server.of("put")[0].path == server.of("put")[1].path
    server.born = datetime.now(UTC) + timedelta(seconds=60)  # started anew since the submission
    assert state(hand.ask(attempt)) == ("running", "")
    assert server.count("put") == 3
    finished(server, attempt)
    assert (state(hand.ask(attempt)), held()) == (("success", ""), 0)


def test_nothing_is_made_anew_after_a_cancel(
    hand: Hand, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    make(server, free_to_repeat=True, slots=1)
    attempt = hand.send()
    cancellation.cancel(attempt.task_id, hand.user.pk)
    hand.ask(attempt)
    assert server.count("cancel") == 1
    assert "no webhook of it ever came" in caplog.text
    server.health = "READY"
    long_ago(5)
    attempt = hand.ask(attempt)
    assert (state(attempt), attempt.outcome, held()) == (("failed", "canceled"), "revoked", 0)
    assert server.count("put") == 1


def test_a_submission_without_an_answer_is_sent_again_if_that_is_free(
    hand: Hand, server: Server
) -> None:
    make(server, free_to_repeat=True)
    server.faults["put"] = [fake.reset]
    attempt = hand.send()
    silence(attempt)
    attempt = hand.ask(attempt)
    assert (state(attempt), attempt.upstream_id) == (("running", ""), str(attempt.pk))
    assert (server.count("put"), Attempt.objects.count()) == (2, 1)


def test_full_servers_are_asked_later(hand: Hand, server: Server) -> None:
    make(server, free_to_repeat=True)
    attempt = hand.send()
    server.health = "READY"
    server.faults["put"] = [fake.status(409)]
    attempt = hand.ask(attempt)
    assert (state(attempt), attempt.poll_failures) == (("running", ""), 0)


@pytest.mark.parametrize("slots", [0, "1", True])
def test_slots_that_are_none(server: Server, slots: Any) -> None:
    with pytest.raises(InvalidSettings, match="slots"):
        registry.build("cog", {"base_url": server.url, "webhooks": True, "slots": slots})
