"""A real service for the tests here."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tasks_app.core import credentials
from tasks_app.management.commands.bootstrap import ensure_sketch
from tests.conftest import make_user
from tests.processes import Service


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
