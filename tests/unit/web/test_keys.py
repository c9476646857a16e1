"""API keys and the account in the browser, without any script."""

import re
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from tasks_app.core import credentials
from tasks_app.models import ApiKey
from tests.unit.web.pages import Page

pytestmark = pytest.mark.django_db


def make(browser: Client, name: str = "my robot") -> tuple[Any, str]:
    response = browser.post("/keys", {"name": name})
    return response, response.context["secret"]


def test_a_new_key_is_shown_once_and_works(visitor: Client, alice: Any) -> None:
    response, secret = make(visitor)
    assert secret in response.content.decode()
    assert "no-store" in response["Cache-Control"]
    assert credentials.owner_of(secret) == alice.pk
    page = visitor.get("/keys").content.decode()
    assert secret not in page
    assert "my robot" in page
    assert f"dk_{ApiKey.objects.get().prefix}_…" in page


@pytest.mark.parametrize("name", ["", "   ", "x" * 81, "a\x00b"])
def test_a_key_needs_a_name(visitor: Client, name: str) -> None:
    response = visitor.post("/keys", {"name": name})
    assert response.status_code == 422
    assert "Give the key a name" in response.content.decode()
    assert ApiKey.objects.count() == 0


def test_names_of_keys_stay_words(visitor: Client) -> None:
    make(visitor, "<b>bold</b>")
    assert "<b>bold" not in visitor.get("/keys").content.decode()


def test_nobody_needs_more_keys_than_the_most(
    visitor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "MOST_KEYS", 1)
    make(visitor)
    assert visitor.post("/keys", {"name": "one more"}).status_code == 422
    key = ApiKey.objects.get()
    visitor.post(f"/keys/{key.pk}/revoke")
    assert make(visitor)[1]


def test_revoking_asks_first_and_takes_a_post(visitor: Client, alice: Any) -> None:
    _, secret = make(visitor)
    key = ApiKey.objects.get()
    asked = visitor.get(f"/keys/{key.pk}/revoke")
    assert "Revoke “my robot”?" in asked.content.decode()
    assert credentials.owner_of(secret) == alice.pk
    response = visitor.post(f"/keys/{key.pk}/revoke", follow=True)
    assert "The key is revoked" in response.content.decode()
    assert f"/keys/{key.pk}/revoke" not in response.content.decode()
    credentials.clear_caches()
    assert credentials.owner_of(secret) is None
    again = visitor.get(f"/keys/{key.pk}/revoke").content.decode()
    assert "revoked already" in again


def test_bob_must_get_404_for_the_key_of_alice(
    client: Client, visitor: Client, alice: Any, bob: Any
) -> None:
    _, secret = make(visitor)
    key = ApiKey.objects.get()
    client.force_login(bob)
    for answer in (client.get(f"/keys/{key.pk}/revoke"), client.post(f"/keys/{key.pk}/revoke")):
        assert answer.status_code == 404
    assert "my robot" not in client.get("/keys").content.decode()
    assert credentials.owner_of(secret) == alice.pk
    assert client.get(f"/keys/{uuid4()}/revoke").status_code == 404


def test_forms_need_their_token(alice: Any) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    assert strict.post("/keys", {"name": "x"}).status_code == 403
    assert strict.post("/account/password", {}).status_code == 403
    assert strict.post("/seen", {"until": "2026-01-01T00:00:00Z"}).status_code == 403
    assert ApiKey.objects.count() == 0


@pytest.mark.parametrize(
    "path", ["/keys", f"/keys/{UUID(int=1)}/revoke", "/account", "/account/password"]
)
def test_strangers_are_sent_to_the_login(client: Client, path: str) -> None:
    assert client.get(path)["Location"].startswith("/login?next=")
    assert client.post(path).status_code in (302, 405)


def test_the_account_says_limits_and_use(visitor: Client, alice: Any) -> None:
    account = alice.account
    account.max_open, account.submit_interval, account.max_day, account.max_n = 7, 10, 0, 2
    account.max_priority = "normal"
    account.save()
    text = visitor.get("/account").content.decode()
    assert "0 of 7" in text
    assert "one task every 10 s" in text
    assert "0 of 0" in text and 'data-full="true"' in text
    assert 1 <= int(re.findall(r'data-countdown="(\d+)"', text)[0]) <= 86_400
    assert "0, without a limit" in text
    assert "at most 2" in text
    assert "normal, low" in text


def test_a_new_password_ends_other_sessions_and_not_this_one(client: Client, alice: Any) -> None:
    elsewhere = Client()
    for browser in (client, elsewhere):
        browser.post("/login", {"username": "alice", "password": "alice-password"})
    _, key = make(client)
    new = "develop in the dark 7"
    form = {"old_password": "alice-password", "new_password1": new, "new_password2": new}
    response = client.post("/account/password", form, follow=True)
    assert "Your password is changed" in response.content.decode()
    assert client.get("/").status_code == 200
    assert elsewhere.get("/").status_code == 302
    assert credentials.owner_of(key) == alice.pk
    assert get_user_model().objects.get(pk=alice.pk).check_password(new)


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"old_password": "wrong"}, "entered incorrectly"),
        ({"new_password2": "other"}, "didn’t match"),
        ({"new_password1": "12345678", "new_password2": "12345678"}, "too common"),
    ],
)
def test_a_password_is_changed_only_for_a_good_reason(
    client: Client, alice: Any, form: dict[str, str], said: str
) -> None:
    client.post("/login", {"username": "alice", "password": "alice-password"})
    new = "develop in the dark 7"
    good = {"old_password": "alice-password", "new_password1": new, "new_password2": new}
    response = client.post("/account/password", good | form)
    assert response.status_code == 200
    assert said in response.content.decode()
    assert client.get("/").status_code == 200


def test_pages_of_keys_and_account_have_nothing_inline(visitor: Client) -> None:
    made, _ = make(visitor)
    key = ApiKey.objects.get()
    answers = [made, *(visitor.get(path) for path in ("/keys", "/account", "/account/password"))]
    answers += [visitor.get(f"/keys/{key.pk}/revoke"), visitor.get("/gallery")]
    for answer in answers:
        page = Page(answer.content.decode())
        assert page.inline == []
        assert page.foreign == []
        assert len(page.ids) == len(set(page.ids))
