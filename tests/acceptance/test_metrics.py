"""Counters of several processes, one of them killed: exactly what the test did."""

import os
import signal
from collections import Counter
from collections.abc import Callable
from typing import Any

import httpx
import psutil
from prometheus_client.parser import text_string_to_metric_families

from tests import artists, scenes
from tests.conftest import make_generator
from tests.processes import Service, eventually

Figures = dict[tuple[str, frozenset[tuple[str, str]]], float]

POLLS = {"changed": 1, "not_modified": 20, "refused": 3}


def scrape(client: httpx.Client) -> Callable[..., int]:
    """Return a function that finds a figure by its name and labels; 0 if there is none."""
    answer = client.get("/metrics")
    assert answer.status_code == 200
    found: Figures = {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    return lambda name, **labels: int(found.get((f"darkroom_{name}", frozenset(labels.items())), 0))


def submit(client: httpx.Client, generator: str, prompt: str, **params: Any) -> str:
    body = {"generator": generator, "params": {"prompt": prompt, **params}}
    answer = client.post("/v1/tasks", json=body)
    assert answer.status_code == 202
    return str(answer.json()["task_id"])


def poll(client: httpx.Client, task_id: str) -> None:
    """Poll as ``POLLS`` says."""
    etag = client.get(f"/v1/tasks/{task_id}").headers["ETag"]
    for _ in range(POLLS["not_modified"]):
        known = client.get(f"/v1/tasks/{task_id}", headers={"If-None-Match": etag})
        assert known.status_code == 304
    for _ in range(POLLS["refused"]):
        assert client.get("/v1/tasks/00000000-0000-7000-8000-000000000000").status_code == 404


def test_counters_equal_what_was_done_also_after_a_worker_was_killed(
    service: Callable[..., Service], alice: Any, key_of: Callable[[Any], str]
) -> None:
    make_generator("sleeper")
    make_generator("broken", artist="broken")
    darkroom = service()
    darkroom.web()
    workers = darkroom.workers(3)
    darkroom.ticker()
    with darkroom.client(key_of(alice)) as client:
        act_and_check(darkroom, client, {worker.pid for worker in workers})


def act_and_check(darkroom: Service, client: httpx.Client, workers: set[int]) -> None:
    web = psutil.Process(next(c.pid for c in darkroom._children))
    assert len(web.children(recursive=True)) >= 2, "two processes answer"

    quick = [submit(client, "sleeper", f"quick {n}") for n in range(12)]
    failing = [submit(client, "broken", f"broken {n}") for n in range(4)]
    scenes.wait_until_ended(16)

    # Three run, one of their workers is killed, its task runs again; four wait and are canceled.
    long = [submit(client, "sleeper", f"long {n}", seconds=4.0) for n in range(3)]
    begun = eventually(
        lambda: found if len(found := lines(darkroom, "long")) == 3 else None, why="three run"
    )
    waiting = [submit(client, "sleeper", f"waiting {n}", seconds=4.0) for n in range(4)]
    for task_id in waiting:
        assert client.delete(f"/v1/tasks/{task_id}").status_code == 200
    # What a killed process had counted in its last second is lost, so it is given that second.
    eventually(lambda: scrape(client)("claim_seconds_count", pool="default") == 19)
    killed = begun[0]
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.pid in workers
    ended = scenes.wait_for_the_end()
    assert ended == Counter({"success": 15, "failed/internal": 4, "failed/canceled": 4}), (
        "the test itself"
    )
    assert len(lines(darkroom, "long")) == 4
    poll(client, quick[0])

    def check() -> bool:
        of = scrape(client)
        assert of("submissions_total", generator="sleeper") == len(quick + long + waiting)
        assert of("submissions_total", generator="broken") == len(failing)
        assert of("completions_total", generator="sleeper", state="success", code="") == 15
        assert of("completions_total", generator="sleeper", state="failed", code="canceled") == 4
        assert of("completions_total", generator="broken", state="failed", code="internal") == 4
        assert of("completion_seconds_count", generator="sleeper", state="success") == 15
        assert of("waiting_seconds_count", generator="sleeper") == 15
        assert of("waiting_seconds_count", generator="broken") == 4
        assert of("requeues_total", generator="sleeper", reason="worker lost") == 1
        assert of("events_total", generator="sleeper", kind="claimed") == 16
        states = {state: of("tasks", state=state) for state in STATES}
        assert states == {"pending": 0, "running": 0, "success": 15, "failed": 8, "timeout": 0}
        return (
            of("polls_total", answer="not_modified") == POLLS["not_modified"]
            and of("polls_total", answer="refused") == POLLS["refused"]
            and of("polls_total", answer="changed") == POLLS["changed"]
            and of("sweep_repairs_total", kind="worker_lost") == 1
            and of("claim_seconds_count", pool="default") == 20
            and of("workers", pool="default") == 2
            and of("slots_used", generator="") == 0
        )

    # Those of the history are exact at once; what processes count comes within a second or two.
    eventually(check, why="the counts of all processes have arrived")
    answers = {client.get("/metrics").text.count("darkroom_submissions_total{") for _ in range(8)}
    assert answers == {2}


STATES = ("pending", "running", "success", "failed", "timeout")


def lines(darkroom: Service, prefix: str) -> list[artists.Line]:
    return [line for line in artists.starts(darkroom.log) if line.name.startswith(prefix)]
