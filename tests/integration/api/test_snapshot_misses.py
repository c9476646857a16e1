"""What a poll says in the moment in which its snapshot has run out."""

from typing import Any
from uuid import UUID

import pytest

from tasks_app.core import queries
from tasks_app.gates import keys, snapshots
from tasks_app.gates.connection import client
from tasks_app.models import Generator
from tasks_app.results import links
from tasks_app.results.links import Link
from tests.integration.helpers import claimed, submit

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("open_slots")]


def progress_of(user: Any, task_id: Any) -> int:
    return int(queries.view(task_id, user.pk).document["progress"])


def test_progress_does_not_fall_back_when_the_snapshot_runs_out(
    alice: Any, sleeper: Generator
) -> None:
    task = submit(alice)
    claimed()
    client().set(keys.progress(task.pk), "1:36")
    assert progress_of(alice, task.pk) == 36
    snapshots.forget([task.pk])
    assert progress_of(alice, task.pk) == 36


def test_a_link_stays_the_same_for_a_while_so_that_browsers_can_keep_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    link = Link(UUID(int=7), thumbnail=True, download=False)
    start = 1_800_000_000.0
    tokens = []
    for later in (0, 140, 160, 299):
        monkeypatch.setattr("time.time", lambda later=later: start + later)
        tokens.append(links.sign(link))
        assert links.read(tokens[0]) == link
    assert tokens[0] == tokens[1] != tokens[2] == tokens[3]
    monkeypatch.setattr("time.time", lambda: start + 301)
    assert links.read(tokens[0]) is None
