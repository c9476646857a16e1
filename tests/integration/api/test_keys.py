"""API keys: wrong ones, revoked ones, and where they must never show up."""

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tasks_app.core import credentials
from tasks_app.gates import keys
from tasks_app.gates.connection import client
from tasks_app.models import ApiKey, Generator, Task
from tests.integration.api.caller import Caller, problem

WITHIN = 5.0
"""Seconds within which a revoked key stops working, everywhere."""


class Clock:
    """A monotonic clock that can be moved."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._real, self._ahead = time.monotonic, 0.0
        monkeypatch.setattr(credentials.time, "monotonic", self)  # type: ignore[attr-defined]

    def __call__(self) -> float:
        return self._real() + self._ahead

    def forward(self, seconds: float) -> None:
        self._ahead += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the clock by which the process forgets keys."""
    return Clock(monkeypatch)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer x",
        "Bearer dk_",
        "Bearer dk_00000000_" + "x" * 43,
        "Bearer dk_" + "x" * 100_000,
        "Bearer dk_ü",
        "Bearer dk_a\tb",
        "Bearer\tdk_a",
        "Basic ZGs6eA==",
        "Token {key}",
        "{key}",
        "Bearer {key}x",
        "Bearer {key} x",
        "Bearer {key},",
        "Bearer {KEY}",
        "Bearer Bearer {key}",
    ],
)
@pytest.mark.parametrize("path", ["/v1/account", "/v1/tasks/0198e0aa-0000-7000-8000-00000000abcd"])
def test_a_wrong_key_is_401(
    alice: Any, key_of: Callable[[Any], str], header: str, path: str
) -> None:
    key = key_of(alice)
    caller = Caller()
    caller.headers = {"Authorization": header.replace("{key}", key).replace("{KEY}", key.upper())}
    answer = caller.get(path)
    found = problem(answer, 401, "not_authenticated")
    assert answer["WWW-Authenticate"] == 'Bearer realm="darkroom"'
    assert key not in str(found)


@pytest.mark.parametrize("form", ["Bearer {}", "bearer {}", "BEARER   {}", "Bearer {}  "])
def test_the_scheme_is_read_as_http_says(
    alice: Any, key_of: Callable[[Any], str], form: str
) -> None:
    caller = Caller()
    caller.headers = {"Authorization": form.format(key_of(alice))}
    assert caller.get("/v1/account").status_code == 200


# As another process would end a key: what this process remembers stays.


def revoke(user: Any) -> None:
    kept = dict(credentials._kept)
    credentials.revoke(ApiKey.objects.get(user=user))
    credentials._kept.update(kept)


def deactivate(user: Any) -> None:
    kept = dict(credentials._kept)
    user.is_active = False
    user.save()
    credentials._kept.update(kept)


def delete(user: Any) -> None:
    kept = dict(credentials._kept)
    user.delete()
    credentials._kept.update(kept)


@pytest.mark.parametrize("end", [revoke, deactivate, delete])
def test_a_key_that_ended_in_another_process_stops_within_five_seconds(
    as_alice: Caller, alice: Any, clock: Clock, end: Callable[[Any], None]
) -> None:
    assert as_alice.get("/v1/account").status_code == 200
    end(alice)
    assert credentials._kept, "this process must still remember, or the test shows nothing"
    clock.forward(WITHIN)
    problem(as_alice.get("/v1/account"), 401)
    problem(as_alice.get("/v1/tasks/0198e0aa-0000-7000-8000-00000000abcd"), 401)


@pytest.mark.parametrize("end", [revoke, deactivate, delete])
def test_a_key_that_ended_stays_so_when_everything_cached_is_lost(
    as_alice: Caller, alice: Any, end: Callable[[Any], None]
) -> None:
    end(alice)
    client().flushdb()
    credentials.clear_caches()
    problem(as_alice.get("/v1/account"), 401)


def test_a_key_that_ended_here_stops_at_once(as_alice: Caller, alice: Any) -> None:
    assert as_alice.get("/v1/account").status_code == 200
    credentials.revoke(ApiKey.objects.get())
    problem(as_alice.get("/v1/account"), 401)


def test_a_user_who_is_gone_is_401_and_not_an_error(
    as_alice: Caller, alice: Any, sleeper: Generator
) -> None:
    assert as_alice.get("/v1/account").status_code == 200
    kept = dict(credentials._kept)
    get_user_model().objects.filter(pk=alice.pk).delete()
    credentials._kept.update(kept)
    problem(as_alice.get("/v1/account"), 401)
    problem(as_alice.submit(), 401)
    assert not Task.objects.exists()


def test_a_user_who_may_come_back_may_use_the_key_again(
    as_alice: Caller, alice: Any, clock: Clock
) -> None:
    alice.is_active = False
    alice.save()
    problem(as_alice.get("/v1/account"), 401)
    alice.is_active = True
    alice.save()
    clock.forward(WITHIN)
    assert as_alice.get("/v1/account").status_code == 200


def test_a_revoked_key_stays_revoked_when_its_user_is_saved(
    as_alice: Caller, alice: Any, clock: Clock
) -> None:
    credentials.revoke(ApiKey.objects.get())
    alice.save()
    clock.forward(WITHIN)
    problem(as_alice.get("/v1/account"), 401)


def test_a_session_of_a_deactivated_user_is_401(alice: Any) -> None:
    caller = Caller()
    caller.client.force_login(alice)
    assert caller.get("/v1/account").status_code == 200
    alice.is_active = False
    alice.save()
    problem(caller.get("/v1/account"), 401)


def test_last_use_reaches_the_table(as_alice: Caller) -> None:
    before = datetime.now(UTC)
    assert as_alice.get("/v1/account").status_code == 200
    assert ApiKey.objects.get().last_used_at is None  # no write at each request
    credentials.flush_use()
    used = ApiKey.objects.get().last_used_at
    assert used is not None and before <= used <= datetime.now(UTC)
    credentials.flush_use()
    assert ApiKey.objects.get().last_used_at == used


def test_keys_never_reach_logs_answers_or_the_table(
    alice: Any,
    sleeper: Generator,
    key_of: Callable[[Any], str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.DEBUG)
    key = key_of(alice)
    secret = key[len("dk_00000000_") :]
    caller = Caller(key)
    answers = [
        caller.submit(),
        caller.submit([]),
        caller.get("/v1/nope"),
        caller.get("/v1/account"),
    ]
    caller.headers = {"Authorization": f"Basic {key}"}
    answers.append(caller.get("/v1/account"))

    def fails(*args: Any) -> Any:
        raise ValueError("no")

    caller.headers = {"Authorization": f"Bearer {key}"}
    monkeypatch.setattr("tasks_app.core.offers.account", fails)
    answers.append(caller.get("/v1/account"))
    assert answers[-1].status_code == 500
    assert caplog.text
    assert secret not in caplog.text
    for answer in answers:
        assert secret.encode() not in answer.content + str(answer.headers).encode()
    (row,) = ApiKey.objects.values()
    assert secret not in str(row) and key not in str(row)


def told(key: str) -> int:
    caller = Caller()
    caller.headers = {"Authorization": f"Bearer {key}"}
    return int(caller.get("/v1/tasks").status_code)


@pytest.mark.parametrize("text", ["dk_", "dk_x_y", "DK_01234567_" + "a" * 43, "dk_" + "a" * 52])
def test_what_does_not_look_like_a_key_is_looked_up_nowhere(db: None, text: str) -> None:
    with CaptureQueriesContext(connection) as asked:
        assert told(text) == 401
    assert len(asked) == 0
    assert client().keys(keys.credential("*")) == []


def test_an_unknown_key_is_looked_up_once(db: None) -> None:
    unknown = f"dk_01234567_{'a' * 43}"
    with CaptureQueriesContext(connection) as asked:
        assert [told(unknown) for _ in range(3)] == [401] * 3
    assert len(asked) == 1
    assert client().keys(keys.credential("*")) == []


def test_guesses_push_no_known_key_out(
    alice: Any, key_of: Callable[[Any], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "_MAX_KEPT", 4)
    known = key_of(alice)
    assert told(known) == 200
    for number in range(10):
        assert told(f"dk_01234567_{number}{'a' * 42}") == 401
    assert len(credentials._nobodys) <= 4
    assert list(credentials._kept) == [credentials.digest(known)]
