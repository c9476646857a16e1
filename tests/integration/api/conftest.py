"""Callers: alice, who owns things, and bob, who must be refused."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.api.caller import Caller


@pytest.fixture
def as_alice(alice: Any, key_of: Callable[[Any], str]) -> Caller:
    """Return alice's client."""
    return Caller(key_of(alice))


@pytest.fixture
def as_bob(bob: Any, key_of: Callable[[Any], str]) -> Caller:
    """Return bob's client."""
    return Caller(key_of(bob))
