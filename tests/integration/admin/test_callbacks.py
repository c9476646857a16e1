"""Staff and callbacks: who may look, who may deliver again."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models.functions import Now
from django.test import Client

from tasks_app.callbacks import outbox
from tasks_app.callbacks.sending import Answer
from tasks_app.lifecycle import DELIVERY_SENTENCES, CallbackEvent, Delivery
from tasks_app.models import Callback, CallbackAddress

pytestmark = pytest.mark.django_db

URL = "https://shop.example/hook"
LIST = "/admin/tasks_app/callback/"
ADDRESSES = "/admin/tasks_app/callbackaddress/"
Staff = Callable[..., Client]


@pytest.fixture
def failed(alice: Any) -> Callback:
    """Return a test of alice that was refused."""
    row = outbox.write(alice.pk, None, CallbackEvent.TEST, URL, b'{"data": "a secret prompt"}')
    (job,) = outbox.take(outbox.Room(9))
    outbox.settle(job, Answer(Delivery.REFUSED, 503, b"<i>busy</i>", seconds=0.1))
    return row


def act(client: Client, path: str, action: str, row: Any) -> None:
    client.post(path, {"action": action, "_selected_action": [str(row.pk)]})


def test_staff_see_how_it_went_and_not_what_was_asked_for(
    staff_with: Staff, failed: Callback
) -> None:
    client = staff_with("view_callback", "view_callbackattempt")
    told = client.get(LIST).content.decode()
    assert "given up" in told
    assert DELIVERY_SENTENCES[Delivery.REFUSED] in told
    assert str(failed.pk) in client.get(f"{LIST}?q=alice").content.decode()
    for state, there in (("exhausted", True), ("delivered", False), ("nonsense", True)):
        assert (str(failed.pk) in client.get(f"{LIST}?state={state}").content.decode()) is there
    page = client.get(f"{LIST}{failed.pk}/change/").content.decode()
    for words in (URL, "503", "&lt;i&gt;busy"):
        assert words in page
    assert "a secret prompt" not in page
    assert client.get(f"{LIST}add/").status_code == 403
    assert client.post(f"{LIST}{failed.pk}/delete/", {"post": "yes"}).status_code == 403


def test_delivering_again_takes_the_right_and_is_logged(
    staff_with: Staff, failed: Callback
) -> None:
    act(staff_with("view_callback"), LIST, "redeliver", failed)
    failed.refresh_from_db()
    assert failed.state == "exhausted"
    allowed = staff_with("view_callback", "redeliver_callback", name="dave")
    act(allowed, LIST, "redeliver", failed)
    failed.refresh_from_db()
    assert failed.state == "pending"
    assert LogEntry.objects.filter(object_id=str(failed.pk)).count() == 1


def test_an_address_is_used_again_by_those_who_may(staff_with: Staff, alice: Any) -> None:
    gone = CallbackAddress.objects.create(owner=alice, url=URL, disabled_at=Now())
    act(staff_with("view_callbackaddress"), ADDRESSES, "enable", gone)
    gone.refresh_from_db()
    assert gone.disabled_at is not None
    act(staff_with("change_callbackaddress", name="dave"), ADDRESSES, "enable", gone)
    gone.refresh_from_db()
    assert gone.disabled_at is None


def test_those_without_a_right_see_nothing(staff_with: Staff, failed: Callback) -> None:
    client = staff_with()
    for path in (LIST, ADDRESSES, f"{LIST}{failed.pk}/change/"):
        assert client.get(path).status_code == 403
