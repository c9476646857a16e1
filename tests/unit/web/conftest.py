"""People who are logged in, and a task."""

from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from tasks_app.core import submission
from tasks_app.core.submission import Wish
from tests.conftest import make_generator

HOSTILE = "</script><img src=x onerror=alert(1)>\u2028'\"&{{ 1 }}"


@pytest.fixture
def visitor(alice: Any) -> Client:
    """Return alice's browser."""
    browser = Client()
    browser.force_login(alice)
    return browser


@pytest.fixture
def task_id(alice: Any) -> UUID:
    """Return a task of alice, whose prompt is not nice."""
    make_generator()
    return submission.submit(alice, Wish("sleeper", {"prompt": HOSTILE})).task_id
