"""Limits, counted where the work is done: by the lines that the generators write."""

import random
import time
from collections.abc import Callable
from typing import Any

import httpx

from tasks_app.core import cancellation, credentials
from tasks_app.models import Task
from tests import artists, scenes
from tests.conftest import make_generator, make_user
from tests.processes import Service, eventually

Services = Callable[..., Service]
STOPS_WITHIN = artists.STEP + 1.0
"""Seconds from a cancel until a generation that listens has stopped."""


def test_never_more_and_hardly_ever_fewer_run_than_the_limit(service: Services, alice: Any) -> None:
    limited = make_generator("limited", max_running=3, expected_seconds=0.3)
    darkroom = service()
    darkroom.ticker()
    darkroom.workers(6)
    scenes.submit_many(alice, limited, [f"picture {n}" for n in range(100)], seconds=0.3)
    assert scenes.wait_for_the_end() == {"success": 100}
    log = artists.read(darkroom.log)
    assert len(artists.starts(darkroom.log)) == 100
    assert artists.most_at_once(log) == 3
    assert artists.longest_idle(log, 3) < 1.0


def test_a_cancelled_execution_counts_until_it_has_really_stopped(
    service: Services, alice: Any
) -> None:
    limited = make_generator("limited", artist="mixed", max_running=3, expected_seconds=0.3)
    darkroom = service()
    darkroom.ticker()
    darkroom.workers(6)
    prompts = [f"{'deaf' if n % 3 == 0 else 'listening'} {n}" for n in range(36)]
    for prompt in prompts:
        scenes.submit(alice, limited, prompt, seconds=1.2 if prompt[0] == "d" else 0.5)

    chance, canceled = random.Random(5), {}
    while live := list(Task.objects.filter(state__in=("pending", "running")).order_by("id")):
        running = [task for task in live if task.state == "running"]
        victim = chance.choice(running if running and chance.random() < 0.6 else live)
        at = time.monotonic()
        if cancellation.cancel(victim.pk, alice.pk):
            canceled[victim.params["prompt"]] = at
        time.sleep(0.15)  # the pace of the cancels, nothing waits for it
    eventually(lambda: scenes.slots_taken() == 0, within=4, why="the last ones have stopped")

    log = artists.read(darkroom.log)
    assert artists.most_at_once(log) == 3
    assert len(canceled) >= 12
    stops = {line.name: line.at for line in log if line.what == "stop"}
    late = {name: stops[name] - at for name, at in canceled.items() if name in stops}
    listening = [delay for name, delay in late.items() if name.startswith("listening")]
    assert listening and max(listening) < STOPS_WITHIN
    assert max(late.values()) > 0.3, "nobody was deaf"


def test_the_limits_of_owners_and_of_everything_hold(service: Services) -> None:
    owners = [make_user(name, max_running=2) for name in ("ann", "ben", "eve")]
    one = make_generator("one", expected_seconds=0.2)
    two = make_generator("two", max_running=3, expected_seconds=0.2)
    darkroom = service(DARKROOM_LIMIT_ALL="4")
    darkroom.ticker()
    darkroom.workers(6)
    for n in range(10):
        for owner in owners:
            scenes.submit(owner, two if n % 2 else one, f"{owner} {n}", seconds=0.2)
    assert scenes.wait_for_the_end() == {"success": 30}
    log = artists.read(darkroom.log)
    assert artists.most_at_once(log) == 4
    for owner in owners:
        assert (
            artists.most_at_once([line for line in log if line.name.startswith(f"{owner} ")]) == 2
        )


def test_cancels_and_deadlines_stop_the_work_and_free_the_worker(
    service: Services, alice: Any
) -> None:
    make_generator("sleeper")
    hurried = make_generator("hurried", timeout_seconds=1.0)
    darkroom = service()
    darkroom.ticker()
    darkroom.workers(1)
    darkroom.web()
    _, key = credentials.create(alice, "test")
    with darkroom.client(key) as client:
        running = _post(client, "running", seconds=60.0)
        waiting = _post(client, "waiting", seconds=60.0)
        impatient = _post(client, "impatient", seconds=60.0, max_wait=1)
        following = _post(client, "following", seconds=0.1)
        eventually(lambda: artists.starts(darkroom.log))

        assert _cancel(client, waiting) == ("failed", "canceled")
        eventually(lambda: _ended(client, impatient) == ("timeout", "waited_too_long"), within=5)
        at = time.monotonic()
        assert _cancel(client, running) == ("failed", "canceled")
        assert _cancel(client, running) == ("failed", "canceled")
        assert _stopped(darkroom, "running") - at < STOPS_WITHIN
        eventually(lambda: _ended(client, following) == ("success", None), within=5)
        assert _cancel(client, following) == ("success", None)

        late = scenes.submit(alice, hurried, "late", seconds=60.0)
        eventually(lambda: _ended(client, str(late)) == ("timeout", "deadline_exceeded"), within=10)
        (start,) = (line.at for line in artists.starts(darkroom.log) if line.name == "late")
        assert _stopped(darkroom, "late") - start < 1.0 + STOPS_WITHIN
        after = _post(client, "after", seconds=0.0)
        eventually(lambda: _ended(client, after) == ("success", None), within=5)
    names = [line.name for line in artists.starts(darkroom.log)]
    assert names == ["running", "following", "late", "after"]
    eventually(lambda: scenes.slots_taken() == 0, within=5)


def _post(client: httpx.Client, prompt: str, *, seconds: float, **fields: Any) -> str:
    body = {"generator": "sleeper", "params": {"prompt": prompt, "seconds": seconds}, **fields}
    answer = client.post("/v1/tasks", json=body)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["task_id"])


def _cancel(client: httpx.Client, task_id: str) -> tuple[str, str | None]:
    answer = client.delete(f"/v1/tasks/{task_id}")
    assert answer.status_code == 200, answer.text
    return _ending(answer.json())


def _ended(client: httpx.Client, task_id: str) -> tuple[str, str | None]:
    return _ending(client.get(f"/v1/tasks/{task_id}").json())


def _ending(task: dict[str, Any]) -> tuple[str, str | None]:
    return task["status"], task["error"]["code"] if task["error"] else None


def _stopped(darkroom: Service, name: str) -> float:
    def found() -> float | None:
        ends = [x.at for x in artists.read(darkroom.log) if (x.what, x.name) == ("stop", name)]
        return ends[0] if ends else None

    return eventually(found, within=5, why=f"{name} stops")
