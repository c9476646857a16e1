"""A storage that refuses while upstreams are done: what was paid for waits, and is paid once."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from tasks_app.core import cancellation, storing
from tasks_app.core.remote import finishing, keeping, polling
from tasks_app.core.remote.engine import Engine
from tasks_app.gates import refusals
from tasks_app.gates.connection import client
from tasks_app.generators.base import Output
from tasks_app.generators.errors import GeneratorError
from tasks_app.generators.openai_images.adapter import OpenAIImagesAdapter
from tasks_app.generators.remote import Link, UpstreamAnswer
from tasks_app.maintenance.sweep import sweep
from tasks_app.models import Artifact, Attempt, Pressure, Task, Webhook
from tests import scenes
from tests.integration.core.remote.conftest import Hand, held, make_remote, state
from tests.integration.core.remote.test_synchronous import make, openai
from tests.integration.core.remote.test_way import silence
from tests.processes import eventually
from tests.upstreams import fake
from tests.upstreams.fake import PICTURE
from tests.upstreams.openai import OpenAI
from tests.upstreams.replicate import Replicate

__all__ = ["openai"]


@pytest.fixture
def refusing() -> Iterator[ExitStack]:
    """Let the storage refuse until this is closed."""
    with ExitStack() as until:
        until.enter_context(scenes.storage_refusing())
        yield until


def look_again() -> None:
    """Let the time for another look at the storage come."""
    for key in client().keys("*storage:looked"):
        client().delete(key)


def no_failure_upstream() -> bool:
    """Whether no submission counts as one that the upstream failed."""
    return all(failed == 0 for row in Pressure.objects.all() for _, _, failed in row.window)


# --- upstreams that have it still ------------------------------------------------------------


def test_a_result_is_asked_for_again_when_the_storage_works(
    hand: Hand, upstream: Replicate, refusing: ExitStack, settings: Any
) -> None:
    settings.DARKROOM = settings.DARKROOM | {"poll_failing_seconds": 0.0}
    make_remote(upstream)
    attempt = hand.ask(hand.send())
    assert refusals.known() and not storing.accepting(), "no worker claims anything"
    for _ in range(4):
        attempt = hand.ask(attempt)
    assert (state(attempt), attempt.poll_failures) == (("running", ""), 0)
    assert attempt.next_poll_at is not None
    assert upstream.count("file") == 1, "nothing is fetched for a storage that is known to refuse"
    refusing.close()
    look_again()
    attempt = hand.ask(attempt)
    assert (state(attempt), attempt.outcome, held()) == (("success", ""), "success", 0)
    assert scenes.has_its_files(attempt.task_id)
    assert not refusals.known() and no_failure_upstream()
    assert (upstream.count("create"), upstream.count("cancel")) == (1, 0)


def test_a_storage_that_fills_up_in_the_middle_leaves_no_file(
    hand: Hand, upstream: Replicate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Room for one of two pictures: neither stays, and both are there at last."""
    make_remote(upstream)
    links = [f"{upstream.url}/files/{n}.png" for n in range(2)]
    upstream.scripts["a boat"] = [{"status": "succeeded", "output": links}] * 2
    attempt = hand.send()
    folder = scenes.results_folder() / attempt.task_id.hex[:6] / str(attempt.task_id)
    room = _room_for(2, monkeypatch)  # a picture and its thumbnail
    attempt = hand.ask(attempt)
    assert state(attempt) == ("running", "")
    assert folder.is_dir() and not list(folder.iterdir())
    room.clear()
    look_again()
    assert state(hand.ask(attempt)) == ("success", "")
    assert Artifact.objects.count() == 2


def _room_for(files: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let the storage take so many files more; unlimited once the list is empty."""
    from django.core.files.storage import FileSystemStorage

    stored, left = FileSystemStorage._save, [files]  # type: ignore[attr-defined]

    def full(self: FileSystemStorage, name: str, content: Any) -> str:
        if left:
            if left[0] == 0:
                raise OSError(28, "No space left on device")
            left[0] -= 1
        return str(stored(self, name, content))

    monkeypatch.setattr(FileSystemStorage, "_save", full)
    return left


def test_the_deadline_holds_for_a_result_that_waits(
    hand: Hand, upstream: Replicate, refusing: ExitStack
) -> None:
    make_remote(upstream)
    attempt = hand.ask(hand.send())
    Task.objects.update(deadline_at=Now())
    sweep()
    assert state(attempt) == ("timeout", "deadline_exceeded")
    hand.ask(hand.ask(attempt))
    assert held() == 0
    assert scenes.history(attempt.task_id)[-1] == "late_result"


# --- an upstream that has said it once -------------------------------------------------------


def test_what_was_said_once_waits_in_memory(
    hand: Hand, openai: OpenAI, refusing: ExitStack
) -> None:
    make(openai)
    attempt = hand.begin("a boat", n=2)
    eventually(refusals.known)
    assert not storing.accepting(), "no worker claims anything"
    silence(attempt)
    eventually(lambda: Attempt.objects.get().heartbeat_at > attempt.heartbeat_at)
    assert sweep().counts["outcome unknown"] == 0
    assert (state(attempt), Webhook.objects.count()) == (("running", ""), 0)
    refusing.close()
    hand.land()
    assert (state(attempt), held(), Artifact.objects.count()) == (("success", ""), 0, 2)
    assert openai.count("create") == 1
    assert no_failure_upstream() and finishing._held == 0


def test_a_cancel_ends_the_wait_and_frees_the_slot(
    hand: Hand, openai: OpenAI, refusing: ExitStack
) -> None:
    make(openai)
    attempt = hand.begin()
    eventually(refusals.known)
    cancellation.cancel(attempt.task_id, hand.user.pk)
    hand.land()
    assert state(attempt) == ("failed", "canceled")
    eventually(lambda: held() == 0)
    assert (Webhook.objects.count(), openai.count("create")) == (0, 1)


def test_the_deadline_ends_the_wait(hand: Hand, openai: OpenAI, refusing: ExitStack) -> None:
    make(openai, timeout_seconds=2.0)
    attempt = hand.send()
    assert state(attempt) == ("timeout", "deadline_exceeded")
    eventually(lambda: held() == 0)
    assert no_failure_upstream()


def test_what_memory_has_no_room_for_waits_in_the_database(
    hand: Hand, openai: OpenAI, refusing: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finishing, "_MOST_HELD", 0)
    make(openai)
    attempt = hand.send("a boat", n=2)
    assert (state(attempt), Webhook.objects.count()) == (("running", ""), 1)
    attempt = hand.ask(attempt)
    assert (state(attempt), attempt.poll_failures) == (("running", ""), 0)
    silence(attempt)
    assert sweep().counts["outcome unknown"] == 0, "it is known: the answer is here"
    refusing.close()
    look_again()
    attempt = hand.ask(attempt)
    assert (state(attempt), held(), Artifact.objects.count()) == (("success", ""), 0, 2)
    assert scenes.has_its_files(attempt.task_id)
    assert (Webhook.objects.count(), openai.count("create")) == (0, 1)


def test_what_neither_has_room_for_waits_in_memory_all_the_same(
    hand: Hand, openai: OpenAI, refusing: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finishing, "_MOST_HELD", 0)
    monkeypatch.setattr(keeping, "MOST_BYTES", 0)
    make(openai)
    attempt = hand.begin()
    eventually(refusals.known)
    refusing.close()
    hand.land()
    assert (state(attempt), openai.count("create")) == (("success", ""), 1)


@pytest.mark.parametrize("politely", [True, False])
def test_a_worker_that_ends_hands_over_what_it_holds(
    hand: Hand, openai: OpenAI, refusing: ExitStack, politely: bool
) -> None:
    make(openai)
    attempt = hand.begin()
    eventually(refusals.known)
    if politely:
        hand.engine.wind_up()
        hand.land()
    hand.engine.stop()
    assert (state(attempt), Webhook.objects.count()) == (("running", ""), 1)
    refusing.close()
    look_again()
    another = Engine()
    try:
        Attempt.objects.update(next_poll_at=Now())
        polling.round_of("default", another)
        assert another.drained(20)
    finally:
        another.stop()
    assert (state(attempt), held(), openai.count("create")) == (("success", ""), 0, 1)
    assert scenes.has_its_files(attempt.task_id)


def test_an_answer_that_was_canceled_while_it_was_kept(
    hand: Hand, openai: OpenAI, refusing: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finishing, "_MOST_HELD", 0)
    make(openai)
    attempt = hand.send()
    cancellation.cancel(attempt.task_id, hand.user.pk)
    attempt = hand.ask(attempt)
    assert (state(attempt), attempt.outcome, held()) == (("failed", "canceled"), "revoked", 0)
    assert Webhook.objects.count() == 0


def test_few_kept_answers_are_in_memory_at_once(
    hand: Hand, openai: OpenAI, refusing: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finishing, "_MOST_HELD", 0)
    make(openai)
    for number in range(12):
        attempt = hand.begin(f"boat {number}")
    hand.land()
    assert Webhook.objects.count() == 12
    read, now, most = _counted(monkeypatch)
    Attempt.objects.update(next_poll_at=Now())
    hand.ask(attempt)
    assert not read, "nothing is read for a storage that is known to refuse"
    refusing.close()
    look_again()
    assert storing.accepting()
    Attempt.objects.update(next_poll_at=Now())
    hand.ask(attempt)
    assert Task.objects.filter(state="success").count() == 12
    assert (len(read), now) == (12, [0])
    assert max(most) <= 4


def _counted(monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], list[int], list[int]]:
    """Count the answers that were read, that are held now, and at each reading."""
    read, now, most, whole, finished = [], [0], [0], keeping.read, finishing.finish

    def reading(adapter: Any, body: bytes) -> UpstreamAnswer:
        read.append(len(body))
        now[0] += 1
        most.append(now[0])
        return whole(adapter, body)

    async def finishing_(*arguments: Any) -> bool:
        try:
            return await finished(*arguments)
        finally:
            now[0] -= 1

    monkeypatch.setattr(keeping, "read", reading)
    monkeypatch.setattr(finishing, "finish", finishing_)
    return read, now, most


def test_pictures_behind_links_are_fetched_when_they_can_be_stored(
    hand: Hand, openai: OpenAI, refusing: ExitStack
) -> None:
    openai.links = True
    make(openai)
    attempt = hand.begin()
    eventually(refusals.known)
    refusing.close()
    hand.land()
    assert (state(attempt), openai.count("create"), openai.count("file")) == (("success", ""), 1, 2)


def test_a_commit_in_the_moment_of_the_end_keeps_its_files(hand: Hand, openai: OpenAI) -> None:
    make(openai)
    openai.gate = threading.Event()
    attempt = hand.begin()
    eventually(lambda: openai.now == 1)
    with transaction.atomic():
        Task.objects.select_for_update().get(pk=attempt.task_id)
        openai.gate.set()
        eventually(_somebody_waits_for_a_lock, why="the success is being committed")
        ending = threading.Thread(target=hand.engine.stop)
        ending.start()
        eventually(lambda: hand.engine.drained(0), why="the flight was told to stop")
    ending.join(20)
    assert state(attempt) == ("success", "")
    assert scenes.has_its_files(attempt.task_id)


def _somebody_waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])


# --- how answers are kept --------------------------------------------------------------------


def test_answers_are_kept_as_they_are(hand: Hand, openai: OpenAI) -> None:
    make(openai)
    openai.gate = threading.Event()
    attempt = hand.begin()
    answer = UpstreamAnswer(
        True,
        outputs=(Output(b"a\nb\0", "image/png", 2**62), Output(PICTURE, "image/webp")),
        links=(Link("https://example.com/ü?a=1"), Link("files/1", own=True, seed=7)),
    )
    assert keeping.keep(attempt, answer, 5.0)
    assert keeping.keep(attempt, answer, 5.0), "it may be repeated"
    body = bytes(Webhook.objects.get().body)
    assert keeping.read(OpenAIImagesAdapter(), body) == answer
    for broken in (b"\0answer ", b"\0answer {}\n", b"\0answer []\n", b"\0answer \xff\n"):
        with pytest.raises(GeneratorError):
            keeping.read(OpenAIImagesAdapter(), broken)
    openai.faults["create"] = [fake.reset]
    openai.gate.set()
