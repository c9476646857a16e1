"""Endings that other people's code makes hard, and files that must not be left behind."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import OperationalError
from django.db.models.functions import Now

from tasks_app.core import execution, queries, results, warm
from tasks_app.gates import keys, slots
from tasks_app.gates.connection import client
from tasks_app.generators.base import Output
from tasks_app.generators.errors import MAX_DETAIL, GeneratorError
from tasks_app.lifecycle import ErrorCode
from tasks_app.maintenance import ticker
from tasks_app.maintenance.sweep import sweep
from tasks_app.maintenance.ticker import Chore
from tasks_app.models import Artifact, Generator, Task
from tasks_app.results import store
from tests import artists
from tests.integration.helpers import claimed, shift, submit

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("open_slots")]


def run(user: Any, monkeypatch: pytest.MonkeyPatch, made: Any) -> Task:
    """Run one task whose generator returns, or raises, ``made``."""
    submit(user)
    one = claimed()
    adapter: Any = warm.adapter(one.generator)

    def generate(*_: object) -> Iterator[Output]:
        if isinstance(made, BaseException):
            raise made
        yield made

    monkeypatch.setattr(adapter, "generate", generate)
    execution.run(one, client(), lambda _: None)
    return Task.objects.get(pk=one.task.pk)


def files() -> set[Path]:
    folder = Path(django_settings.MEDIA_ROOT)
    return {path for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (GeneratorError(ErrorCode.CONTENT_REJECTED, "bad\x00 \ud800thing"), "content_rejected"),
        (GeneratorError("content_rejected", "x"), "content_rejected"),  # type: ignore[arg-type]
        (GeneratorError("no such code", "x"), "internal"),  # type: ignore[arg-type]
        (GeneratorError(ErrorCode.UPSTREAM_REJECTED, "x" * 3_000_000), "upstream_rejected"),
    ],
)
def test_whatever_a_generator_says_of_its_failure_can_be_stored(
    alice: Any,
    sleeper: Generator,
    monkeypatch: pytest.MonkeyPatch,
    error: GeneratorError,
    code: str,
) -> None:
    task = run(alice, monkeypatch, error)
    assert (task.state, task.error_code, task.attempt_number) == ("failed", code, 1)
    assert len(task.error_detail) <= MAX_DETAIL


@pytest.mark.parametrize("seed", [2**63, "abc", True])
def test_a_seed_that_cannot_be_stored_is_refused_and_leaves_no_file(
    alice: Any, sleeper: Generator, monkeypatch: pytest.MonkeyPatch, seed: Any
) -> None:
    before = files()
    task = run(alice, monkeypatch, Output(artists.picture(), "image/png", seed))
    assert (task.state, task.error_code) == ("failed", "result_unusable")
    assert files() == before


def test_an_ending_that_cannot_be_written_is_a_failure_at_once(
    alice: Any, sleeper: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> bool:
        raise ValueError("a bug")

    monkeypatch.setattr("tasks_app.core.outcomes.succeeded", refuse)
    before = files()
    task = run(alice, monkeypatch, Output(artists.picture(), "image/png"))
    assert (task.state, task.error_code) == ("failed", "internal")
    assert files() == before
    assert slots.members(keys.slots_all()) == set()


def test_half_a_result_is_not_left_behind(
    alice: Any, sleeper: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk takes the picture and not its thumbnail, twice; then there is room."""
    save = store.storage().save
    found: list[list[Path]] = []

    def full(name: str, content: Any) -> str:
        if not name.endswith("-small.webp"):
            found.append(sorted(files()))
        elif len(found) < 3:
            raise OSError("No space left on device")
        return str(save(name, content))

    monkeypatch.setattr(store.storage(), "save", full)
    before = sorted(files())
    task = run(alice, monkeypatch, Output(artists.picture(), "image/png"))
    assert (task.state, task.attempt_number) == ("success", 1)
    assert found == [before] * 3
    assert len(files()) == len(before) + 2


@pytest.fixture
def finished(alice: Any, sleeper: Generator, monkeypatch: pytest.MonkeyPatch) -> Task:
    task = run(alice, monkeypatch, Output(artists.picture(), "image/png"))
    assert task.state == "success"
    return task


def stored(task: Task) -> list[Path]:
    return [path for path in files() if str(task.pk) in str(path)]


def test_a_removal_that_is_cut_off_is_finished_by_the_sweep(
    finished: Task, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(*_: object) -> None:
        raise OperationalError("the connection is gone")

    with monkeypatch.context() as patch:
        patch.setattr(queries, "refresh", cut_off)
        with pytest.raises(OperationalError):
            results.remove_own(finished.pk, alice.pk)
    assert len(stored(finished)) == 2
    sweep()
    assert len(stored(finished)) == 2, "somebody may be deleting them this minute"
    Artifact.objects.update(removed_at=Now() - timedelta(minutes=2))
    assert sweep().counts["files deleted"] == 1
    assert stored(finished) == []
    assert sweep().counts["files deleted"] == 0


def test_files_that_cannot_be_deleted_are_told_and_tried_again(
    finished: Task, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: str) -> None:
        raise PermissionError("read-only")

    with monkeypatch.context() as patch:
        patch.setattr(store.storage(), "delete", refuse)
        assert results.remove_own(finished.pk, alice.pk)
        Artifact.objects.update(files_due_at=Now() - timedelta(minutes=2))
        assert sweep().troubles == ["files: 1 removed results cannot be deleted"]
    assert sweep().counts["files deleted"] == 0, "not at once"
    Artifact.objects.update(files_due_at=Now() - timedelta(minutes=2))
    assert sweep().counts["files deleted"] == 1
    assert stored(finished) == []


def test_junk_in_redis_stops_neither_sweep_nor_ticker(alice: Any, sleeper: Generator) -> None:
    junk = {"no claim": 9e15}
    client().zadd(keys.slots_all(), junk)
    client().zadd(keys.slots_full_owners(), {"nobody": 9e15})
    client().hset(keys.credentials_used(), "no digest", "no moment")
    submit(alice)
    for chore in ticker.chores():
        ticker.do(chore)
    assert sweep().troubles == []
    assert client().zscore(keys.slots_all(), "no claim") is None
    assert claimed() is not None


def test_a_chore_that_fails_does_not_end_the_ticker(caplog: pytest.LogCaptureFixture) -> None:
    def fails() -> None:
        raise ValueError("whatever it is")

    ticker.do(Chore("a chore", 1.0, fails))
    assert "a chore failed" in caplog.text


def test_one_task_that_cannot_be_repaired_does_not_stand_before_the_others(
    alice: Any, sleeper: Generator
) -> None:
    bad, good = submit(alice, max_wait=60.0), submit(alice, max_wait=60.0)
    Task.objects.update(give_up_at=Now() - timedelta(seconds=5))
    shift(bad, "created_at", 86_400.0)  # a row that the table refuses to end
    report = sweep()
    assert report.counts["waited too long"] == 1
    assert str(bad.pk) in report.troubles[0]
    good.refresh_from_db()
    assert good.state == "timeout"
