"""Guessing passwords is slow."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from redis.exceptions import ConnectionError as RedisConnectionError

from tasks_app.gates.connection import client as redis_client
from tasks_app.web import throttle

pytestmark = pytest.mark.django_db


def attempt(browser: Client, password: str = "wrong", **more: Any) -> Any:
    return browser.post("/login", {"username": "alice", "password": password}, **more)


def test_the_eleventh_try_is_refused_even_with_the_right_password(
    client: Client, alice: Any
) -> None:
    assert [attempt(client).status_code for _ in range(throttle.TRIES)] == [200] * throttle.TRIES
    refused = attempt(client, "alice-password")
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= throttle.WINDOW
    assert "Too many tries" in refused.content.decode()
    assert client.get("/").status_code == 302


def test_the_count_is_for_a_name_in_any_case_from_an_address(client: Client, alice: Any) -> None:
    for _ in range(throttle.TRIES):
        attempt(client)
    shouted = {"username": " ALICE ", "password": "wrong"}
    assert client.post("/login", shouted).status_code == 429
    assert client.post("/login", {"username": "bob", "password": "x"}).status_code == 200
    assert attempt(client, REMOTE_ADDR="192.0.2.7").status_code == 200


def test_a_login_clears_the_count(client: Client, alice: Any) -> None:
    for _ in range(throttle.TRIES - 1):
        attempt(client)
    assert attempt(client, "alice-password").status_code == 302
    assert throttle.count("alice", "127.0.0.1") == 0


def test_the_count_ends_by_itself_and_later_tries_do_not_prolong_it() -> None:
    for _ in range(3):
        throttle.count("alice", "192.0.2.1")
    (key,) = redis_client().keys("*:login:*")
    redis_client().expire(key, 7)
    throttle.count("alice", "192.0.2.1")
    assert redis_client().ttl(key) <= 7
    assert b"alice" not in key


def test_without_redis_logins_go_on(
    client: Client, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> Callable[[], None]:
        raise RedisConnectionError("away")

    monkeypatch.setattr(throttle, "client", away)
    for _ in range(throttle.TRIES + 1):
        attempt(client)
    assert attempt(client, "alice-password").status_code == 302


def test_without_a_proxy_nobody_chooses_an_address(client: Client, alice: Any) -> None:
    """What a caller writes into headers counts only where a proxy overwrites it."""
    for number in range(throttle.TRIES):
        attempt(client, headers={"X-Real-IP": f"192.0.2.{number}", "X-Forwarded-For": "192.0.2.9"})
    assert attempt(client, headers={"X-Real-IP": "192.0.2.99"}).status_code == 429
