"""Upstreams that answer when the picture is there."""

import asyncio
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from pytest_django import Settings

from tasks_app.core import cancellation
from tasks_app.core.remote import submitting
from tasks_app.core.remote.lines import Clients, Line
from tasks_app.generators.openai_images.adapter import OpenAIImagesAdapter
from tasks_app.generators.upstream import Reply
from tasks_app.maintenance.sweep import sweep
from tasks_app.models import Artifact, Attempt, Generator, Task
from tests import scenes
from tests.integration.core.remote.conftest import Hand, held, state
from tests.integration.core.remote.test_way import silence
from tests.processes import eventually
from tests.upstreams import fake
from tests.upstreams.openai import KEY, OpenAI


@pytest.fixture
def openai(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAI]:
    """Return an upstream that is done at once."""
    monkeypatch.setenv("UPSTREAM_KEY", KEY)
    made = OpenAI()
    yield made
    made.stop()


def make(openai: OpenAI, *, settings: Any = (), **fields: Any) -> Generator:
    values = {"title": "Far", "adapter": "openai-images", "max_running": 100, **fields}
    own = {
        "base_url": f"{openai.url}/v1",
        "credential": "env:UPSTREAM_KEY",
        "model": "gpt-image-1",
        **dict(settings),
    }
    return Generator.objects.create(name="far", settings=own, **values)


@pytest.mark.parametrize("links", [False, True])
def test_pictures_in_the_answer_and_behind_links(hand: Hand, openai: OpenAI, links: bool) -> None:
    openai.links = links
    make(openai)
    attempt = hand.send("a boat", n=2)
    assert (state(attempt), held()) == (("success", ""), 0)
    assert Artifact.objects.count() == 2
    assert scenes.has_its_files(attempt.task_id)
    sent = openai.of("create")[0].json
    assert sent == {
        "model": "gpt-image-1",
        "prompt": "a boat",
        "n": 2,
        "size": "1024x1024",
        "quality": "auto",
    }


def test_many_slow_calls_hold_slots_and_no_process(hand: Hand, openai: OpenAI) -> None:
    openai.gate = threading.Event()
    make(openai)
    for number in range(8):
        hand.submit(f"boat {number}")
        submitting.begin(hand.claim(), hand.engine)
    eventually(lambda: openai.now == 8, why="all are made at once")
    assert held() == 8
    openai.gate.set()
    hand.land()
    assert Task.objects.filter(state="success").count() == 8


def test_as_many_are_under_way_as_there_is_room_for() -> None:
    """The engine counts calls, nobody else: who takes long keeps no other from connecting."""
    number, adapter = 300, OpenAIImagesAdapter()

    async def run() -> list[Reply]:
        there, all_there, clients = 0, asyncio.Event(), Clients()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal there
            await reader.readuntil(b"\r\n\r\n")
            there += 1
            if there == number:
                all_there.set()
            await all_there.wait()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=number)
        port = server.sockets[0].getsockname()[1]
        line = Line(clients.single, "far", adapter, {"base_url": f"http://127.0.0.1:{port}"}, 30.0)
        try:
            return await asyncio.gather(*(line.call("GET", "/") for _ in range(number)))
        finally:
            all_there.set()
            await clients.close()
            server.close()

    assert [reply.status for reply in asyncio.run(run())] == [200] * number


@pytest.mark.parametrize(
    ("prompt", "code"), [("nsfw", "content_rejected"), ("odd", "upstream_rejected")]
)
def test_refusals_are_told_in_the_words_of_the_upstream(
    hand: Hand, openai: OpenAI, prompt: str, code: str
) -> None:
    make(openai)
    attempt = hand.send(prompt)
    assert state(attempt) == ("failed", code)
    assert Task.objects.get().error_detail in (
        "Your request was rejected by safety.",
        "Invalid size.",
    )


def test_a_credential_that_is_not_accepted_costs_no_task(
    hand: Hand, openai: OpenAI, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("UPSTREAM_KEY", "sk-another")
    make(openai, failure_budget=1)
    attempt = hand.send()
    assert (state(attempt), attempt.outcome) == (("pending", ""), "refused")
    assert "does not accept us" in caplog.text
    assert KEY not in caplog.text + attempt.error_detail


def test_a_cancel_breaks_the_call_off_and_keeps_the_slot_for_the_grace(
    hand: Hand, openai: OpenAI
) -> None:
    openai.seconds = 30
    make(openai)
    attempt = hand.begin()
    eventually(lambda: openai.now == 1)
    cancellation.cancel(attempt.task_id, hand.user.pk)
    hand.land()
    assert (state(attempt), held()) == (("failed", "canceled"), 1)
    Attempt.objects.update(revoked_at=Now() - timedelta(seconds=100))
    assert sweep().counts["stopped after grace"] == 1
    assert held() == 0


def test_the_deadline_breaks_the_call_off(hand: Hand, openai: OpenAI) -> None:
    openai.seconds = 30
    make(openai, timeout_seconds=1.0)
    attempt = hand.send()
    assert (state(attempt), held()) == (("timeout", "deadline_exceeded"), 1)


def test_what_lives_is_heartbeaten(hand: Hand, openai: OpenAI) -> None:
    openai.seconds = 3.0
    make(openai)
    attempt = hand.begin()
    silence(attempt)
    eventually(lambda: Attempt.objects.get().heartbeat_at > attempt.heartbeat_at)
    assert sweep().counts["outcome unknown"] == 0
    hand.land()
    assert state(attempt) == ("success", "")


@pytest.mark.parametrize(
    ("free", "found"), [(False, ("failed", "outcome_unknown")), (True, ("pending", ""))]
)
def test_a_call_that_breaks(hand: Hand, openai: OpenAI, free: bool, found: tuple[str, str]) -> None:
    make(openai, settings={"free_to_repeat": free})
    openai.faults["create"] = [fake.done_then_reset]
    assert state(hand.send()) == found
    assert openai.count("create") == 1


def test_a_worker_that_dies_in_the_middle_leaves_an_unknown_outcome(
    hand: Hand, openai: OpenAI
) -> None:
    openai.seconds = 30
    make(openai)
    attempt = hand.begin()
    eventually(lambda: openai.now == 1)
    hand.engine.stop()
    silence(attempt)
    assert sweep().counts["outcome unknown"] == 1
    assert state(attempt) == ("failed", "outcome_unknown")


def test_a_picture_that_cannot_be_fetched_is_not_paid_for_twice(
    hand: Hand, openai: OpenAI, settings: Settings
) -> None:
    settings.DARKROOM = settings.DARKROOM | {"poll_failing_seconds": 0.0}
    openai.links = True
    openai.faults["file"] = [fake.status(500), fake.status(500), fake.status(500)]
    make(openai)
    assert state(hand.send()) == ("failed", "upstream_unreachable")
    assert (openai.count("create"), openai.count("file")) == (1, 3)


def test_a_picture_that_cannot_be_fetched_for_a_while_is_not_lost(
    hand: Hand, openai: OpenAI
) -> None:
    openai.links = True
    openai.faults["file"] = [fake.status(500), fake.status(503), fake.status(500), fake.status(404)]
    make(openai)
    assert (state(hand.send()), held()) == (("success", ""), 0)
    assert (openai.count("create"), openai.count("file")) == (1, 5)
