"""Workers that are killed, frozen or alone: nothing accepted is lost, nothing is decided twice."""

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from tasks_app import bells
from tasks_app.core.clock import database_now
from tasks_app.gates import keys, slots
from tasks_app.models import Artifact, Attempt, Event, Generator, Task
from tasks_app.results.store import storage
from tests import artists, scenes
from tests.conftest import make_generator
from tests.processes import FAST_ENVIRONMENT, Service, eventually, kill_group

Services = Callable[..., Service]
LEASE = float(FAST_ENVIRONMENT["DARKROOM_LEASE"])


def test_a_killed_worker_costs_an_attempt_but_no_task(
    service: Services, alice: Any, sleeper: Generator
) -> None:
    darkroom = service()
    darkroom.ticker()
    darkroom.workers(2)
    task_id = scenes.submit(alice, sleeper, "long", seconds=1.0)
    (first,) = eventually(lambda: artists.starts(darkroom.log))
    kill_group(darkroom.child(first.pid))
    killed = time.monotonic()

    eventually(scenes.in_state(task_id, "success"))
    first, second = artists.starts(darkroom.log)
    assert second.pid != first.pid
    assert second.at > killed + LEASE / 2, "the lease of the dead was not waited for"
    assert scenes.history(task_id) == [
        "submitted",
        "claimed",
        "requeued: worker lost",
        "claimed",
        "succeeded",
    ]
    assert scenes.outcomes_of(task_id) == ["lost", "success"]
    assert Task.objects.get(pk=task_id).failures == 1
    eventually(lambda: scenes.slots_taken() == 0, within=2, why="the slots are free")


def test_a_frozen_worker_that_wakes_up_changes_nothing(service: Services, alice: Any) -> None:
    listening = make_generator("listening", artist="mixed")
    darkroom = service()
    darkroom.ticker()
    darkroom.workers(3)
    tasks = [scenes.submit(alice, listening, f"{kind} picture", seconds=0.7) for kind in KINDS]
    stale = eventually(lambda: _started(darkroom, 2))
    for line in stale:
        os.kill(line.pid, signal.SIGSTOP)
    for task_id in tasks:
        eventually(scenes.in_state(task_id, "success"))
    before = [_whole(task_id) for task_id in tasks]
    other = scenes.submit(alice, listening, "other", seconds=2.0)
    eventually(scenes.in_state(other, "running"))
    claim = Attempt.objects.get(task_id=other).claim_id
    scopes = [
        keys.slots_all(),
        keys.slots_generator(listening.pk),
        keys.slots_owner(alice.pk),
    ]

    for line in stale:
        os.kill(line.pid, signal.SIGCONT)
    while scenes.state_of(other) == "running":
        held = [claim in slots.members(scope) for scope in scopes]
        assert all(held) or scenes.state_of(other) == "success"
    assert {line.pid for line in artists.read(darkroom.log) if line.what == "stop"} >= {
        line.pid for line in stale
    }
    eventually(lambda: scenes.slots_taken() == 0, within=LEASE)

    assert [_whole(task_id) for task_id in tasks] == before
    for task_id in tasks:
        assert scenes.outcomes_of(task_id) == ["lost", "success"]
        eventually(partial(_no_file_is_left_over, task_id))
        assert all(storage().size(key) > 0 for key in _named_files(task_id))
    # Both who were frozen are at work again.
    scenes.submit_many(alice, listening, ["a", "b", "c"], seconds=0.5)
    eventually(lambda: {line.pid for line in stale} <= _pids(darkroom, {"a", "b", "c"}))


KINDS = ("deaf", "listening")


def _started(darkroom: Service, number: int) -> list[artists.Line] | None:
    lines = artists.starts(darkroom.log)
    return lines if len(lines) == number else None


def _pids(darkroom: Service, names: set[str]) -> set[int]:
    return {line.pid for line in artists.starts(darkroom.log) if line.name in names}


def _whole(task_id: Any) -> list[Any]:
    """Return everything that is stored about a task, but for what its attempts say."""
    return [
        Task.objects.filter(pk=task_id).values().get(),
        list(Artifact.objects.filter(task_id=task_id).values()),
        list(Event.objects.filter(task_id=task_id).order_by("id").values()),
        list(Attempt.objects.filter(task_id=task_id).order_by("number").values()),
    ]


def _named_files(task_id: Any) -> set[str]:
    return {
        key
        for one in Artifact.objects.filter(task_id=task_id)
        for key in (one.storage_key, one.thumbnail_key)
    }


def _no_file_is_left_over(task_id: Any) -> bool:
    return _files(task_id) == _named_files(task_id)


def _files(task_id: Any) -> set[str]:
    folder = f"{task_id.hex[:6]}/{task_id}"
    return {f"{folder}/{name}" for name in storage().listdir(folder)[1]}


def test_without_a_ticker_the_sweep_alone_rings_and_recovers(service: Services, alice: Any) -> None:
    slow_at_first = make_generator("slow", artist="deaf_at_first")
    darkroom = service()
    task_id = scenes.submit(alice, slow_at_first, "picture", seconds=60.0)
    queue = bells.queue("default").key
    darkroom.redis().delete(queue)
    (worker,) = darkroom.workers(1)

    shown = darkroom.run("sweep_tasks", "--dry-run")
    assert (shown.returncode, shown.stdout) == (0, "bells: 1\n"), shown
    assert (bells.waiting("default"), scenes.history(task_id)) == (0, ["submitted"])

    _sweep_until(darkroom, lambda: bool(artists.starts(darkroom.log)))
    kill_group(worker)
    eventually(lambda: Attempt.objects.filter(heartbeat_at__lt=_a_lease_ago()).exists())
    before = _whole(task_id)
    shown = darkroom.run("sweep_tasks", "--dry-run")
    assert (shown.returncode, "worker lost: 1\n" in shown.stdout) == (0, True), shown
    assert _whole(task_id) == before

    darkroom.workers(1)
    with ThreadPoolExecutor() as threads:
        both = list(threads.map(lambda _: darkroom.run("sweep_tasks"), range(2)))
    assert [one.returncode for one in both] == [0, 0], both
    _sweep_until(darkroom, scenes.in_state(task_id, "success"))
    assert scenes.history(task_id).count("requeued: worker lost") == 1
    assert scenes.outcomes_of(task_id) == ["lost", "success"]


def _a_lease_ago() -> datetime:
    return database_now() - timedelta(seconds=LEASE)


def _sweep_until(darkroom: Service, question: Callable[[], bool]) -> None:
    """Sweep as cron does, more often; the first claims meet the fence of an empty Redis."""

    def sweep_and_ask() -> bool:
        swept = darkroom.run("sweep_tasks")
        assert swept.returncode == 0, swept
        return question()

    eventually(sweep_and_ask)


def test_the_sweep_says_by_its_exit_status_what_it_could_not_do(
    service: Services, alice: Any, sleeper: Generator
) -> None:
    darkroom = service()
    nowhere = "unix:///nonexistent/valkey.sock"
    nobody = "postgresql://darkroom@%2Fnonexistent/darkroom"
    with ThreadPoolExecutor() as threads:
        redis_away = threads.submit(darkroom.run, "sweep_tasks", REDIS_URL=nowhere)
        database_away = threads.submit(darkroom.run, "sweep_tasks", DATABASE_URL=nobody)
    assert redis_away.result().returncode == 1, redis_away.result()
    assert "could not repair: slots: " in redis_away.result().stdout
    assert database_away.result().returncode == 2, database_away.result()
    assert "could not run: " in database_away.result().stderr
    assert "Traceback" not in redis_away.result().stderr + database_away.result().stderr


def test_a_ticker_rings_again_when_every_bell_was_lost(
    service: Services, alice: Any, sleeper: Generator
) -> None:
    darkroom = service()
    darkroom.workers(1)
    darkroom.ticker()
    for number in range(5):
        task_id = scenes.submit(alice, sleeper, f"picture {number}")
        darkroom.redis().delete(bells.queue("default").key)
        eventually(scenes.in_state(task_id, "success"))
