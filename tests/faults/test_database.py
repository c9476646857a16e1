"""PostgreSQL that breaks off, dies or commits without saying so: nothing lost, nothing doubled."""

import time
from collections.abc import Callable
from typing import Any

from tasks_app.models import Generator
from tests import artists, scenes
from tests.conftest import make_generator, make_user
from tests.faults.network import proxy
from tests.faults.servers import OwnServer
from tests.processes import Service, database_url, eventually

Services = Callable[..., Service]


def test_workers_whose_connections_are_ended_go_on(
    service: Services, alice: Any, sleeper: Generator
) -> None:
    darkroom = service()
    darkroom.ticker()
    workers = darkroom.workers(3)
    scenes.submit_many(alice, sleeper, [f"picture {n}" for n in range(20)], seconds=0.3)
    ended = 0
    for done in range(0, 20, 2):
        scenes.wait_until_ended(done)
        ended += scenes.end_connections()
    assert ended > 10
    assert scenes.wait_for_the_end() == {"success": 20}
    _each_ran_once(darkroom, 20)
    assert all(worker.poll() is None for worker in workers)
    eventually(lambda: scenes.slots_taken() == 0, within=5)


def test_killed_in_the_middle_it_costs_no_task(service: Services, own_database: OwnServer) -> None:
    """It is away for longer than a lease: no worker could say that it lives."""
    alice, sleeper = make_user("alice"), make_generator()
    darkroom = service(DARKROOM_LEASE="1")
    darkroom.ticker()
    workers = darkroom.workers(3)
    scenes.submit_many(alice, sleeper, [f"picture {n}" for n in range(12)], seconds=0.6)
    for done in (0, 6):
        scenes.wait_until_ended(done)
        eventually(lambda: len(artists.unfinished(darkroom.log, begun_within=0.3)) >= 2, pause=0.01)
        own_database.kill()
        killed = time.monotonic()
        eventually(lambda: not artists.unfinished(darkroom.log), why="they end without it")
        time.sleep(max(0.0, killed + 1.2 - time.monotonic()))
        own_database.start()
        scenes.reconnect()
    assert scenes.wait_for_the_end() == {"success": 12}
    _each_ran_once(darkroom, 12)
    assert all(worker.poll() is None for worker in workers)
    eventually(lambda: scenes.slots_taken() == 0, within=5)


def test_a_success_that_is_committed_without_an_answer_counts_once(
    service: Services, alice: Any, sleeper: Generator
) -> None:
    with proxy(scenes.database_folder()) as (between, host):
        darkroom = service(DATABASE_URL=database_url(host))
        darkroom.ticker()
        darkroom.workers(1)
        first = scenes.submit(alice, sleeper, "first", seconds=0.5)
        eventually(lambda: artists.starts(darkroom.log))
        between.lose_commit(b"'success'")
        eventually(lambda: between.lost)
        second = scenes.submit(alice, sleeper, "second")
        assert scenes.wait_for_the_end() == {"success": 2}
        for task_id in (first, second):
            assert scenes.history(task_id) == ["submitted", "claimed", "succeeded"]
            assert scenes.outcomes_of(task_id) == ["success"]
            assert scenes.has_its_files(task_id)
        _each_ran_once(darkroom, 2)
        eventually(lambda: scenes.slots_taken() == 0, within=2)


def test_a_claim_that_is_committed_without_an_answer_runs_once(
    service: Services, alice: Any, sleeper: Generator
) -> None:
    with proxy(scenes.database_folder()) as (between, host):
        darkroom = service(DATABASE_URL=database_url(host), DARKROOM_LEASE="1")
        darkroom.ticker()
        (worker,) = darkroom.workers(1)
        between.lose_commit(b"'running'")
        task_id = scenes.submit(alice, sleeper, "picture")
        eventually(lambda: between.lost)
        assert scenes.wait_for_the_end() == {"success": 1}
        assert scenes.outcomes_of(task_id)[-1] == "success"
        _each_ran_once(darkroom, 1)
        assert worker.poll() is None
        eventually(lambda: scenes.slots_taken() == 0, within=3)


def test_a_requeue_that_is_committed_without_an_answer_is_one_requeue(
    service: Services, alice: Any, sleeper: Generator
) -> None:
    with proxy(scenes.database_folder()) as (between, host):
        darkroom = service(DATABASE_URL=database_url(host), DARKROOM_WORKER_DRAIN_SECONDS="0.2")
        darkroom.ticker()
        (worker,) = darkroom.workers(1)
        task_id = scenes.submit(alice, sleeper, "picture", seconds=1.0)
        eventually(lambda: artists.starts(darkroom.log))
        between.lose_commit(b"'pending'")
        worker.terminate()
        assert worker.wait(10) == 0
        assert len(between.lost) == 1
        darkroom.workers(1)
        assert scenes.wait_for_the_end() == {"success": 1}
        assert scenes.outcomes_of(task_id) == ["interrupted", "success"]
        assert scenes.history(task_id).count("requeued: worker stopped") == 1


def _each_ran_once(darkroom: Service, number: int) -> None:
    names = [line.name for line in artists.starts(darkroom.log)]
    assert len(names) == len(set(names)) == number
