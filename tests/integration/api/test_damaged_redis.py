"""What is in Redis may be damaged, or written by another version: it counts as not being there."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from tasks_app.core import credentials, queries
from tasks_app.gates import figures, keys, snapshots
from tasks_app.gates.connection import client
from tasks_app.gates.figures import Figures, GeneratorFigures
from tasks_app.models import Generator
from tests.integration.api.caller import Caller, finished
from tests.integration.api.test_polling import forget
from tests.integration.helpers import claimed, submit

pytestmark = pytest.mark.usefixtures("sleeper", "open_slots")

Damage = Callable[[dict[str, Any]], Any]


def _without(name: str) -> Damage:
    return lambda body: {key: value for key, value in body.items() if key != name}


def _document(**changes: Any) -> Damage:
    return lambda body: body | {"document": body["document"] | changes}


DAMAGES: dict[str, Damage] = {
    "a list": lambda body: [body],
    "a number": lambda body: 7,
    "nothing": lambda body: {},
    "no version": _without("version"),
    "no owner": _without("owner"),
    "no document": _without("document"),
    "no expiry": _without("expires"),
    "an owner that is none": lambda body: body | {"owner": "alice"},
    "a document that is none": lambda body: body | {"document": "task"},
    "an unknown state": _document(status="asleep"),
    "no state": _document(status=None),
    "a time that is none": _document(started_at="yesterday"),
    "a result that is none": _document(result=[]),
    "half a result": _document(result={"artifacts": []}),
    "an attempt that is none": _document(attempt="first"),
}
RAW = [b"", b"{", b"\x00\xff", b"null", b"[" * 5_000]


def poll_answers_as_before(as_alice: Caller, path: str, damage: Callable[[], Any]) -> None:
    forget()
    before = as_alice.get(path)
    assert before.status_code == 200
    forget()
    as_alice.get(path)  # stores a sound snapshot
    damage()
    for _ in range(2):
        after = as_alice.get(path)
        assert (after.status_code, after.json()) == (200, before.json())
    listed = as_alice.get("/v1/tasks")
    assert listed.json()["items"] == [before.json()]


@pytest.mark.parametrize("state", ["pending", "running", "success"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_snapshot_is_a_miss(
    as_alice: Caller, alice: Any, state: str, damage: Damage
) -> None:
    task = finished(alice) if state == "success" else submit(alice)
    if state == "running":
        claimed()
    key = keys.snapshot(task.pk)

    def do() -> None:
        body = orjson.loads(client().hget(key, "body"))  # type: ignore[arg-type]
        client().hset(key, "body", orjson.dumps(damage(body)))
        forget_here()

    poll_answers_as_before(as_alice, f"/v1/tasks/{task.pk}", do)
    # It has been written anew: reading it again needs no table.
    ((raw, _),) = snapshots.read([task.pk])
    assert raw is not None
    assert orjson.loads(raw)["document"]["task_id"] == str(task.pk)


def forget_here() -> None:
    """Do what a new process does; Redis stays."""
    queries.clear_caches()


@pytest.mark.parametrize("raw", RAW, ids=range(len(RAW)))
def test_bytes_that_are_no_snapshot_are_a_miss(as_alice: Caller, alice: Any, raw: bytes) -> None:
    task = submit(alice)

    def do() -> None:
        client().hset(keys.snapshot(task.pk), mapping={"body": raw, "version": b"x"})

    poll_answers_as_before(as_alice, f"/v1/tasks/{task.pk}", do)


def test_a_key_of_another_type_is_a_miss(as_alice: Caller, alice: Any) -> None:
    task = submit(alice)

    def do() -> None:
        client().set(keys.snapshot(task.pk), "a string")

    poll_answers_as_before(as_alice, f"/v1/tasks/{task.pk}", do)


@pytest.mark.parametrize(
    "raw", [b"\xff:1", b"1:\xc2\xb2", b"1:" + b"9" * 5_000, b"1", b"", b"1:-3", b":"]
)
def test_progress_that_is_none_does_not_count(as_alice: Caller, alice: Any, raw: bytes) -> None:
    task = submit(alice)
    claimed()
    client().set(keys.progress(task.pk), raw)
    answer = as_alice.get(f"/v1/tasks/{task.pk}")
    assert (answer.status_code, answer.json()["progress"]) == (200, 0)


@pytest.mark.parametrize("raw", [b"", b"alice", b"\xff", b"1.5", b"9" * 5_000])
def test_a_cached_key_that_makes_no_sense_is_looked_up_in_the_table(
    as_alice: Caller, raw: bytes
) -> None:
    as_alice.get("/v1/account")
    (name,) = client().keys(keys.credential("*"))
    client().set(name, raw)
    credentials.clear_caches()
    assert as_alice.get("/v1/account").json()["user"] == "alice"


# --- the figures of a pool -----------------------------------------------------------------


def publish(value: Any) -> None:
    raw = value if isinstance(value, bytes) else orjson.dumps(value)
    client().set(keys.figures("default"), raw)
    figures.clear_cache()


def whole(generator: Generator) -> dict[str, Any]:
    """Return figures in which one task is ahead of ours and each takes 8 seconds."""
    one = {"used": 1, "limit": 1, "paused": False, "seconds": 8.0, "entry": [2, 15.0]}
    return {
        "pool": "default",
        "pending": 1,
        "workers": 1,
        "used": 1,
        "limit": 1,
        "flows": {},
        "generators": {str(generator.pk): one},
        "full_owners": [],
    }


def test_a_newer_tickers_figures_are_understood(
    as_alice: Caller, alice: Any, sleeper: Generator
) -> None:
    path = f"/v1/tasks/{submit(alice).pk}"
    told = whole(sleeper)
    publish(told)
    before = as_alice.get(path).json()
    assert (before["queue_position"], before["waiting_for"], before["eta_seconds"]) == (
        2,
        "slots",
        16,
    )
    told["regions"] = ["north"]
    told["generators"][str(sleeper.pk)]["warm"] = 3
    publish(told)
    assert as_alice.get(path).json() == before


def test_an_older_tickers_figures_are_completed(
    as_alice: Caller, alice: Any, sleeper: Generator
) -> None:
    path = f"/v1/tasks/{submit(alice).pk}"
    publish({"pool": "default", "workers": 1, "generators": {str(sleeper.pk): {"paused": True}}})
    answer = as_alice.get(path).json()
    assert (answer["waiting_for"], answer["queue_position"], answer["eta_seconds"]) == (
        "paused",
        None,
        None,
    )
    publish({"workers": 1})
    assert as_alice.get(path).json()["waiting_for"] == "slots"


NO_FIGURES: list[Any] = [
    *RAW,
    [],
    7,
    {"generators": []},
    {"generators": {"x": 1}},
    {"generators": {"x": {"used": "many"}}},
    {"flows": {"x": [[1]]}},
    {"flows": {"x": []}},
    {"flows": 7},
    {"flows": {"x": [["a", 1, 1]]}},
    {"generators": {"x": {"entry": [1]}}},
    {"pending": "many"},
    {"pending": None},
    {"workers": []},
    {"full_owners": ["alice"]},
]


@pytest.mark.parametrize("told", NO_FIGURES, ids=range(len(NO_FIGURES)))
def test_figures_that_make_no_sense_are_unknown(
    as_alice: Caller, alice: Any, told: Any, caplog: pytest.LogCaptureFixture
) -> None:
    path = f"/v1/tasks/{submit(alice).pk}"
    publish(told)
    answer = as_alice.get(path)
    assert (answer.status_code, answer.json()["queue_position"]) == (200, None)
    assert "the figures of pool default are not understood" in caplog.text


def test_what_is_published_is_what_is_read() -> None:
    told = Figures(
        "default",
        pending=3,
        workers=2,
        used=1,
        limit=4,
        flows={"f": [(1.0, 1, 0.5), (3.0, 2, 1.5)]},
        generators={"a": GeneratorFigures(1, 2, True, 3.5, rate_wait=0.5, entry=(4, 2.5))},
        full_owners=[7],
    )
    figures.publish(told)
    assert figures.read("default") == told
