"""Remote work done by hand, one step at a time: the engine is real, so are the upstreams."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any

import pytest
from django.db.models.functions import Now
from pytest_django import Settings

from tasks_app.core import submission
from tasks_app.core.claim import Claim, claim_next
from tasks_app.core.remote import polling, submitting
from tasks_app.core.remote.engine import Engine
from tasks_app.core.submission import Wish
from tasks_app.gates import keys, slots
from tasks_app.models import Attempt, Generator, Task
from tests.upstreams.fake import Fake
from tests.upstreams.replicate import TOKEN, Replicate

LANDING = 20.0


@pytest.fixture(autouse=True)
def _upstreams_here(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' upstreams are on loopback, and their secrets in this process."""
    settings.DARKROOM = settings.DARKROOM | {
        "fetch_allow": (ip_network("127.0.0.0/8"),),
        "poll_failing_seconds": 60.0,
    }
    monkeypatch.setenv("UPSTREAM_TOKEN", TOKEN)
    monkeypatch.setattr("tasks_app.maintenance.remote.database_age", lambda: 1e9)
    monkeypatch.setattr("tasks_app.maintenance.sweep.database_age", lambda: 1e9)


@pytest.fixture
def engine(transactional_db: None) -> Iterator[Engine]:
    """Return an engine, as a worker process has one."""
    made = Engine()
    yield made
    made.drained(LANDING)
    made.stop()


@pytest.fixture
def upstream() -> "Iterator[Replicate]":
    """Return an upstream that is done at once."""
    made = Replicate()
    yield made
    made.stop()


def make_remote(upstream: Fake, name: str = "far", **fields: Any) -> Generator:
    """Make a generator whose work is done by this upstream."""
    settings = {
        "base_url": upstream.url,
        "credential": "env:UPSTREAM_TOKEN",
        "version": "v1",
        **fields.pop("settings", {}),
    }
    values = {"title": name, "adapter": "replicate", "max_running": 100, **fields}
    return Generator.objects.create(name=name, settings=settings, **values)


@dataclass
class Hand:
    """Does what worker, polls worker and sweep do, when a test says so."""

    engine: Engine
    user: Any

    def submit(self, prompt: str = "a boat", generator: str = "far", **params: Any) -> Task:
        """Submit a task."""
        wish = Wish(generator, {"prompt": prompt, **params})
        return Task.objects.get(pk=submission.submit(self.user, wish).task_id)

    def claim(self) -> Claim:
        """Claim a task; there must be one."""
        found = claim_next("default", "by hand")
        assert found is not None
        return found

    def begin(self, prompt: str = "a boat", **params: Any) -> Attempt:
        """Submit and claim a task and begin its submission upstream, without waiting for it."""
        self.submit(prompt, **params)
        claim = self.claim()
        submitting.begin(claim, self.engine)
        return claim.attempt

    def send(self, prompt: str = "a boat", **params: Any) -> Attempt:
        """Begin a submission upstream and wait for what comes of it."""
        attempt = self.begin(prompt, **params)
        self.land()
        return Attempt.objects.select_related("task").get(pk=attempt.pk)

    def ask(self, attempt: Attempt) -> Attempt:
        """Let the time for a question come, and ask."""
        Attempt.objects.filter(pk=attempt.pk, ended_at=None).update(next_poll_at=Now())
        polling.round_of("default", self.engine)
        self.land()
        return Attempt.objects.select_related("task").get(pk=attempt.pk)

    def land(self) -> None:
        """Wait until nothing is in flight."""
        assert self.engine.drained(LANDING), "something is still in flight"


def state(attempt: Attempt) -> tuple[str, str]:
    """Return the state of an attempt's task and its error."""
    task = Task.objects.get(pk=attempt.task_id)
    return task.state, task.error_code


def held() -> int:
    """Return how many slots are taken."""
    return slots.used([keys.slots_all()])[0]


@pytest.fixture
def hand(engine: Engine, alice: Any, open_slots: None) -> Hand:
    """Return what does things by hand."""
    return Hand(engine, alice)


Remote = Callable[..., Generator]
