"""A worker's life: it survives its models, ends in an orderly way and hands back what it leaves."""

import itertools
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

import pytest

from tasks_app.models import Generator, Task
from tests import artists, scenes
from tests.conftest import make_generator
from tests.processes import Service, eventually

Services = Callable[..., Service]


def terminate(child: "subprocess.Popen[bytes]", *, within: float) -> float:
    """Send SIGTERM, expect exit status 0 in time, and return how long it took."""
    begun = time.monotonic()
    child.send_signal(signal.SIGTERM)
    assert child.wait(within) == 0
    return time.monotonic() - begun


def begun(darkroom: Service, number: int = 1) -> list[artists.Line]:
    """Wait for so many executions to begin, and return them."""
    return eventually(
        lambda: lines if len(lines := artists.starts(darkroom.log)) >= number else None
    )


def test_a_stopping_worker_finishes_what_is_short_and_hands_back_what_is_long(
    service: Services, alice: Any, sleeper: Generator
) -> None:
    darkroom = service(DARKROOM_WORKER_DRAIN_SECONDS="1.5")
    darkroom.ticker()
    first, second = darkroom.workers(2)

    task_id = scenes.submit(alice, sleeper, "long", seconds=3.0)
    busy = darkroom.child(begun(darkroom)[0].pid)
    took = terminate(busy, within=6)
    assert took > 1.0, "the drain time was not given"
    idle = first if busy is second else second
    assert begun(darkroom, 2)[1].pid == idle.pid
    assert scenes.history(task_id)[:4] == ["submitted", "claimed", HANDED_BACK, "claimed"]
    assert scenes.outcomes_of(task_id)[0] == "interrupted"
    eventually(scenes.in_state(task_id, "success"))
    assert Task.objects.get(pk=task_id).failures == 0

    short = scenes.submit(alice, sleeper, "short", seconds=0.4)
    begun(darkroom, 3)
    terminate(idle, within=6)
    assert scenes.history(short) == ["submitted", "claimed", "succeeded"]
    assert scenes.slots_taken() == 0


HANDED_BACK = "requeued: worker stopped"


def test_a_stopping_worker_does_not_wait_for_code_that_does_not_listen(
    service: Services, alice: Any
) -> None:
    deaf = make_generator("deaf", artist="deaf_at_first")
    darkroom = service(DARKROOM_WORKER_DRAIN_SECONDS="0.5")
    darkroom.ticker()
    darkroom.workers(2)
    task_id = scenes.submit(alice, deaf, "picture", seconds=60.0)
    terminate(darkroom.child(begun(darkroom)[0].pid), within=6)
    eventually(scenes.in_state(task_id, "success"), within=5, why="no lease has to pass")
    assert scenes.outcomes_of(task_id) == ["interrupted", "success"]
    assert Task.objects.get(pk=task_id).failures == 0
    eventually(lambda: scenes.slots_taken() == 0, within=2)


def test_an_idle_worker_ends_at_once_and_a_second_signal_ends_a_long_drain(
    service: Services, alice: Any, sleeper: Generator
) -> None:
    darkroom = service(DARKROOM_WORKER_DRAIN_SECONDS="60")
    first, second = darkroom.workers(2)
    scenes.submit(alice, sleeper, "long", seconds=60.0)
    # There is no ticker: bells are rung here until the fence of the empty Redis is over.
    eventually(lambda: _sweep(darkroom) and artists.starts(darkroom.log))
    (task,) = Task.objects.all()
    busy = first if artists.starts(darkroom.log)[0].pid == first.pid else second
    terminate(second if busy is first else first, within=6)

    busy.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        busy.wait(0.5)
    assert scenes.state_of(task.pk) == "running"
    terminate(busy, within=6)
    assert scenes.history(task.pk) == ["submitted", "claimed", HANDED_BACK]
    assert Task.objects.get(pk=task.pk).failures == 0
    assert scenes.slots_taken() == 0


@pytest.mark.parametrize(
    ("setting", "tasks"),
    [("DARKROOM_WORKER_MAX_TASKS", {2}), ("DARKROOM_WORKER_MAX_MB", {0, 1})],
)
def test_a_worn_out_worker_retires_between_two_tasks(
    service: Services, alice: Any, sleeper: Generator, setting: str, tasks: set[int]
) -> None:
    darkroom = service(**{setting: str(max(tasks))})
    darkroom.ticker()
    (worker,) = darkroom.workers(1)
    scenes.submit_many(alice, sleeper, ["a", "b", "c"], seconds=0.2)
    assert worker.wait(20) == 0
    done = Task.objects.filter(state="success").count()
    assert done in tasks
    assert Task.objects.filter(state="pending").count() == 3 - done
    assert scenes.slots_taken() == 0


def _sweep(darkroom: Service) -> bool:
    return darkroom.run("sweep_tasks").returncode == 0


def test_a_worker_survives_its_model(service: Services, alice: Any) -> None:
    moody = make_generator("moody", artist="moody", expected_seconds=0.01)
    darkroom = service()
    darkroom.ticker()
    (worker,) = darkroom.workers(1)
    tasks = {prompt: scenes.submit(alice, moody, prompt) for prompt in (*MOODS, "fine")}
    scenes.wait_for_the_end()
    assert {prompt: scenes.state_of(pk) for prompt, pk in tasks.items()} == {
        **MOODS,
        "fine": "success",
    }
    assert [line.name for line in artists.starts(darkroom.log)] == list(tasks)
    assert worker.poll() is None
    for prompt in MOODS:
        task = Task.objects.get(pk=tasks[prompt])
        assert "secret" not in task.error_detail
        assert len(scenes.outcomes_of(task.pk)) == 1
    eventually(lambda: scenes.slots_taken() == 0, within=2)


MOODS = {
    **dict.fromkeys(("garbage", "nothing", "empty", "html", "truncated"), "failed/result_unusable"),
    **dict.fromkeys(
        ("exit", "value", "memory", "interrupt", "cancelled", "later"), "failed/internal"
    ),
}


def test_a_task_that_kills_its_workers_fails_within_the_failure_budget(
    service: Services, alice: Any
) -> None:
    deadly = make_generator("deadly", artist="dies")
    darkroom = service(DARKROOM_LEASE="1")
    darkroom.ticker()
    darkroom.kept_workers(2)
    task_id = scenes.submit(alice, deadly, "picture")
    eventually(scenes.in_state(task_id, "failed/worker_lost"))
    assert scenes.outcomes_of(task_id) == ["lost"] * 3
    assert len(artists.starts(darkroom.log)) == 3
    eventually(lambda: scenes.slots_taken() == 0, within=3)


def test_a_rolling_restart_under_load_loses_and_repeats_nothing(
    service: Services, alice: Any, sleeper: Generator
) -> None:
    darkroom = service()
    darkroom.ticker()
    numbers = itertools.count()

    def submit_until(question: Callable[[], object]) -> None:
        def ask() -> bool:
            scenes.submit(alice, sleeper, f"picture {next(numbers)}", seconds=0.15)
            return bool(question())

        eventually(ask, pause=0.1)

    old = darkroom.workers(2)
    submit_until(lambda: scenes.ended() >= 5)
    pids = {line.pid for line in artists.starts(darkroom.log)}
    new = [darkroom.start("worker", "default") for _ in old]
    submit_until(lambda: {line.pid for line in artists.starts(darkroom.log)} - pids)
    for worker in old:
        worker.send_signal(signal.SIGTERM)
    submit_until(lambda: all(worker.poll() is not None for worker in old))
    assert [worker.returncode for worker in old] == [0, 0]
    submitted = next(numbers)
    assert scenes.wait_for_the_end() == {"success": submitted}
    names = [line.name for line in artists.starts(darkroom.log)]
    assert len(names) == len(set(names)) == submitted
    assert all(worker.poll() is None for worker in new)
