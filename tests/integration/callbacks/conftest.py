"""A deliverer within the test's own process, over real sockets and the real tables."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from django.db.models.functions import Now
from pytest_django import Settings

from tasks_app.callbacks import outbox
from tasks_app.callbacks.delivery import Deliverer
from tasks_app.callbacks.networks import Address
from tasks_app.callbacks.resolving import Unresolved
from tasks_app.lifecycle import CallbackEvent
from tasks_app.models import Callback
from tests.receivers import Authority

LOOPBACK = (ip_network("127.0.0.1/32"), ip_network("::1"))
"""What these tests open: other addresses of loopback stand for what is inside a network."""


@dataclass
class Names:
    """A resolver of which tests know what it says: a list for each question, the last for ever."""

    answers: dict[str, list[list[str]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def __call__(self, host: str, port: int) -> list[Address]:
        self.asked.append(host)
        if host not in self.answers:
            raise Unresolved(host)
        turns = self.answers[host]
        found = turns.pop(0) if len(turns) > 1 else turns[0]
        return [ip_address(one) for one in found]


@pytest.fixture
def open_loopback(settings: Settings) -> None:
    """Let callbacks go to 127.0.0.1 and ::1, with plain http."""
    settings.DARKROOM = settings.DARKROOM | {"callback_allow": LOOPBACK}


@pytest.fixture(scope="session")
def authority() -> Authority:
    """Return an authority for certificates."""
    return Authority()


@pytest.fixture
def names() -> Names:
    """Return the resolver of this test."""
    return Names()


@pytest.fixture
def deliverer(
    transactional_db: None, open_loopback: None, names: Names, authority: Authority
) -> Iterator[Deliverer]:
    """Return a deliverer that runs."""
    one = Deliverer(resolve=names, context=authority.client())
    one.start()
    yield one
    one.stop()


@pytest.fixture
def tell(alice: Any) -> Callable[..., Callback]:
    """Return a function that puts an event into the outbox of alice."""

    def write(url: str, body: bytes = b'{"type":"task.success"}', **fields: Any) -> Callback:
        owner = fields.pop("owner", alice)
        event = fields.pop("event", CallbackEvent.SUCCESS)
        return outbox.write(owner.pk, None, event, url, body)

    return write


def deliver(deliverer: Deliverer) -> None:
    """Attempt what is due, and wait until that is settled."""
    deliverer.look()
    assert deliverer.wait_idle(30)


def make_due(**which: Any) -> None:
    """Let the time of the next attempts come: the virtual clock of these tests."""
    Callback.objects.filter(state="pending", **which).update(next_attempt_at=Now())
