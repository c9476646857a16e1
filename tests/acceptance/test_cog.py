"""Cog's own server as an upstream: webhooks, cancels, full slots, and deaths in the middle.

What cog ran is counted in its log, not in ours.
"""

import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx
import pytest

from tasks_app.core import cancellation
from tasks_app.models import Artifact, Attempt, Generator, Task, Webhook
from tests import scenes
from tests.processes import Service, eventually, kill_group
from tests.upstreams import fake
from tests.upstreams.cog.server import Cog
from tests.upstreams.fake import Answer, Fake, Seen

Services = Callable[..., Service]

SCHEMA = {
    "type": "object",
    "required": ["prompt"],
    "properties": {
        "prompt": {"type": "string", "title": "Prompt"},
        "seconds": {"type": "number", "title": "Seconds", "default": 0.0},
    },
}


@pytest.fixture(scope="module")
def cog() -> Iterator[Cog]:
    """Return a running server of cog, for all tests here: it takes its time to start."""
    made = Cog()
    made.start()
    yield made
    made.stop()


class Front(Fake):
    """What stands between Darkroom and cog, and may be slow to pass an answer on."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._target = url

    def name_of(self, seen: Seen) -> str:
        return "create" if seen.method == "PUT" else "other"

    def answer(self, seen: Seen) -> Answer:
        passed = ("prefer", "content-type")
        headers: dict[str, str] = {
            name: value for name, value in seen.headers.items() if name in passed
        }
        reply = httpx.request(
            seen.method,
            self._target + seen.path,
            content=seen.body,
            headers=headers,
            trust_env=False,
        )
        return Answer(reply.status_code, reply.content, {"Date": reply.headers["date"]})


def make_cog(url: str, name: str = "cog", **fields: Any) -> Generator:
    settings = {
        "base_url": url,
        "webhooks": True,
        "parameters": SCHEMA,
        "poll_base": 0.2,
        "poll_cap": 1,
    }
    values = {"title": name, "adapter": "cog", "max_running": 5, "failure_budget": 1, **fields}
    return Generator.objects.create(name=name, settings=settings, **values)


@dataclass
class Darkroom:
    """A service whose workers can be killed."""

    service: Service
    user: Any

    def submit(self, generator: Generator, prompt: str, **params: Any) -> UUID:
        return scenes.submit(self.user, generator, prompt, **params)


@pytest.fixture
def darkroom(service: Services, alice: Any) -> Darkroom:
    """Return a service with a worker that submits and one that asks."""
    made = service(DARKROOM_POLL_FAILING_SECONDS="1", DARKROOM_GRACE="20")
    made.web()
    made.ticker()
    made.workers(1, "default-polls")
    return Darkroom(made, alice)


class Losing(Fake):
    """What stands between cog and Darkroom, and loses last words until it is told not to."""

    def __init__(self) -> None:
        super().__init__()
        self.target, self.lost, self.losing = "", 0, True

    def name_of(self, seen: Seen) -> str:
        return "webhook"

    def answer(self, seen: Seen) -> Answer:
        if self.losing and seen.json["status"] == "succeeded":
            self.lost += 1
            return Answer(500)
        reply = httpx.post(
            self.target + seen.path, content=seen.body, headers=seen.headers, trust_env=False
        )
        return Answer(reply.status_code, reply.content)


def test_a_last_word_that_is_lost(service: Services, alice: Any, cog: Cog) -> None:
    """On hardware of one's own it is made anew, under the same id."""
    way = Losing()
    darkroom = service(DARKROOM_WEBHOOK_URL=way.url)
    way.target = darkroom.url
    generator = make_cog(cog.url, "own")
    generator.settings |= {"free_to_repeat": True}
    generator.save()
    darkroom.web()
    darkroom.ticker()
    darkroom.workers(1, "default-polls")
    darkroom.workers(1)
    task_id = scenes.submit(alice, generator, "lost", seconds=0.3)
    eventually(lambda: cog.lines("begin").count("lost") >= 2, why="it is made anew")
    assert way.lost > 0
    way.losing = False
    eventually(scenes.in_state(task_id, "success"))
    assert scenes.outcomes_of(task_id) == ["success"]
    assert scenes.has_its_files(task_id)
    way.stop()


def test_predictions_of_all_kinds(darkroom: Darkroom, cog: Cog) -> None:
    generator, front = make_cog(cog.url), Front(cog.url)
    late = make_cog(front.url, "late")
    front.faults["create"] = [fake.after(2.0)]
    darkroom.service.workers(1)
    submit = darkroom.submit

    # One whose webhooks come, the last one too, before the submission is answered.
    begun = len(cog.lines("begin"))
    early = submit(late, "early")
    eventually(lambda: "early" in cog.lines("done"))
    eventually(scenes.in_state(early, "success"))
    assert scenes.has_its_files(early)

    # A slow one, with progress; the next ones find all slots taken and wait, at no cost.
    slow = submit(generator, "slow", seconds=2.0)
    eventually(lambda: "slow" in cog.lines("begin"))
    others = [submit(generator, "fails: no such thing"), submit(generator, "another")]
    eventually(lambda: Attempt.objects.get(task_id=slow).progress > 0.2)
    eventually(scenes.in_state(slow, "success"))
    eventually(scenes.in_state(others[0], "failed/upstream_error"))
    eventually(scenes.in_state(others[1], "success"))
    assert "no such colour" in Task.objects.get(pk=others[0]).error_detail
    waited = [Attempt.objects.filter(task_id=pk, outcome="refused").exists() for pk in others]
    assert any(waited), "nobody found the slot taken"
    assert set(Task.objects.exclude(pk=others[0]).values_list("failures", flat=True)) == {0}

    # A cancel stops the predictor, and its slot is free as soon as that has stopped.
    canceled = submit(generator, "canceled", seconds=60.0)
    eventually(lambda: "canceled" in cog.lines("begin"))
    assert cancellation.cancel(canceled, darkroom.user.pk)
    eventually(lambda: cog.lines("stopped by CancelationException") == ["canceled"])
    eventually(lambda: scenes.outcomes_of(canceled) == ["revoked"])
    eventually(lambda: scenes.slots_taken() == 0)
    assert scenes.state_of(canceled) == "failed/canceled"

    counted = sorted(cog.lines("begin")[begun:])
    assert counted == ["another", "canceled", "early", "fails: no such thing", "slow"]
    eventually(lambda: not Webhook.objects.exists(), why="what was applied is not kept")
    assert Artifact.objects.count() == 3
    front.stop()


def test_workers_that_die_or_stop_while_they_submit(darkroom: Darkroom, cog: Cog) -> None:
    front = Front(cog.url)
    generator = make_cog(front.url)

    # Killed right after it sent: the webhook tells the id, so that somebody else goes on with it.
    front.faults["create"] = [fake.done_then_silent]
    (worker,) = darkroom.service.workers(1)
    sent = darkroom.submit(generator, "sent", seconds=1.0)
    eventually(lambda: "sent" in cog.lines("begin"))
    kill_group(worker)
    eventually(scenes.in_state(sent, "success"))
    assert scenes.outcomes_of(sent) == ["success"]

    # No answer, and no webhook ever: nobody sends it again.
    front.faults["create"] = [fake.reset]
    (worker,) = darkroom.service.workers(1)
    unknown = darkroom.submit(generator, "unknown")
    eventually(scenes.in_state(unknown, "failed/outcome_unknown"))

    # Told to stop: its submission ends first.
    front.faults["create"] = [fake.after(1.0)]
    stopped = darkroom.submit(generator, "stopped")
    eventually(lambda: front.count("create") == 3)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(10) == 0
    eventually(scenes.in_state(stopped, "success"))
    assert Attempt.objects.get(task_id=stopped).upstream_id

    counted = [prompt for prompt in cog.lines("begin") if prompt in ("sent", "unknown", "stopped")]
    assert (counted, front.count("create")) == (["sent", "stopped"], 3)
    front.stop()


def test_a_server_that_is_killed_in_the_middle(darkroom: Darkroom, cog: Cog) -> None:
    generator = make_cog(cog.url)
    darkroom.service.workers(1)
    task_id = darkroom.submit(generator, "a boat", seconds=60.0)
    eventually(lambda: "a boat" in cog.lines("begin"))
    time.sleep(2.5)  # what cog tells of its start is compared to whole seconds
    cog.kill()
    cog.start()
    eventually(scenes.in_state(task_id, "failed/upstream_error"))
    assert "started anew" in Task.objects.get(pk=task_id).error_detail
    # One that crashes by itself says so, and one that stays away is given up.
    crashed = darkroom.submit(generator, "crash")
    eventually(scenes.in_state(crashed, "failed/upstream_error"))
    cog.kill()
    cog.start()
    gone = darkroom.submit(generator, "gone", seconds=60.0)
    eventually(lambda: "gone" in cog.lines("begin"))
    cog.kill()
    eventually(scenes.in_state(gone, "failed/upstream_unreachable"))
    counted = [one for one in cog.lines("begin") if one in ("a boat", "crash", "gone")]
    assert counted == ["a boat", "crash", "gone"]
    cog.start()
