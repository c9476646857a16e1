"""Invariant 9: another user's task or file is a 404 everywhere, and stays as it is."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tasks_app.core import queries
from tasks_app.gates.connection import client
from tasks_app.models import Artifact, Event, Generator, Task
from tests.conftest import make_user
from tests.integration.api.caller import Caller, finished, problem
from tests.integration.helpers import submit

UNKNOWN = "0198e0aa-0000-7000-8000-00000000abcd"
ROUTES = [
    ("GET", "/v1/tasks/{task}"),
    ("DELETE", "/v1/tasks/{task}"),
    ("POST", "/v1/tasks/{task}/retry"),
    ("DELETE", "/v1/tasks/{task}/result"),
    ("GET", "/v1/tasks/{task}/events"),
    ("GET", "/v1/artifacts/{artifact}"),
    ("GET", "/v1/artifacts/{artifact}/thumbnail"),
]

pytestmark = pytest.mark.usefixtures("sleeper", "open_slots")


def by_key(user: Any, key_of: Callable[[Any], str]) -> Caller:
    return Caller(key_of(user))


def by_session(user: Any, key_of: Callable[[Any], str]) -> Caller:
    caller = Caller()
    caller.client.force_login(user)
    caller.client.cookies["darkroom_csrf"] = "t" * 32
    caller.headers = {"X-CSRFToken": "t" * 32}
    return caller


def everything() -> list[Any]:
    tables = (Task, Event, Artifact)
    return [list(table._default_manager.order_by("pk").values()) for table in tables]


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
@pytest.mark.parametrize("staff", [False, True], ids=["user", "staff"])
@pytest.mark.parametrize("how", [by_key, by_session])
def test_bob_must_get_404_for_what_is_alices(
    as_alice: Caller,
    alice: Any,
    key_of: Callable[[Any], str],
    how: Callable[[Any, Callable[[Any], str]], Caller],
    staff: bool,
    warm: bool,
) -> None:
    done, open_task = finished(alice), submit(alice)
    artifact = done.artifacts.get()
    bob = make_user("bob")
    bob.is_staff = bob.is_superuser = staff
    bob.save()
    as_bob = how(bob, key_of)
    before = everything()
    for task in (done, open_task):
        if warm:
            assert as_alice.get(f"/v1/tasks/{task.pk}").status_code == 200
        else:
            client().flushdb()
            queries.clear_caches()
        for method, route in ROUTES:
            theirs = as_bob(method, route.format(task=task.pk, artifact=artifact.pk))
            nobodys = as_bob(method, route.format(task=UNKNOWN, artifact=UNKNOWN))
            # The very answer that a thing gets which never was.
            assert without_id(problem(theirs, 404)) == without_id(problem(nobodys, 404))
            assert set(theirs.headers) == set(nobodys.headers)
    for query in (
        "",
        f"?ids={done.pk},{open_task.pk}",
        f"?cursor={'f' * 8}-ffff-7fff-bfff-{'f' * 12}",
    ):
        assert as_bob.get(f"/v1/tasks{query}").json() == {"items": [], "next_cursor": None}
    assert as_bob.get("/v1/account").json()["limits"]["open"]["used"] == 0
    assert everything() == before
    mine = as_alice.get(f"/v1/tasks?ids={open_task.pk},{UNKNOWN},{done.pk}").json()["items"]
    assert [item["task_id"] for item in mine] == [str(open_task.pk), str(done.pk)]


def without_id(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != "request_id"}


def test_a_mixed_list_of_ids_shows_only_ones_own(as_bob: Caller, alice: Any, bob: Any) -> None:
    theirs, own = submit(alice), submit(bob)
    found = as_bob.get(f"/v1/tasks?ids={theirs.pk},{own.pk}").json()["items"]
    assert [item["task_id"] for item in found] == [str(own.pk)]


def test_the_key_wins_over_the_session(as_bob: Caller, alice: Any) -> None:
    task = submit(alice)
    as_bob.client.force_login(alice)
    problem(as_bob.get(f"/v1/tasks/{task.pk}"), 404)
    problem(as_bob("DELETE", f"/v1/tasks/{task.pk}"), 404)
    assert as_bob.get("/v1/account").json()["user"] == "bob"
    as_bob.headers = {"Authorization": "Bearer dk_wrong"}
    problem(as_bob.get(f"/v1/tasks/{task.pk}"), 401)  # not the session, silently


def test_bob_cannot_see_alices_idempotency_keys(
    as_alice: Caller, as_bob: Caller, sleeper: Generator
) -> None:
    first = as_alice.submit(Idempotency_Key="same")
    second = as_bob.submit(Idempotency_Key="same")
    assert (first.status_code, second.status_code) == (202, 202)
    assert first.json()["task_id"] != second.json()["task_id"]


def test_a_retry_of_ones_own_task_cannot_name_anothers(
    as_bob: Caller, alice: Any, bob: Any
) -> None:
    task = finished(alice)
    body = {"generator": "sleeper", "params": {"prompt": "p"}, "retry_of": str(task.pk)}
    problem(as_bob.submit(body), 422, pointer="/retry_of")


def test_documents_hold_nothing_internal(as_alice: Caller, alice: Any) -> None:
    task = finished(alice)
    own = f"/v1/tasks/{task.pk}"
    shown = json.dumps([as_alice.get(p).json() for p in (own, f"{own}/events", "/v1/generators")])
    assert "claimed" in shown
    artifact = task.artifacts.get()
    for hidden in (
        artifact.storage_key,
        "tests.artists",
        "by hand",  # the worker's name
        '"owner"',
        '"tag"',
        '"pool"',
    ):
        assert hidden not in shown
