"""Invariant 3: one submission, one task; a replay costs nothing and a refusal leaves no trace."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tasks_app.models import Account, Generator, IdempotencyKey, Task
from tests.integration.api.caller import VALID, Caller, finished, problem


def rate_of(user: Any) -> Any:
    return Account.objects.get(user=user).submit_tat


@pytest.fixture
def limited(alice: Any, sleeper: Generator) -> Any:
    """Return alice with a submit rate: one per ten seconds, three at once."""
    Account.objects.filter(user=alice).update(submit_interval=10.0, submit_burst=3)
    return alice


def test_a_replay_answers_with_the_task_as_it_is_now(
    as_alice: Caller, alice: Any, sleeper: Generator
) -> None:
    first = as_alice.submit(Idempotency_Key="k")
    assert first.status_code == 202
    assert "reused" not in first.json() and "Idempotent-Replayed" not in first
    task_id = first.json()["task_id"]
    as_alice("DELETE", f"/v1/tasks/{task_id}")
    again = as_alice.submit(Idempotency_Key="k")
    assert (again.status_code, again["Idempotent-Replayed"]) == (200, "true")
    assert again["Location"] == f"/v1/tasks/{task_id}"
    shown = again.json()
    assert (shown["task_id"], shown["reused"], shown["status"]) == (task_id, True, "failed")
    assert "Retry-After" not in again
    assert "reused" not in as_alice.get(f"/v1/tasks/{task_id}").json()
    assert Task.objects.count() == 1


def test_the_key_may_be_quoted_or_in_the_body_and_stays_the_same(
    as_alice: Caller, sleeper: Generator
) -> None:
    long_key = "k!~" + "x" * 252
    first = as_alice.submit(Idempotency_Key=long_key)
    assert first.status_code == 202
    for answer in (
        as_alice.submit(Idempotency_Key=f'"{long_key}"'),
        as_alice.submit(Idempotency_Key=f" {long_key} "),
        as_alice.submit(VALID | {"idempotency_key": long_key}),
        as_alice.submit(VALID | {"idempotency_key": long_key}, Idempotency_Key=f'"{long_key}"'),
    ):
        assert (answer.status_code, answer.json()["task_id"]) == (200, first.json()["task_id"])
    assert as_alice.submit(Idempotency_Key=long_key[:-1]).status_code == 202


def test_the_order_of_names_and_defaults_spelled_out_do_not_make_another_body(
    as_alice: Caller, sleeper: Generator
) -> None:
    body = {"generator": "sleeper", "params": {"prompt": "p", "n": 2}}
    assert as_alice.submit(body, Idempotency_Key="k").status_code == 202
    same = {"priority": "normal", "params": {"n": 2, "prompt": "p"}, "generator": "sleeper"}
    assert as_alice.submit(same, Idempotency_Key="k").status_code == 200


@pytest.mark.parametrize(
    "change",
    [
        {"params": {"prompt": "another"}},
        {"params": {"prompt": "a picture", "n": 1}},
        {"priority": "high"},
        {"max_wait": 60},
        {"allow_degraded": True},
        {"metadata": {"a": 1}},
        {"generator": "other"},
    ],
    ids=str,
)
def test_the_same_key_with_another_body_is_422(
    as_alice: Caller, limited: Any, change: dict[str, Any]
) -> None:
    assert as_alice.submit(Idempotency_Key="k").status_code == 202
    spent = rate_of(limited)
    answer = as_alice.submit(VALID | change, Idempotency_Key="k")
    problem(answer, 422, "idempotency_key_reused", "/idempotency_key")
    assert rate_of(limited) == spent
    assert Task.objects.count() == 1
    assert as_alice.submit(Idempotency_Key="k").status_code == 200


def test_an_expired_key_is_replaced(as_alice: Caller, sleeper: Generator) -> None:
    first = as_alice.submit(Idempotency_Key="k").json()["task_id"]
    past = timezone.now() - timedelta(seconds=1)
    IdempotencyKey.objects.update(expires_at=past)
    second = as_alice.submit(VALID | {"priority": "low"}, Idempotency_Key="k")
    assert second.status_code == 202
    assert second.json()["task_id"] != first
    assert IdempotencyKey.objects.get().expires_at > past + timedelta(hours=23)
    again = as_alice.submit(VALID | {"priority": "low"}, Idempotency_Key="k")
    assert again.json()["task_id"] == second.json()["task_id"]


@pytest.mark.parametrize(
    "fields",
    [
        {"enabled": False},
        {"paused": True},
        {"adapter": "gone"},
        {"settings": {"callable": "tests.artists:gone"}},
        {"settings": {"callable": "tests.artists:sleeper", "parameters": {"required": ["new"]}}},
    ],
    ids=str,
)
def test_a_replay_survives_what_happens_to_the_generator(
    as_alice: Caller, sleeper: Generator, fields: dict[str, Any]
) -> None:
    first = as_alice.submit(Idempotency_Key="k").json()["task_id"]
    for name, value in fields.items():
        setattr(sleeper, name, value)
    sleeper.save()
    again = as_alice.submit(Idempotency_Key="k")
    assert (again.status_code, again.json()["task_id"]) == (200, first)


def test_a_replay_spends_nothing_and_is_not_limited(as_alice: Caller, limited: Any) -> None:
    Account.objects.filter(user=limited).update(submit_burst=1, max_open=1)
    assert as_alice.submit(Idempotency_Key="k").status_code == 202
    spent = rate_of(limited)
    for _ in range(5):
        assert as_alice.submit(Idempotency_Key="k").status_code == 200
    assert rate_of(limited) == spent


def test_a_refusal_spends_nothing_and_leaves_the_key_free(
    as_alice: Caller, limited: Any, sleeper: Generator
) -> None:
    problem(as_alice.submit(VALID | {"params": {}}, Idempotency_Key="k"), 422)
    problem(as_alice.submit(VALID | {"generator": "nope"}, Idempotency_Key="k"), 422)
    Account.objects.filter(user=limited).update(max_open=0)
    found = problem(as_alice.submit(Idempotency_Key="k"), 429, "too_many_open_tasks")
    limit = {"name": "open", "size": 0, "used": 0, "retry_after": 5, "resets_at": None}
    assert found["limit"] == limit
    assert rate_of(limited) is None
    Account.objects.filter(user=limited).update(max_open=30)
    for _ in range(3):
        assert as_alice.submit().status_code == 202
    spent = rate_of(limited)
    refused = as_alice.submit(Idempotency_Key="k")
    problem(refused, 429, "submit_rate")
    assert int(refused["Retry-After"]) <= 10
    assert rate_of(limited) == spent
    assert not IdempotencyKey.objects.exists()
    assert Task.objects.count() == 3
    Account.objects.filter(user=limited).update(submit_tat=None)
    assert as_alice.submit(VALID | {"priority": "low"}, Idempotency_Key="k").status_code == 202


@pytest.mark.usefixtures("open_slots")
def test_a_retry_is_a_new_task_and_takes_a_key(
    as_alice: Caller, alice: Any, sleeper: Generator
) -> None:
    task = finished(alice)
    path = f"/v1/tasks/{task.pk}/retry"
    first = as_alice("POST", path, Idempotency_Key="r")
    assert first.status_code == 202
    made = first.json()
    assert (made["retry_of"], made["status"]) == (str(task.pk), "pending")
    assert made["task_id"] != str(task.pk)
    assert made["params"] == task.params
    for answer in (
        as_alice("POST", path, {}, Idempotency_Key="r"),
        as_alice("POST", path, {"idempotency_key": "r"}),
    ):
        assert (answer.status_code, answer.json()["task_id"]) == (200, made["task_id"])
    # The same key for an ordinary submission of the same body is another request.
    same = {"generator": "sleeper", "params": task.params}
    problem(as_alice.submit(same, Idempotency_Key="r"), 422, "idempotency_key_reused")
    problem(as_alice("POST", f"/v1/tasks/{made['task_id']}/retry"), 422, "not_finished")
    assert Task.objects.count() == 2
