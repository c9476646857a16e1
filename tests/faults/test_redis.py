"""Redis that forgets, dies and comes back with old news: no task is lost, none runs twice."""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from tasks_app.models import Generator
from tests import artists, scenes
from tests.conftest import make_generator
from tests.faults.servers import OwnServer
from tests.processes import Service, eventually

Services = Callable[..., Service]


def test_emptied_again_and_again_it_costs_no_task_and_admits_nobody_too_many(
    service: Services, alice: Any
) -> None:
    limited = make_generator("limited", max_running=3, expected_seconds=0.3)
    darkroom = service()
    scenes.submit_many(alice, limited, [f"picture {n}" for n in range(33)], seconds=0.3)
    darkroom.ticker()
    darkroom.workers(5)
    eventually(lambda: len(artists.unfinished(darkroom.log)) == 3, pause=0.01)
    flushes = []
    for after in (0, 8, 9, 16, 24):
        scenes.wait_until_ended(after)
        darkroom.redis().flushall()
        flushes.append(time.monotonic())

    assert scenes.wait_for_the_end() == {"success": 33}
    _each_ran_once(darkroom, 33)
    log = artists.read(darkroom.log)
    assert artists.most_at_once(log) == 3
    assert all(any(line.at > at for line in log) for at in flushes)


def test_emptied_all_the_time_it_still_admits_nobody_too_many(
    service: Services, alice: Any
) -> None:
    """Any moment of a claim or of a restoration may be the one at which the slots are lost."""
    limited = make_generator("limited", max_running=2, expected_seconds=0.05)
    darkroom = service(DARKROOM_SLOT_FENCE="0.2")
    darkroom.ticker()
    darkroom.workers(4)
    scenes.submit_many(alice, limited, [f"picture {n}" for n in range(30)], seconds=0.05)
    redis = darkroom.redis()
    pauses = (0.0, 0.21, 0.22, 0.25, 0.3)
    for turn in range(12):
        time.sleep(pauses[turn % len(pauses)])
        redis.flushall()
    assert scenes.wait_for_the_end() == {"success": 30}
    _each_ran_once(darkroom, 30)
    assert artists.most_at_once(artists.read(darkroom.log)) <= 2


def test_killed_and_back_with_nothing_or_with_old_news_it_costs_no_task(
    service: Services, own_redis: OwnServer, alice: Any
) -> None:
    limited = make_generator("limited", max_running=3, expected_seconds=0.4)
    darkroom = service(REDIS_URL=own_redis.url)
    darkroom.ticker()
    darkroom.kept_workers(4)
    scenes.submit_many(alice, limited, [f"picture {n}" for n in range(14)], seconds=0.5)

    eventually(lambda: len(artists.starts(darkroom.log)) >= 3)
    own_redis.kill()
    own_redis.start()
    scenes.wait_until_ended(4)
    eventually(lambda: len(artists.unfinished(darkroom.log)) == 3, pause=0.01)
    darkroom.redis().save()
    done = scenes.ended()
    scenes.wait_until_ended(done + 4)
    own_redis.kill()
    own_redis.start()

    assert scenes.wait_for_the_end() == {"success": 14}
    _each_ran_once(darkroom, 14)
    assert artists.most_at_once(artists.read(darkroom.log)) == 3


def test_away_when_a_busy_worker_is_told_to_stop_it_fails_no_task(
    service: Services, own_redis: OwnServer, alice: Any, sleeper: Generator
) -> None:
    """The signal arrives in the middle of the model's code: nothing may be raised there."""
    darkroom = service(REDIS_URL=own_redis.url)
    darkroom.ticker()
    (worker,) = darkroom.workers(1)
    task_id = scenes.submit(alice, sleeper, "picture", seconds=1.0)
    eventually(lambda: artists.starts(darkroom.log))
    own_redis.kill()
    worker.terminate()
    eventually(scenes.in_state(task_id, "success"))
    assert scenes.history(task_id) == ["submitted", "claimed", "succeeded"]
    worker.wait(10)
    own_redis.start()


def _each_ran_once(darkroom: Service, number: int) -> None:
    started = Counter(line.name for line in artists.starts(darkroom.log))
    assert len(started) == number
    assert set(started.values()) == {1}
