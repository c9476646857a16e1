"""Polls: cheap, current, and honest about what is gone."""

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from tasks_app.core import cancellation, queries
from tasks_app.gates import keys
from tasks_app.gates.connection import client
from tasks_app.models import Attempt, Generator, Task, new_id
from tests.integration.api.caller import Caller, finished, problem
from tests.integration.helpers import claimed, shift, submit

pytestmark = pytest.mark.usefixtures("sleeper", "open_slots")


def forget() -> None:
    """Do what FLUSHALL and a new process do."""
    client().flushdb()
    queries.clear_caches()


def end_in(alice: Any, state: str) -> Task:
    if state == "success":
        return finished(alice)
    task = submit(alice)
    if state == "running":
        claimed()
    if state == "failed":
        cancellation.cancel(task.pk, alice.pk)
    return task


@pytest.mark.parametrize("state", ["pending", "running", "failed", "success"])
def test_an_authenticated_poll_on_a_warm_snapshot_asks_no_database(
    as_alice: Caller, alice: Any, django_assert_num_queries: DjangoAssertNumQueries, state: str
) -> None:
    path = f"/v1/tasks/{end_in(alice, state).pk}"
    warm = as_alice.get(path)  # the key becomes known to this process
    for _ in range(2):  # from Redis, then (if it has ended) from this process
        with django_assert_num_queries(0):
            answer = as_alice.get(path)
        assert (answer.status_code, answer.json()["status"]) == (200, state)
        assert answer["ETag"] == warm["ETag"]


@pytest.mark.parametrize("state", ["pending", "running", "failed", "success"])
def test_after_flushall_the_table_answers_the_same(
    as_alice: Caller, alice: Any, state: str
) -> None:
    path = f"/v1/tasks/{end_in(alice, state).pk}"
    warm = as_alice.get(path)
    forget()
    cold = as_alice.get(path)
    assert cold.json() == warm.json()
    assert cold["ETag"] == warm["ETag"]
    forget()
    listed = as_alice.get("/v1/tasks").json()["items"]
    assert listed == [warm.json()]


def test_a_poll_of_a_missing_snapshot_asks_little_and_repairs_it(
    as_alice: Caller, alice: Any, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    task = end_in(alice, "running")
    as_alice.get("/v1/account")
    client().delete(keys.snapshot(task.pk))
    with django_assert_max_num_queries(3):
        as_alice.get(f"/v1/tasks/{task.pk}")
    with django_assert_max_num_queries(0):
        as_alice.get(f"/v1/tasks/{task.pk}")


def test_retry_after_is_given_while_the_task_lives(as_alice: Caller, alice: Any) -> None:
    for state in ("pending", "running"):
        answer = as_alice.get(f"/v1/tasks/{end_in(alice, state).pk}")
        assert 1 <= int(answer["Retry-After"]) <= 15
        assert answer["Cache-Control"] == "private, no-cache"
        assert int(as_alice.get("/v1/tasks")["Retry-After"]) >= 1


@pytest.mark.parametrize("state", ["failed", "success"])
def test_an_ended_task_has_no_retry_after(as_alice: Caller, alice: Any, state: str) -> None:
    path = f"/v1/tasks/{end_in(alice, state).pk}"
    assert "Retry-After" not in as_alice.get(path)
    assert "Retry-After" not in as_alice.get("/v1/tasks")
    assert "Retry-After" not in as_alice("DELETE", path)


def test_a_refused_poll_is_an_answer_and_no_exception_to_watch_for(as_alice: Caller) -> None:
    path = f"/v1/tasks/{new_id()}"
    for caller, status in [(as_alice, 404), (Caller(), 401), (Caller("dk_wrong"), 401)]:
        caller.client.raise_request_exception = True
        problem(caller.get(path), status)


def test_304_while_nothing_is_new(as_alice: Caller, alice: Any) -> None:
    task = submit(alice)
    path = f"/v1/tasks/{task.pk}"
    etag = as_alice.get(path)["ETag"]
    assert etag.startswith('W/"')
    for known in (etag, f'"x", {etag}, W/"y"', "*", etag.removeprefix("W/")):
        answer = as_alice.get(path, If_None_Match=known)
        assert (answer.status_code, answer.content) == (304, b""), known
        assert (answer["ETag"], int(answer["Retry-After"]) >= 1) == (etag, True)
    for other in ('W/"x"', "", etag.strip('W/"'), '"*"', f"x{etag[:-2]}"):
        assert as_alice.get(path, If_None_Match=other).status_code == 200, other
    claimed()
    answer = as_alice.get(path, If_None_Match=etag)
    assert (answer.status_code, answer.json()["status"]) == (200, "running")


def test_progress_makes_a_new_etag_and_belongs_to_its_attempt(as_alice: Caller, alice: Any) -> None:
    task = submit(alice)
    claimed()
    path = f"/v1/tasks/{task.pk}"
    etags = set()
    for raw, shown in [
        ("1:0", 0),
        ("1:40", 40),
        ("1:100", 99),  # not done before it is stored
        ("0:70", 0),  # an earlier attempt's
        ("2:70", 0),
        ("1:x", 0),
        ("", 0),
    ]:
        client().set(keys.progress(task.pk), raw)
        answer = as_alice.get(path)
        assert (answer.json()["progress"], answer.json()["attempt"]) == (shown, 1), raw
        etags.add(answer["ETag"])
    assert len(etags) == 3


def test_without_redis_progress_is_that_of_the_last_heartbeat(as_alice: Caller, alice: Any) -> None:
    task = submit(alice)
    claimed()
    Attempt.objects.update(progress=0.25)
    forget()
    assert as_alice.get(f"/v1/tasks/{task.pk}").json()["progress"] == 25


@pytest.mark.parametrize("cold", [False, True])
def test_an_expired_result_is_a_tombstone(as_alice: Caller, alice: Any, cold: bool) -> None:
    task = finished(alice)
    path, artifact = f"/v1/tasks/{task.pk}", task.artifacts.get()
    fresh = as_alice.get(path)
    (shown,) = fresh.json()["result"]["artifacts"]
    assert shown["url"].endswith(f"/v1/artifacts/{artifact.pk}")
    assert as_alice.get(f"/v1/artifacts/{artifact.pk}").status_code == 302
    shift(task, "result_expires_at", -8 * 86_400)
    if cold:
        forget()
    else:  # only time has passed: what is kept says when it expires
        queries.refresh(task.pk)
        as_alice.get(path)
    gone = as_alice.get(path, If_None_Match=fresh["ETag"])
    assert gone.status_code == 200, "a poller that has the old document must learn of it"
    result = gone.json()["result"]
    assert (gone.json()["status"], result["artifacts"]) == ("success", [])
    assert result["removed_at"] == result["expires_at"]
    for suffix in ("", "/thumbnail"):
        problem(as_alice.get(f"/v1/artifacts/{artifact.pk}{suffix}"), 410, "result_expired")


def test_a_document_kept_in_this_process_expires_on_time(
    as_alice: Caller, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = finished(alice)
    path = f"/v1/tasks/{task.pk}"
    etag = [as_alice.get(path) for _ in range(2)][1]["ETag"]
    assert queries._terminal.get(task.pk) is not None
    assert task.result_expires_at is not None
    later = task.result_expires_at.timestamp()
    monkeypatch.setattr(queries.time, "time", lambda: later)  # type: ignore[attr-defined]
    assert queries._terminal.get(task.pk) is None
    answer = as_alice.get(path, If_None_Match=etag)
    assert (answer.status_code, answer.json()["result"]["artifacts"]) == (200, [])


def test_a_document_kept_in_this_process_is_for_its_owner_and_for_five_seconds(
    as_alice: Caller, as_bob: Caller, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = finished(alice)
    path = f"/v1/tasks/{task.pk}"
    as_alice.get(path)
    assert queries._terminal.get(task.pk) is not None
    problem(as_bob.get(path), 404)
    now = queries.time.monotonic()  # type: ignore[attr-defined]
    monkeypatch.setattr(queries.time, "monotonic", lambda: now + 5.01)  # type: ignore[attr-defined]
    assert queries._terminal.get(task.pk) is None


def test_a_removed_result_is_a_tombstone_and_removing_it_again_changes_nothing(
    as_alice: Caller, alice: Any
) -> None:
    task = finished(alice)
    artifact = task.artifacts.get()
    before = as_alice.get(f"/v1/tasks/{task.pk}")
    first = as_alice("DELETE", f"/v1/tasks/{task.pk}/result")
    again = as_alice("DELETE", f"/v1/tasks/{task.pk}/result")
    assert first.status_code == again.status_code == 200
    assert first.json() == again.json() == as_alice.get(f"/v1/tasks/{task.pk}").json()
    assert first.json()["result"]["artifacts"] == []
    assert first.json()["result"]["removed_at"] is not None
    assert first["ETag"] == again["ETag"] != before["ETag"]
    problem(as_alice.get(f"/v1/artifacts/{artifact.pk}"), 410, "result_expired")
    kinds = [e["kind"] for e in as_alice.get(f"/v1/tasks/{task.pk}/events").json()["items"]]
    assert kinds == ["submitted", "claimed", "succeeded", "result_removed"]
    live = submit(alice)
    problem(as_alice("DELETE", f"/v1/tasks/{live.pk}/result"), 422, "no_result")


def test_a_list_shows_at_once_what_another_process_has_removed(
    as_alice: Caller, alice: Any
) -> None:
    task = finished(alice)
    as_alice.get(f"/v1/tasks/{task.pk}")
    kept = queries._terminal.get(task.pk)
    assert kept is not None
    as_alice("DELETE", f"/v1/tasks/{task.pk}/result")
    queries._terminal.keep(task.pk, kept)  # as the others still have it
    [item] = as_alice.get("/v1/tasks").json()["items"]
    assert item["result"]["removed_at"] is not None


def test_cancelling_twice_or_too_late_changes_nothing(as_alice: Caller, alice: Any) -> None:
    pending, done = submit(alice), None
    path = f"/v1/tasks/{pending.pk}"
    first, again = as_alice("DELETE", path), as_alice("DELETE", path)
    assert first.status_code == again.status_code == 200
    assert first.json() == again.json()
    assert first.json()["error"]["code"] == "canceled"
    done = finished(alice)
    late = as_alice("DELETE", f"/v1/tasks/{done.pk}")
    assert (late.status_code, late.json()["status"]) == (200, "success")
    assert late.json()["error"] is None


# --- lists ---------------------------------------------------------------------------------


def test_paging_is_complete_and_without_doubles_while_tasks_arrive(
    as_alice: Caller, alice: Any, bob: Any
) -> None:
    expected = []
    for _ in range(23):
        expected.append(str(submit(alice).pk))
        submit(bob)
    seen: list[str] = []
    cursor, pages = None, 0
    while pages < 20:
        query = f"limit=5&cursor={cursor}" if cursor else "limit=5"
        page = as_alice.get(f"/v1/tasks?{query}").json()
        seen += [item["task_id"] for item in page["items"]]
        cursor, pages = page["next_cursor"], pages + 1
        submit(alice)
        if cursor is None:
            break
    assert seen == expected[::-1]
    assert pages == 5


def test_a_last_page_that_is_full_has_no_next_one(as_alice: Caller, alice: Any) -> None:
    for _ in range(4):
        submit(alice)
    assert as_alice.get("/v1/tasks?limit=4").json()["next_cursor"] is None
    page = as_alice.get("/v1/tasks?limit=2").json()
    last = as_alice.get(f"/v1/tasks?limit=2&cursor={page['next_cursor']}").json()
    assert (len(last["items"]), last["next_cursor"]) == (2, None)


def test_lists_are_filtered_by_state_and_generator(as_alice: Caller, alice: Any) -> None:
    running, pending = submit(alice), submit(alice)
    claimed()
    canceled = end_in(alice, "failed")

    def listed(query: str) -> set[UUID]:
        items = as_alice.get(f"/v1/tasks?{query}").json()["items"]
        return {UUID(item["task_id"]) for item in items}

    assert listed("status=running") == {running.pk}
    assert listed("status=pending,failed") == {pending.pk, canceled.pk}
    assert listed("status=success") == set()
    assert listed("generator=sleeper&status=failed") == {canceled.pk}
    assert listed("generator=nope") == set()
    assert listed(f"ids={pending.pk},{new_id()},{pending.pk}") == {pending.pk}
    assert listed("ids=") == set()


@pytest.mark.parametrize("warm", [True, False])
def test_a_list_costs_the_same_number_of_statements_for_many_tasks(
    as_alice: Caller,
    alice: Any,
    sleeper: Generator,
    django_assert_max_num_queries: DjangoAssertNumQueries,
    warm: bool,
) -> None:
    for _ in range(12):
        finished(alice)
    for _ in range(12):
        submit(alice)
        claimed()
    for _ in range(12):
        submit(alice)
    ids = ",".join(str(pk) for pk in Task.objects.values_list("pk", flat=True))
    as_alice.get("/v1/account")
    for query, statements in (("limit=100", 4), (f"ids={ids}", 3)):
        if not warm:
            for key in client().scan_iter(keys.snapshot("*")):
                client().delete(key)
            queries.clear_caches()
        with django_assert_max_num_queries(1 if warm and "limit" in query else statements):
            assert len(as_alice.get(f"/v1/tasks?{query}").json()["items"]) == 36


def test_large_numbers_of_a_caller_come_back_as_they_were(
    as_alice: Caller, alice: Any, sleeper: Generator
) -> None:
    metadata = {"a": 2**63 - 1, "b": 1 - 2**63, "c": 0.1, "d": 1e18, "e": 5e-324, "f": "\U0001f3de"}
    body = {"generator": "sleeper", "params": {"prompt": "p"}, "metadata": metadata}
    task_id = as_alice.submit(body).json()["task_id"]
    forget()
    assert as_alice.get(f"/v1/tasks/{task_id}").json()["metadata"] == metadata


def test_the_document_has_the_fields_of_the_contract(as_alice: Caller, alice: Any) -> None:
    task = finished(alice)
    shown = json.loads(as_alice.get(f"/v1/tasks/{task.pk}").content)
    assert set(shown) == {
        *("task_id", "status", "generator", "kind", "priority", "params", "metadata"),
        *("progress", "queue_position", "waiting_for", "eta_seconds", "attempt", "degraded"),
        *("result", "error", "retry_of", "created_at", "started_at", "finished_at"),
        *("deadline_at", "links"),
    }
    assert shown["progress"] == 100
    assert shown["links"]["self"] == f"/v1/tasks/{task.pk}"
    for name in ("events", "retry"):
        method = "GET" if name == "events" else "POST"
        assert as_alice(method, shown["links"][name]).status_code in (200, 202)
    assert shown["created_at"].endswith("Z") and shown["finished_at"].endswith("Z")
    (artifact,) = shown["result"]["artifacts"]
    assert {
        "url",
        "media_type",
        "width",
        "height",
        "bytes",
        "sha256",
        "seed",
        "thumbnail_url",
    } <= set(artifact)
    assert timedelta(days=6) < task.result_expires_at - timezone.now()  # type: ignore[operator]
