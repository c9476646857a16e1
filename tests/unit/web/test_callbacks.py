"""Callbacks in the browser, without any script."""

from typing import Any
from uuid import uuid4

import pytest
from django.db.models.functions import Now
from django.test import Client

from tasks_app.callbacks import outbox, sealing
from tasks_app.callbacks.sending import Answer
from tasks_app.core import callbacks
from tasks_app.lifecycle import CallbackEvent, Delivery
from tasks_app.models import Callback, CallbackAddress

pytestmark = pytest.mark.django_db

URL = "https://shop.example/hook"


def told(user: Any) -> Callback:
    """Return a callback that was given up after an answer."""
    row = outbox.write(user.pk, None, CallbackEvent.TEST, URL, b'{"type": "test", "data": {}}')
    (job,) = outbox.take(outbox.Room(9))
    outbox.settle(job, Answer(Delivery.REFUSED, 503, b"<b>busy</b>", seconds=0.1))
    row.refresh_from_db()
    assert row.state == "exhausted"
    return row


def test_the_default_address_is_saved_and_removed(visitor: Client, alice: Any) -> None:
    page = visitor.post("/callbacks/save", {"url": URL, "running": "on"}, follow=True)
    assert f'value="{URL}"' in page.content.decode()
    assert callbacks.settings_of(alice.pk)["running"] is True
    visitor.post("/callbacks/save", {"url": ""})
    assert callbacks.settings_of(alice.pk)["url"] is None


@pytest.mark.parametrize("where", ["save", "test"])
def test_a_wrong_address_is_named_and_stays_in_the_field(visitor: Client, where: str) -> None:
    answer = visitor.post(f"/callbacks/{where}", {"url": "https://0xA9FEA9FE/<x>"})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "Write an IPv4 address as four decimal numbers." in page
    assert "https://0xA9FEA9FE/&lt;x&gt;" in page
    assert Callback.objects.count() == 0


def test_a_new_secret_is_shown_once(visitor: Client, alice: Any) -> None:
    answer = visitor.post("/callbacks/secret")
    (secret,) = sealing.signers([alice.pk])[alice.pk]
    assert secret.replace("+", "&#x2B;") in answer.content.decode() or secret in (
        answer.content.decode()
    )
    assert "no-store" in answer["Cache-Control"]
    assert "whsec_" not in visitor.get("/callbacks").content.decode()


def test_a_test_leads_to_what_came_of_it(visitor: Client) -> None:
    assert visitor.post("/callbacks/test", {"url": ""}).status_code == 422
    answer = visitor.post("/callbacks/test", {"url": URL})
    page = visitor.get(answer["Location"]).content.decode()
    assert "It is on its way" in page
    for _ in range(4):
        visitor.post("/callbacks/test", {"url": URL})
    refused = visitor.post("/callbacks/test", {"url": URL})
    assert refused.status_code == 429
    assert "as many tests as one may" in refused.content.decode()


def test_one_callback_shows_what_was_sent_and_came_back(visitor: Client, alice: Any) -> None:
    row = told(alice)
    page = visitor.get(f"/callbacks/{row.pk}").content.decode()
    for words in ("503", "&lt;b&gt;busy", str(row.pk), "standardwebhooks", "given up"):
        assert words in page
    assert "<b>busy" not in page
    assert str(row.pk) in visitor.get("/callbacks?show=failed").content.decode()
    answer = visitor.post(f"/callbacks/{row.pk}/redeliver", follow=True)
    assert "It is delivered again." in answer.content.decode()
    assert str(row.pk) not in visitor.get("/callbacks?show=failed").content.decode()


def test_all_failed_ones_are_delivered_again(visitor: Client, alice: Any) -> None:
    row = told(alice)
    page = visitor.post("/callbacks/again", {"days": "7"}, follow=True).content.decode()
    assert "1 callback is delivered again." in page
    row.refresh_from_db()
    assert row.state == "pending"


def test_an_address_that_is_gone_is_told_and_used_again(visitor: Client, alice: Any) -> None:
    CallbackAddress.objects.create(owner=alice, url=URL, disabled_at=Now())
    assert "it is gone" in visitor.get("/account").content.decode()
    assert URL in visitor.get("/callbacks").content.decode()
    visitor.post("/callbacks/enable", {"url": URL})
    assert "it is gone" not in visitor.get("/account").content.decode()


def test_no_address_holds_a_nul(visitor: Client) -> None:
    for where in ("save", "test"):
        assert visitor.post(f"/callbacks/{where}", {"url": f"{URL}\x00"}).status_code == 422
    assert visitor.post("/callbacks/enable", {"url": f"{URL}\x00"}).status_code == 302


def test_bob_must_not_see_what_alice_is_told(visitor: Client, alice: Any, bob: Any) -> None:
    row = told(alice)
    visitor.force_login(bob)
    assert visitor.get(f"/callbacks/{row.pk}").status_code == 404
    assert visitor.post(f"/callbacks/{row.pk}/redeliver").status_code == 404
    assert visitor.get(f"/callbacks/{uuid4()}").status_code == 404
    assert URL not in visitor.get("/callbacks").content.decode()
    CallbackAddress.objects.create(owner=alice, url=URL, disabled_at=Now())
    visitor.post("/callbacks/enable", {"url": URL})
    assert CallbackAddress.objects.get().disabled_at is not None


def test_only_those_who_are_logged_in_come_here(client: Client) -> None:
    for path in ("/callbacks", f"/callbacks/{uuid4()}"):
        assert client.get(path)["Location"].startswith("/login")
    for path in ("save", "secret", "test", "again", "enable"):
        assert client.post(f"/callbacks/{path}")["Location"].startswith("/login")


def test_pages_go_on_with_a_cursor(visitor: Client, alice: Any) -> None:
    for _ in range(21):
        outbox.write(alice.pk, None, CallbackEvent.SUCCESS, URL, b"{}")
    page = visitor.get("/callbacks").content.decode()
    assert "after=" in page
    assert visitor.get("/callbacks?after=nonsense").status_code == 200
