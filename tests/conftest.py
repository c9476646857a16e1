"""Fixtures that all tests may use: people, generators, a clean Redis."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.utils import translation
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from pytest_django import Settings

from tasks_app.api.openapi import document
from tasks_app.core import accounts, credentials, queries, warm
from tasks_app.gates import figures, slots
from tasks_app.gates.connection import client, forget_failures
from tasks_app.models import Generator
from tests import artists

# How long an example takes depends on what else the machine does: no test fails for that.
hypothesis_settings.register_profile(
    "unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.load_profile("unhurried")

FAST: dict[str, Any] = {
    "lease": 3.0,
    "claim_lease": 2.0,
    "grace": 3.0,
    "slot_fence": 0.5,
    "control_interval": 0.05,
    "tick_interval": 0.1,
    "figures_interval": 0.2,
    "sweep_interval": 0.3,
    "worker_drain": 2.0,
}
"""Leases and periods at about a twentieth."""


@pytest.fixture(autouse=True)
def _clean_state(settings: Settings) -> Iterator[None]:
    """Start every test with an empty Redis and empty caches in this process."""
    settings.DARKROOM = settings.DARKROOM | FAST
    client().flushdb()
    for clear in (
        credentials.clear_caches,
        queries.clear_caches,
        warm.clear,
        figures.clear_cache,
        document.clear_cache,
        forget_failures,
        translation.deactivate,  # a page leaves its language to whoever comes next
    ):
        clear()
    yield


@pytest.fixture
def open_slots() -> None:
    """Declare the slot sets complete, so that a claim need not wait for the fence."""
    slots.restore([])


def make_user(name: str, **limits: Any) -> Any:
    """Make a user whose account has these limits (default: none that a test would meet)."""
    # One round instead of a million: any process can still check it.
    password = PBKDF2PasswordHasher().encode(f"{name}-password", "salt", 1)
    user = get_user_model().objects.create(username=name, password=password)
    account = accounts.account_of(user)
    lifted = {"max_open": 10_000, "max_running": 1_000, "submit_interval": 0.0, "submit_burst": 1}
    for field, value in {**lifted, **limits}.items():
        setattr(account, field, value)
    account.save()
    return user


@pytest.fixture
def alice(db: None) -> Any:
    """Return a user without limits."""
    return make_user("alice")


@pytest.fixture
def bob(db: None) -> Any:
    """Return the one who must be refused."""
    return make_user("bob")


def make_generator(name: str = "sleeper", artist: str = "sleeper", **fields: Any) -> Generator:
    """Make a generator that calls one of the tests' artists."""
    settings = {"callable": f"tests.artists:{artist}", "parameters": artists.SCHEMA}
    defaults: dict[str, Any] = {
        "title": name.title(),
        "adapter": "python",
        "settings": settings,
        "max_running": 1_000,
        "timeout_seconds": 60.0,
        "expected_seconds": 1.0,
    }
    return Generator.objects.create(name=name, **{**defaults, **fields})


@pytest.fixture
def sleeper(db: None) -> Generator:
    """Return a generator that sleeps as long as it is told."""
    return make_generator()


@pytest.fixture
def key_of() -> Callable[[Any], str]:
    """Return a function that makes an API key for a user."""
    return lambda user: credentials.create(user, "test")[1]
