"""One scenario per fault, on one plant, each judged by the history of its callers."""

import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import pytest
from redis import Redis

from tasks_app.models import Attempt
from tests import artists, scenes
from tests.faults.afar import BREAKS, Gate, several
from tests.faults.instants import INSTANTS, dying_worker, worker_with_clock
from tests.faults.network import Proxy
from tests.faults.witness import LEASE, Callers, Plant, start_web
from tests.processes import eventually
from tests.upstreams.comfyui import WORKFLOW, ComfyUI

OUTAGE = LEASE + 1.0
"""Longer than every lease: what a minute is to the periods of production."""
TEN_MINUTES = 600.0


@contextmanager
def meanwhile(action: Callable[[], object]) -> Iterator[None]:
    """Do something in a thread during the block; what it raises is raised here."""
    raised: list[BaseException] = []

    def act() -> None:
        try:
            action()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=act)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    if raised:
        raise raised[0]


def outcomes(callers: Callers) -> Counter[str]:
    """Return how the attempts of a scenario ended."""
    found = Attempt.objects.filter(task__generator=callers.generator)
    return Counter(found.values_list("outcome", flat=True))


# --- workers --------------------------------------------------------------------------------


def test_workers_killed_at_every_instant(plant: Plant) -> None:
    callers = Callers(plant, "instants", at_once=8)
    dying = {instant: plant.service.python(dying_worker(instant)) for instant in INSTANTS}

    def send_and_look() -> bool:
        for worker in dying.values():
            if worker.poll() is not None:
                plant.service.died.setdefault(worker.pid, time.monotonic())
        living = [worker for worker in dying.values() if worker.poll() is None]
        if living and len(callers.ids()) - callers.ended() < 12:
            callers.send(2, 0.4)
        return not living

    eventually(send_and_look, within=60, why="each of them dies")
    assert {worker.returncode for worker in dying.values()} == {-signal.SIGKILL}
    callers.verdict()
    assert outcomes(callers)["lost"] == len(INSTANTS) - 1, "a committed success is not lost"


def test_a_deploy_in_the_middle(plant: Plant) -> None:
    callers = Callers(plant, "deploy", at_once=3)
    callers.send(6, 0.5)
    callers.send(3, 4.0)
    eventually(callers.running)
    before = eventually(lambda: _three(plant))
    for worker in before:
        worker.send_signal(signal.SIGTERM)
        callers.send(2, 0.3)
    eventually(lambda: all(worker.poll() == 0 for worker in before), why="they end well")
    callers.verdict()
    assert outcomes(callers)["lost"] == 0


def _three(plant: Plant) -> "list[subprocess.Popen[bytes]] | None":
    found = _workers(plant)
    return found if len(found) == 3 else None


def test_a_worker_frozen_for_longer_than_its_lease(plant: Plant) -> None:
    callers = Callers(plant, "frozen")
    callers.send(6, 1.5)
    (first, *_) = eventually(callers.running)
    callers.frozen[first.pid] = time.monotonic()
    os.kill(first.pid, signal.SIGSTOP)
    try:
        eventually(lambda: outcomes(callers)["lost"] == 1, why="its attempt is taken away")
        callers.wait_until_ended(2)
    finally:
        os.kill(first.pid, signal.SIGCONT)
    eventually(lambda: _has_stopped(callers, first), why="the stale execution stops")
    callers.verdict()
    assert outcomes(callers) == {"lost": 1, "success": 6}


def _has_stopped(callers: Callers, begun: artists.Line) -> bool:
    return any(
        (line.what, line.pid) == ("stop", begun.pid) and line.at > begun.at
        for line in callers.lines()
    )


def test_clocks_of_workers_are_wrong_in_either_direction(plant: Plant) -> None:
    callers = Callers(plant, "clocks", at_once=5, timeout_seconds=3.0)
    wrong = [plant.service.program(worker_with_clock(by)) for by in (-TEN_MINUTES, TEN_MINUTES)]

    def have_done_two_each() -> bool:
        if len(callers.ids()) - callers.ended() < 10:
            callers.send(4, 0.2)
        done = Counter(line.pid for line in callers.lines() if line.what == "done")
        return all(done[worker.pid] >= 2 for worker in wrong)

    eventually(have_done_two_each, why="the workers take part")
    callers.send(1, 60.0)
    for worker in wrong:
        worker.terminate()
    callers.verdict()
    assert [worker.wait(10) for worker in wrong] == [0, 0]
    assert set(outcomes(callers)) <= {"success", "revoked", "interrupted"}


# --- PostgreSQL -----------------------------------------------------------------------------


def test_the_database_dies_and_comes_back(plant: Plant) -> None:
    callers = Callers(plant, "database-dies")
    callers.send(4, 1.0)
    eventually(callers.running)
    with meanwhile(lambda: callers.send(8, 0.3)):
        plant.database.kill()
        time.sleep(OUTAGE)
        plant.database.start()
        scenes.reconnect()
    callers.lateness += OUTAGE
    callers.verdict()
    assert callers.refused, "the outage was seen"
    assert outcomes(callers)["lost"] == 0, "what ran meanwhile was not taken away"


def test_connections_are_ended_twice_a_second(plant: Plant) -> None:
    callers = Callers(plant, "terminated")
    died = dict(plant.service.died)
    ended = 0
    with meanwhile(lambda: callers.send(20, 0.3)):
        for _ in range(8):
            ended += scenes.end_connections()
            time.sleep(0.5)
    assert ended > 10
    callers.verdict()
    assert plant.service.died == died
    assert set(outcomes(callers)) <= {"success", "lost"}, "lost: a claim that nobody was told of"


COMMITS = {
    "submission": b'INSERT INTO "tasks_app_task"',
    "claim": b"'running'",
    "success": b"'success'",
    "cancel": b"'canceled'",
}


def test_commits_that_succeed_while_the_client_sees_a_broken_connection(plant: Plant) -> None:
    callers = Callers(plant, "commits")
    for number, statement in enumerate(COMMITS.values(), 1):
        plant.to_database.lose_commit(statement)
        if statement == COMMITS["cancel"]:
            (key,) = callers.send(1, 5.0)
            callers.cancel(callers.task_of(key))
        else:
            callers.send(2, 0.2)
        eventually(lambda: len(plant.to_database.lost) == number, why=str(statement))  # noqa: B023
    callers.verdict()
    assert callers.refused, "the caller of the submission was not told"


# --- Valkey ---------------------------------------------------------------------------------


def test_valkey_restarts_empty(plant: Plant) -> None:
    callers = Callers(plant, "valkey-empty")
    callers.send(8, 0.4)
    for after in (1, 4):
        callers.wait_until_ended(after)
        eventually(lambda: len(callers.running()) == 2, pause=0.01)
        plant.redis.kill()
        plant.redis.start()
        callers.send(2, 0.4)
    callers.verdict()


def test_valkey_is_out_of_memory(plant: Plant) -> None:
    callers = Callers(plant, "valkey-full", timeout_seconds=3.0)
    callers.send(4, 0.4)
    callers.wait_until_ended(1)
    redis = plant.own_redis()
    redis.config_set("maxmemory", "1")
    callers.send(4, 0.4)
    callers.send(1, 60.0)
    time.sleep(OUTAGE)
    redis.config_set("maxmemory", "0")
    callers.lateness += OUTAGE
    callers.verdict()


def test_valkey_pauses_for_five_seconds(plant: Plant) -> None:
    callers = Callers(plant, "valkey-paused")
    callers.send(4, 1.0)
    eventually(callers.running)
    plant.own_redis().client_pause(5_000, all=True)
    callers.send(4, 0.4)
    callers.verdict()


def test_valkey_cannot_be_reached_for_longer_than_every_lease(plant: Plant) -> None:
    """What runs goes on, its slots expire meanwhile, and nobody may start in its place."""
    callers = Callers(plant, "valkey-away")
    callers.send(2, OUTAGE + 4.0)
    callers.send(4, 0.4)
    eventually(lambda: len(callers.running()) == 2)
    plant.to_redis.hold()
    callers.send(2, 0.4)
    time.sleep(OUTAGE)
    plant.to_redis.restore()
    callers.verdict()


def test_one_worker_alone_cannot_reach_valkey(plant: Plant) -> None:
    callers = Callers(plant, "cut-off")
    with own_way(plant) as (way, url):
        worker = plant.service.start("worker", "default", REDIS_URL=url)

        def has_begun() -> list[artists.Line]:
            if len(callers.ids()) - callers.ended() < 4:
                callers.send(2, 2 * LEASE)
            return [line for line in callers.running() if line.pid == worker.pid]

        (begun,) = eventually(has_begun, within=60)
        way.hold()
        eventually(lambda: _has_stopped(callers, begun), why="it goes on without Valkey")
        way.restore()
        worker.terminate()
        callers.verdict()
        worker.wait(10)


@contextmanager
def own_way(plant: Plant) -> Iterator[tuple[Proxy, str]]:
    """Return a way to Valkey for one process alone."""
    target = ("127.0.0.1", plant.to_redis.port)
    way = Proxy(target)
    try:
        yield way, plant.service.redis_url.replace(f":{target[1]}/", f":{way.port}/")
    finally:
        way.restore()
        way.close()


def test_keys_of_a_wrong_type(plant: Plant) -> None:
    callers = Callers(plant, "wrong-type")
    callers.send(2, 3.0)
    eventually(lambda: len(callers.running()) == 2)
    assert _spoil(plant.own_redis()) >= 4
    callers.send(4, 0.2)
    callers.verdict()


def _spoil(redis: Redis) -> int:
    """Make every key of slots what it must not be."""
    found: list[Any] = [*redis.scan_iter("*{slots}*", 1_000), b"rq:queue:default"]
    for key in found:
        kind = redis.type(key)
        redis.delete(key)
        if kind == b"string":
            redis.zadd(key, {"nonsense": 1e15})
        else:
            redis.set(key, "nonsense")
    return len(found)


# --- storage --------------------------------------------------------------------------------


def test_the_storage_of_results_refuses(plant: Plant) -> None:
    """No attempt is wasted: what is done waits, and nothing else is started."""
    callers = Callers(plant, "storage")
    callers.send(1, 0.2)
    callers.wait_until_ended(1)
    results = plant.data / "results"
    kept = results.rename(plant.data / "kept")
    results.write_text("")
    callers.send(6, 0.2)
    eventually(lambda: len(_done(callers)) >= 2, why="there is something to store")
    eventually(lambda: set(callers.waiting_for()) == {"storage"}, why="callers are told why")
    begun = len(callers.lines())
    time.sleep(2.5)  # the storage is looked at meanwhile, and found wanting
    assert len(callers.lines()) == begun
    results.unlink()
    kept.rename(results)
    callers.verdict()
    assert outcomes(callers) == {"success": 7}


def _done(callers: Callers) -> list[artists.Line]:
    return [line for line in callers.lines() if line.what == "done"]


# --- networks, web --------------------------------------------------------------------------


def test_networks_that_are_slow_and_reset_connections(plant: Plant) -> None:
    callers = Callers(plant, "network")
    died = dict(plant.service.died)
    with meanwhile(lambda: callers.send(12, 0.3)):
        for network in (plant.to_database, plant.to_redis) * 2:
            network.delay(0.05)
            time.sleep(0.6)
            network.reset()
            network.restore()
            time.sleep(0.3)
    for network in (plant.to_database, plant.to_redis):
        network.cut()
        time.sleep(1.0)
        network.restore()
    callers.verdict()
    assert plant.service.died == died, "a warm model costs minutes: workers live through it"


def test_web_processes_are_killed_under_load(plant: Plant) -> None:
    callers = Callers(plant, "web-killed")
    with meanwhile(lambda: callers.send(40, 0.05)):
        for after in (2, 10, 20):
            eventually(lambda: _kept_web(plant) and len(callers.ids()) >= after)  # noqa: B023
            for process in _web_processes(plant):
                process.kill()
        eventually(lambda: _kept_web(plant) and len(callers.ids()) >= 40)
    callers.verdict()
    assert callers.refused


def _kept_web(plant: Plant) -> bool:
    """Start the web server again if it has ended, as a supervisor does.

    It ends by itself when a process that it has just replaced dies as well.
    """
    if plant.web.poll() is not None:
        plant.web = start_web(plant.service)
    return True


@pytest.mark.timeout(480)  # its long form, on a machine that does other things
def test_a_rolling_restart_of_everything_under_load(plant: Plant) -> None:
    """No failed request, and no task lost or doubled. `make faults` takes a minute for it."""
    rate, seconds = (float(one) for one in os.environ.get(ROLLING, "8x6").split("x"))
    callers = Callers(plant, "rolling", at_once=3)
    number = int(rate * seconds / 2)
    with (
        meanwhile(lambda: callers.send_steadily(number, 2 / rate, kept=True)),
        meanwhile(lambda: callers.send_steadily(number, 2 / rate, kept=False)),
    ):
        for _ in range(max(1, int(seconds / 20))):
            _restart_everything(plant)
    callers.verdict(within=240)
    assert callers.refused + callers.unanswered == {}
    assert outcomes(callers)["lost"] == 0


ROLLING = "DARKROOM_FAULTS_ROLLING"
"""Names RATExSECONDS of that scenario."""


def _restart_everything(plant: Plant) -> None:
    for worker in _workers(plant):
        worker.send_signal(signal.SIGTERM)
        eventually(lambda: worker.poll() is not None)  # noqa: B023
    old = plant.web
    plant.web = start_web(plant.service)
    eventually(lambda: _listens(plant), why="the new web server listens")
    old.send_signal(signal.SIGTERM)
    assert old.wait(20) == 0
    old, plant.ticker = plant.ticker, plant.service.ticker()
    old.send_signal(signal.SIGTERM)
    assert old.wait(20) == 0


def _workers(plant: Plant) -> "list[subprocess.Popen[bytes]]":
    """Return the workers that are kept, as they are now."""
    return [child for child in plant.service.kept.values() if child.poll() is None]


def _listens(plant: Plant) -> bool:
    return any(
        (one.status, one.laddr.port) == (psutil.CONN_LISTEN, plant.service.port)
        for process in _web_processes(plant)
        for one in process.net_connections("tcp")
    )


def _web_processes(plant: Plant) -> list[psutil.Process]:
    """Return the processes that answer requests."""
    web: subprocess.Popen[bytes] = plant.web
    return [
        one
        for one in psutil.Process(web.pid).children()
        if "resource_tracker" not in " ".join(one.cmdline())
    ]


# --- upstreams ------------------------------------------------------------------------------


def test_upstreams_that_cannot_be_connected_to(afar: Plant) -> None:
    """Nothing was sent: the tasks wait and go on, and each is submitted once."""
    with several(afar, "afar-down") as (far,):
        far.way.vanish()
        far.send(2)
        eventually(lambda: far.outcomes()["error"] >= 2, why="both have tried")
        assert far.upstream.seen == []
        far.way.restore()
        far.verdict()
        assert (far.errors(), far.upstream.count("create")) == ({"": 2}, 2)


def test_submissions_that_are_broken_off_on_their_way(afar: Plant) -> None:
    """Sent, and never delivered, or too late: nobody can tell, so nobody sends it again."""
    with several(afar, *(f"afar-sent-{how}" for how in BREAKS)) as callers:
        for far in callers:
            far.way.hold()
            far.send(1)
        for far, broken in zip(callers, BREAKS.values(), strict=True):
            eventually(lambda: far.way.held, why="it is on its way")  # noqa: B023
            broken(far.way)
        for far in callers:
            eventually(lambda: far.ended() == 1, why="it has failed")  # noqa: B023
            far.way.restore()
            far.verdict()
            assert far.errors() == {"outcome_unknown": 1}
            assert far.upstream.count("create") <= 1, "what was held is delivered at last"


def test_submissions_whose_answers_are_broken_off(afar: Plant) -> None:
    """Delivered, and not answered: paid for once, unless the operator says that it is free."""
    comfy = ComfyUI()
    finding = {"workflow": WORKFLOW, "inputs": {"prompt": "6.text"}, "parameters": PROMPT}
    with (
        several(afar, *(f"afar-answer-{how}" for how in BREAKS)) as telling_nobody,
        several(afar, "afar-answer-free", settings={"free_to_repeat": True}) as (free,),
        several(afar, "afar-found", adapter="comfyui", upstream=comfy, settings=finding) as (
            found,
        ),
    ):
        callers = [*telling_nobody, free, found]
        gates = [Gate() for _ in callers]
        for far, gate in zip(callers, gates, strict=True):
            far.upstream.faults["POST prompt" if far is found else "create"] = [gate]
            far.send(1)
        breaks = [*BREAKS.values(), Proxy.reset, Proxy.reset]
        for far, gate, broken in zip(callers, gates, breaks, strict=True):
            gate.wait()
            broken(far.way)
            gate.opened.set()
        for far in (*telling_nobody, free):
            eventually(lambda: far.outcomes()["error"] == 1, why="no answer came")  # noqa: B023
            far.way.restore()
            far.verdict()
            made = len(far.upstream.predictions)
            assert (far.errors(), made) == (
                ({"": 1}, 2) if far is free else ({"outcome_unknown": 1}, 1)
            )
        eventually(lambda: found.attempts().exclude(upstream_id="").exists(), why="it is found")
        comfy.finish()
        found.verdict()
        assert (found.errors(), found.outcomes()) == ({"": 1}, {"success": 1})
        assert comfy.count("POST prompt") == 1, "the upstream could tell that it has it"


def test_the_storage_refuses_what_upstreams_made(afar: Plant) -> None:
    """What was paid for waits, and nothing else is submitted meanwhile, by any process."""
    with several(afar, "afar-storage") as (far,):
        far.send(1)
        far.wait_until_ended(1)
        results = afar.data / "results"
        kept = results.rename(afar.data / "kept")
        results.write_text("")
        far.send(1)
        eventually(lambda: far.upstream.count("get") >= 2, why="it is done upstream")
        far.send(3)
        eventually(lambda: far.waiting_for() == ["storage"] * 3, why="callers are told why")
        assert far.upstream.count("create") == 2
        results.unlink()
        kept.rename(results)
        far.verdict()
        assert (far.errors(), far.outcomes()) == ({"": 5}, {"success": 5})
        assert (far.upstream.count("create"), far.upstream.count("file")) == (5, 6)


PROMPT = {
    "type": "object",
    "properties": {"prompt": {"type": "string", "title": "Prompt", "maxLength": 100}},
    "required": ["prompt"],
    "additionalProperties": False,
}


def test_questions_that_are_broken_off(afar: Plant) -> None:
    """A question that fails is not a task that fails; many are, and nothing is repeated."""
    names = [f"afar-asked-{how}" for how in (*BREAKS, "for-long")]
    with several(afar, *names) as callers:
        for far in callers:
            far.upstream.seconds = 600.0
            far.send(1)
        for far, broken in zip(callers, (*BREAKS.values(), Proxy.vanish), strict=True):
            eventually(lambda: far.upstream.count("get"), why="it is asked about")  # noqa: B023
            broken(far.way)
        *brief, for_long = callers
        cut, reset, blackholed = brief
        eventually(lambda: cut.attempts().get().poll_failures, why="a question has failed")
        cut.way.restore()
        eventually(lambda: blackholed.way.held, why="a question is held")
        eventually(lambda: reset.upstream.count("get") > 1, why="it is asked again")
        for far in brief:
            far.upstream.finish()
            far.way.restore()
        for far in brief:
            far.verdict()
            assert (far.errors(), far.outcomes()) == ({"": 1}, {"success": 1})
        eventually(lambda: for_long.ended() == 1, why="nobody could ask for long")
        for_long.way.restore()
        for_long.upstream.finish()
        for_long.verdict()
        assert for_long.errors() == {"upstream_unreachable": 1}
        assert all(len(far.upstream.predictions) == 1 for far in callers)
