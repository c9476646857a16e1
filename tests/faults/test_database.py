"""PostgreSQL that breaks off, dies or commits without saying so: nothing lost, nothing doubled."""

from collections.abc import Callable
from typing import Any

from tasks_app.models import Generator
from tests import artists, scenes
from tests.faults.network import proxy
from tests.processes import Service, database_url, eventually

Services = Callable[..., Service]


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
