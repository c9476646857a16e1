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


@pytest.mark.parametrize(
    "spelling",
    ["\uff41lice", "\U0001d41aLICE", "\u24d0lice", "\u3000alice\u00a0", "\u2003\uff21\uff2cice"],
)
def test_however_a_name_is_spelled_it_is_one_name(
    client: Client, alice: Any, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(throttle, "TRIES", 1)
    for _ in range(throttle.TRIES):
        answer = client.post("/login", {"username": spelling, "password": "wrong"})
        assert answer.status_code == 200
    assert attempt(client, "alice-password").status_code == 429
    spelled = {"username": spelling, "password": "alice-password"}
    assert client.post("/login", spelled).status_code == 429


def test_many_addresses_do_not_give_many_tries(
    client: Client, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(throttle, "TRIES_ANYWHERE", 3)
    for number in range(2):
        assert attempt(client, REMOTE_ADDR=f"192.0.2.{number}").status_code == 200
    for _ in range(5):  # those who know the password do not use tries up, nor give them back
        assert attempt(client, "alice-password", REMOTE_ADDR="192.0.2.99").status_code == 302
        client.logout()
    assert attempt(client, REMOTE_ADDR="192.0.2.50").status_code == 200
    refused = attempt(client, "alice-password", REMOTE_ADDR="192.0.2.51")
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= throttle.WINDOW
    bob = {"username": "bob", "password": "x"}
    assert client.post("/login", bob, REMOTE_ADDR="192.0.2.51").status_code == 200


@pytest.mark.parametrize("path", ["/admin/login/", "/admin/login/?next=/admin/"])
def test_the_staffs_login_page_tries_no_passwords(client: Client, alice: Any, path: str) -> None:
    alice.is_staff = alice.is_superuser = True
    alice.save()
    for password in ("wrong", "alice-password"):
        answer = client.post(path, {"username": "alice", "password": password})
        assert answer.status_code == 302
        assert answer["Location"].startswith("/login?next=")
    assert client.get("/admin/").status_code == 302


def test_a_login_clears_the_count(client: Client, alice: Any) -> None:
    for _ in range(throttle.TRIES - 1):
        attempt(client)
    assert attempt(client, "alice-password").status_code == 302
    assert throttle.count("alice", "127.0.0.1") == 0


def test_the_count_ends_by_itself_and_later_tries_do_not_prolong_it() -> None:
    for _ in range(3):
        throttle.count("alice", "192.0.2.1")
    found = redis_client().keys("*:login:*")
    assert len(found) == 2
    for key in found:
        redis_client().expire(key, 7)
    throttle.count("alice", "192.0.2.1")
    for key in found:
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


def change(browser: Client, old: str, new: str = "develop in the dark 7") -> Any:
    form = {"old_password": old, "new_password1": new, "new_password2": new}
    return browser.post("/account/password", form)


def test_the_present_password_is_not_guessed_in_an_open_session(
    visitor: Client, alice: Any
) -> None:
    found = [change(visitor, "wrong").status_code for _ in range(throttle.TRIES)]
    assert found == [200] * throttle.TRIES
    refused = change(visitor, "alice-password")
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= throttle.WINDOW
    assert 'href="/account"' in refused.content.decode()
    alice.refresh_from_db()
    assert alice.check_password("alice-password")
    assert attempt(Client(), "alice-password").status_code == 429  # the door counts the same tries


def test_knowing_the_present_password_clears_the_count(client: Client, alice: Any) -> None:
    attempt(client, "alice-password")
    for _ in range(throttle.TRIES - 1):
        change(client, "wrong")
    assert change(client, "alice-password", "12345678").status_code == 200  # the new one is no good
    assert change(client, "wrong").status_code == 200
    assert change(client, "alice-password").status_code == 302
