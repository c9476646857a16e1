"""A real service for the tests here."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connections

from tasks_app.core import credentials
from tasks_app.management.commands.bootstrap import ensure_sketch
from tests.conftest import make_user
from tests.processes import Service

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.acceptance.house import House


@dataclass(frozen=True)
class Running:
    """A service with `sketch`, one worker and one user."""

    url: str
    user: str
    password: str
    api_key: str
    account: Any
    service: Service


@pytest.fixture
def service(transactional_db: None, tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Return a function that makes services; they end with the test."""
    made: list[Service] = []

    def make(**environment: str) -> Service:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Service(folder, **environment))
        return made[-1]

    yield make
    for one in made:
        one.stop()
    shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.fixture
def running(service: Callable[..., Service]) -> Running:
    """Return a service that draws."""
    ensure_sketch()
    user = make_user("demo")
    _, key = credentials.create(user, "test")
    one = service()
    one.web()
    one.workers(1)
    one.ticker()
    return Running(one.url, "demo", "demo-password", key, user, one)


# --- for pages: one service and one browser for all tests of a module ----------------------
# Its tests carry the mark `django_db`, which makes the test database; what they see was
# committed before they began, and they themselves touch no table.


@pytest.fixture(scope="module")
def house(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> "Iterator[House]":
    """Return the service of a module."""
    from tests.acceptance.house import opened

    with django_db_blocker.unblock(), opened(tmp_path_factory.mktemp("house")) as one:
        yield one


@pytest.fixture(scope="module")
def browser(house: "House") -> "Iterator[Browser]":
    """Return the browser of a module.

    Django sees Playwright's event loop around the tests and refuses to open and close their
    (empty) transactions beside it; nothing here is concurrent.
    """
    from tests.acceptance.browser import chromium

    with pytest.MonkeyPatch.context() as patch, chromium() as one:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        yield one
        connections.close_all()  # those that Django opened beside the loop are known only here
