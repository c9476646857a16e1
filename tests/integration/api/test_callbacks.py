"""Callbacks by the API: what is told, what owners see and do, and who must not."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db.models.functions import Now
from pytest_django import DjangoAssertNumQueries

from tasks_app.callbacks import outbox, sealing
from tasks_app.core import cancellation, outcomes
from tasks_app.lifecycle import CallbackEvent, ErrorCode
from tasks_app.models import Callback, CallbackAddress, CallbackSecret, Task
from tests.integration.api.caller import VALID, Caller, problem
from tests.integration.helpers import artifacts, claimed, submit

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("sleeper")]

URL = "https://shop.example/hook"


def told() -> list[dict[str, Any]]:
    """Return the bodies in the outbox, in order."""
    return [json.loads(bytes(row.body)) for row in Callback.objects.order_by("pk")]


def write(user: Any, **changes: Any) -> Callback:
    row = outbox.write(user.pk, None, CallbackEvent.SUCCESS, URL, b'{"type":"task.success"}')
    if changes:
        Callback.objects.filter(pk=row.pk).update(**changes)
    return Callback.objects.get(pk=row.pk)


def failed(user: Any, **changes: Any) -> Callback:
    ended = {"state": "exhausted", "next_attempt_at": None, "ended_at": Now()}
    return write(user, **(ended | changes))


# --- what is told --------------------------------------------------------------------------


@pytest.mark.usefixtures("open_slots")
def test_every_ending_is_told_with_the_document_of_that_moment(
    as_alice: Caller, alice: Any
) -> None:
    def live() -> Task:
        return submit(alice, callback_url=URL)

    live()
    attempt = claimed().attempt
    assert outcomes.succeeded(attempt, artifacts(attempt.task_id))
    live()
    outcomes.failed(claimed().attempt, ErrorCode.CONTENT_REJECTED, "no", retryable=False)
    live()
    outcomes.timed_out(claimed().task)
    cancellation.cancel(live().pk, alice.pk)
    outcomes.timed_out(live())
    assert [body["type"] for body in told()] == [
        "task.success",
        "task.failed",
        "task.timeout",
        "task.failed",
        "task.timeout",
    ]
    for body in told():
        seen = as_alice.get(f"/v1/tasks/{body['data']['task_id']}").json()
        links = body["data"].pop("links")
        assert links["self"].endswith(seen.pop("links")["self"])
        assert links["self"].startswith("http://")
        assert body["data"] == seen
        assert body["timestamp"].endswith("Z")
    assert told()[0]["data"]["result"]["artifacts"][0]["url"].startswith("http://")


@pytest.mark.usefixtures("open_slots")
def test_nothing_is_told_of_what_did_not_happen(alice: Any) -> None:
    submit(alice, callback_url=URL)
    claim = claimed()
    assert outcomes.timed_out(claim.task)
    assert not outcomes.succeeded(claim.attempt, artifacts(claim.task.pk))
    assert not outcomes.timed_out(Task.objects.get())
    assert [body["type"] for body in told()] == ["task.timeout"]


@pytest.mark.usefixtures("open_slots")
def test_a_start_is_told_to_those_who_ask_for_it(as_alice: Caller, alice: Any) -> None:
    submit(alice, callback_url=URL, callback_running=True)
    claimed()
    submit(alice, callback_url=URL)
    claimed()
    as_alice("PUT", "/v1/callbacks/settings", {"url": URL, "running": True})
    submit(alice)
    claimed()
    as_alice("PUT", "/v1/callbacks/settings", {"url": URL})
    submit(alice)
    claimed()
    assert [body["type"] for body in told()] == ["task.running", "task.running"]
    assert told()[0]["data"]["status"] == "running"


def test_without_an_address_nobody_is_told(alice: Any) -> None:
    cancellation.cancel(submit(alice).pk, alice.pk)
    assert told() == []


def test_the_default_address_is_that_of_the_moment(as_alice: Caller, alice: Any) -> None:
    task = submit(alice)
    as_alice("PUT", "/v1/callbacks/settings", {"url": "https://late.example/"})
    cancellation.cancel(task.pk, alice.pk)
    assert Callback.objects.get().url == "https://late.example/"


def test_a_retry_tells_the_same_address(as_alice: Caller) -> None:
    first = as_alice.submit(VALID | {"callback_url": URL, "callback_running": True}).json()
    as_alice("DELETE", f"/v1/tasks/{first['task_id']}")
    second = as_alice("POST", f"/v1/tasks/{first['task_id']}/retry").json()
    row = Task.objects.get(pk=second["task_id"])
    assert (row.callback_url, row.callback_running) == (URL, True)


# --- submitting ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://169.254.169.254/", "address_forbidden"),
        ("https://0xA9FEA9FE/", "address_forbidden"),
        ("https://localhost/", "address_forbidden"),
        ("http://shop.example/", "not_an_address"),
        ("ftp://shop.example/", "not_an_address"),
        ("https://me:secret@shop.example/", "not_an_address"),
        ("", "too_short"),
        (7, "wrong_type"),
        (["https://shop.example/"], "wrong_type"),
    ],
)
def test_wrong_addresses_are_refused_at_once(as_alice: Caller, url: Any, code: str) -> None:
    answer = as_alice.submit(VALID | {"callback_url": url})
    found = problem(answer, 422, "invalid", "/callback_url")
    assert [error["code"] for error in found["errors"]] == [code]
    assert "secret" not in json.dumps(found)
    for path, method in (("/v1/callbacks/test", "POST"), ("/v1/callbacks/settings", "PUT")):
        problem(as_alice(method, path, {"url": url}), 422, "invalid", "/url")
    assert Callback.objects.count() == 0


def test_the_address_belongs_to_the_idempotency_keys_wish(as_alice: Caller) -> None:
    key = {"Idempotency_Key": "k"}
    assert as_alice.submit(VALID | {"callback_url": URL}, **key).status_code == 202
    assert as_alice.submit(VALID | {"callback_url": URL}, **key).status_code == 200
    problem(as_alice.submit(VALID, **key), 422, "idempotency_key_reused")


# --- seeing --------------------------------------------------------------------------------


def test_callbacks_are_listed_in_pages_with_filters(as_alice: Caller, alice: Any, bob: Any) -> None:
    rows = [write(alice) for _ in range(5)]
    broken = failed(alice, task_id=uuid4())
    write(bob)
    newest = [str(row.pk) for row in [*rows, broken]][::-1]
    first = as_alice.get("/v1/callbacks?limit=4").json()
    assert [item["callback_id"] for item in first["items"]] == newest[:4]
    second = as_alice.get(f"/v1/callbacks?limit=4&cursor={first['next_cursor']}").json()
    assert [item["callback_id"] for item in second["items"]] == newest[4:]
    assert second["next_cursor"] is None
    for query in ("status=exhausted,disabled", f"task_id={broken.task_id}"):
        (item,) = as_alice.get(f"/v1/callbacks?{query}").json()["items"]
        assert (item["callback_id"], item["status"]) == (str(broken.pk), "exhausted")


def test_a_page_costs_the_same_however_many_there_are(
    as_alice: Caller, alice: Any, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(20):
        write(alice)
    with django_assert_max_num_queries(3):
        assert len(as_alice.get("/v1/callbacks").json()["items"]) == 20


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("status=lost", "/status"),
        ("task_id=7", "/task_id"),
        ("cursor=x", "/cursor"),
        ("limit=0", "/limit"),
        ("limit=101", "/limit"),
        ("what=x", "/what"),
        ("limit=1&limit=2", "/limit"),
    ],
)
def test_odd_queries_are_named(as_alice: Caller, query: str, pointer: str) -> None:
    problem(as_alice.get(f"/v1/callbacks?{query}"), 422, "invalid", pointer)


def test_bob_must_not_see_what_alice_is_told(as_alice: Caller, as_bob: Caller, alice: Any) -> None:
    row = failed(alice)
    for method, path in [("GET", ""), ("POST", "/redeliver")]:
        problem(as_bob(method, f"/v1/callbacks/{row.pk}{path}"), 404, "not_found")
        assert as_alice(method, f"/v1/callbacks/{row.pk}{path}").status_code in (200, 202)
        problem(as_alice(method, f"/v1/callbacks/{uuid4()}{path}"), 404, "not_found")
    since = {"since": "2020-01-01T00:00:00Z"}
    failed(alice)
    assert as_bob("POST", "/v1/callbacks/redeliver", since).json()["redelivered"] == 0
    assert as_bob.get("/v1/callbacks").json()["items"] == []
    problem(Caller().get("/v1/callbacks"), 401)


# --- again ---------------------------------------------------------------------------------


def test_one_is_delivered_again_and_a_double_click_is_one(as_alice: Caller, alice: Any) -> None:
    row = failed(alice, failures=11, attempts=11)
    for _ in range(2):
        answer = as_alice("POST", f"/v1/callbacks/{row.pk}/redeliver")
        assert (answer.status_code, answer.json()["status"]) == (202, "pending")
    row.refresh_from_db()
    assert (row.failures, row.attempts) == (0, 11)
    assert row.next_attempt_at is not None


def test_all_that_failed_since_a_time_are(as_alice: Caller, alice: Any) -> None:
    day = datetime.now(UTC)
    old = failed(alice, created_at=day - timedelta(days=3))
    new, gone = failed(alice), failed(alice, state="disabled")
    delivered = failed(alice, state="delivered")
    since = (day - timedelta(days=1)).isoformat()
    answer = as_alice("POST", "/v1/callbacks/redeliver", {"since": since})
    assert (answer.status_code, answer.json()) == (202, {"redelivered": 2, "more": False})
    states = dict(Callback.objects.values_list("pk", "state"))
    assert [states[row.pk] for row in (old, new, gone, delivered)] == [
        "exhausted",
        "pending",
        "pending",
        "delivered",
    ]
    wrong: list[Any] = [{}, {"since": "yesterday"}, {"since": 7}, {"since": since, "x": 1}, []]
    for body in wrong:
        problem(as_alice("POST", "/v1/callbacks/redeliver", body), 422)


# --- tests, settings, secrets --------------------------------------------------------------


def test_a_test_goes_to_the_default_or_another_address(as_alice: Caller) -> None:
    problem(as_alice("POST", "/v1/callbacks/test"), 422, "invalid", "/url")
    answer = as_alice("POST", "/v1/callbacks/test", {"url": "https://other.example/x"})
    assert answer.status_code == 202
    assert answer["Location"] == f"/v1/callbacks/{answer.json()['callback_id']}"
    as_alice("PUT", "/v1/callbacks/settings", {"url": URL})
    second = as_alice("POST", "/v1/callbacks/test").json()
    assert (second["url"], second["type"], second["payload"]["type"]) == (URL, "test", "test")
    assert as_alice.get(answer["Location"]).json()["status"] == "pending"


def test_tests_are_counted_and_those_of_a_minute_ago_are_not(as_alice: Caller) -> None:
    body = {"url": URL}
    for _ in range(5):
        assert as_alice("POST", "/v1/callbacks/test", body).status_code == 202
    refused = as_alice("POST", "/v1/callbacks/test", body)
    assert problem(refused, 429, "callback_tests")["limit"]["name"] == "callback_tests"
    assert 1 <= int(refused["Retry-After"]) <= 60
    oldest = Callback.objects.earliest("created_at")
    Callback.objects.filter(pk=oldest.pk).update(created_at=Now() - timedelta(seconds=61))
    assert as_alice("POST", "/v1/callbacks/test", body).status_code == 202


def test_the_default_address_is_set_shown_and_removed(as_alice: Caller, alice: Any) -> None:
    assert as_alice.get("/v1/callbacks/settings").json() == {
        "url": None,
        "running": False,
        "secret_created_at": None,
        "disabled": [],
    }
    for url in (URL, "https://second.example/", URL):
        shown = as_alice("PUT", "/v1/callbacks/settings", {"url": url, "running": True}).json()
        assert (shown["url"], shown["running"]) == (url, True)
    assert as_alice("PUT", "/v1/callbacks/settings", {"url": None}).json()["url"] is None
    assert CallbackAddress.objects.count() == 0
    problem(as_alice("PUT", "/v1/callbacks/settings", {}), 422, "invalid", "/url")


def test_a_disabled_address_is_told_and_used_again_when_it_is_set(
    as_alice: Caller, alice: Any
) -> None:
    as_alice("PUT", "/v1/callbacks/settings", {"url": URL})
    CallbackAddress.objects.update(disabled_at=Now())
    (gone,) = as_alice.get("/v1/callbacks/settings").json()["disabled"]
    assert gone["url"] == URL
    assert write(alice).state == "disabled"
    # Put aside, it is remembered: tasks may still name it.
    as_alice("PUT", "/v1/callbacks/settings", {"url": None})
    assert write(alice).state == "disabled"
    assert as_alice("PUT", "/v1/callbacks/settings", {"url": URL}).json()["disabled"] == []
    assert write(alice).state == "pending"


def test_a_secret_is_shown_once_and_the_one_before_signs_on(as_alice: Caller, alice: Any) -> None:
    answer = as_alice("POST", "/v1/callbacks/secret")
    first = answer.json()["secret"]
    assert (answer.status_code, first[:6]) == (201, "whsec_")
    second = as_alice("POST", "/v1/callbacks/secret").json()["secret"]
    assert sealing.signers([alice.pk])[alice.pk] == [second, first]
    shown = as_alice.get("/v1/callbacks/settings").content.decode()
    assert "whsec_" not in shown
    for row in CallbackSecret.objects.all():
        assert "whsec" not in row.sealed


def test_however_often_a_secret_is_replaced_few_sign(as_alice: Caller, alice: Any) -> None:
    for _ in range(9):
        newest = as_alice("POST", "/v1/callbacks/secret").json()["secret"]
    signing = sealing.signers([alice.pk])[alice.pk]
    assert signing[0] == newest
    assert len(signing) <= 4


def test_secrets_survive_a_change_of_the_secret_key(alice: Any, settings: Any) -> None:
    secret = sealing.replace(alice.pk)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key that is as long as it must be, and longer than that"
    assert sealing.signers([alice.pk])[alice.pk] == [secret]
    assert (sealing.old_seals(), sealing.reseal(), sealing.old_seals()) == (1, 1, 0)
    settings.SECRET_KEY_FALLBACKS = []
    assert sealing.signers([alice.pk])[alice.pk] == [secret]
    settings.SECRET_KEY = "a key that nobody knew of, as after a restored backup, or a mistake"
    (fresh,) = sealing.signers([alice.pk])[alice.pk]
    assert fresh != secret


def test_old_callbacks_are_purged_but_not_those_that_wait(alice: Any) -> None:
    def aged(row: Callback, days: float) -> None:
        moment = outbox.first_id_of(outbox.database_now() - timedelta(days=days))
        Callback.objects.filter(pk=row.pk).update(
            id=moment.__class__(int=moment.int + row.pk.int % 10**9)
        )

    for days in (29, 31):
        aged(failed(alice), days)
        aged(write(alice), days)
    assert outbox.purge(30, dry_run=True) == 1
    assert Callback.objects.count() == 4
    assert (outbox.purge(30), outbox.purge(30)) == (1, 0)
    assert Callback.objects.filter(state="pending").count() == 2
