"""What becomes of callbacks with receivers of all kinds, over real sockets."""

import json
import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from django.db.models import Q
from pytest_django import Settings
from standardwebhooks import Webhook

from tasks_app.callbacks import outbox, schedule, sealing
from tasks_app.callbacks.delivery import Deliverer
from tasks_app.lifecycle import CallbackEvent
from tasks_app.models import Callback, CallbackAddress, CallbackAttempt, CallbackSecret
from tests import receivers
from tests.integration.callbacks.conftest import Names, deliver, make_due
from tests.processes import eventually
from tests.receivers import Authority, Connection, receiver

pytestmark = pytest.mark.django_db(transaction=True)

Tell = Callable[..., Callback]
MOST = 3.0 + 0.5
"""Seconds that an attempt may take, and what this machine may be late in noticing it."""


def only_attempt(callback: Callback) -> CallbackAttempt:
    return CallbackAttempt.objects.get(callback=callback)


def test_a_callback_is_signed_as_the_public_package_expects(
    deliverer: Deliverer, tell: Tell, alice: Any
) -> None:
    secret = sealing.replace(alice.pk)
    with receiver() as one:
        callback = tell(one.url("/hook?shop=7"), b'{"type":"task.success","data":{"a":1}}')
        deliver(deliverer)
    (got,) = one.received
    assert Webhook(secret).verify(got.body, got.headers)["data"] == {"a": 1}
    assert got.path == "/hook?shop=7"
    assert got.headers["host"] == f"127.0.0.1:{one.port}"
    assert got.headers["webhook-id"] == str(callback.pk)
    assert got.headers["content-type"] == "application/json"
    callback.refresh_from_db()
    assert (callback.state, callback.attempts, callback.last_status) == ("delivered", 1, 200)
    attempt = only_attempt(callback)
    assert (attempt.outcome, attempt.status, attempt.answer) == ("delivered", 200, "ok")


def test_while_a_secret_is_replaced_both_verify(
    deliverer: Deliverer, tell: Tell, alice: Any
) -> None:
    old, new = sealing.replace(alice.pk), sealing.replace(alice.pk)
    with receiver() as one:
        tell(one.url())
        deliver(deliverer)
        (got,) = one.received
        for secret in (old, new):
            Webhook(secret).verify(got.body, got.headers)
        CallbackSecret.objects.filter(retires_at__isnull=False).update(
            retires_at=datetime.now(UTC) - timedelta(seconds=1)
        )
        tell(one.url())
        deliver(deliverer)
    Webhook(new).verify(one.received[1].body, one.received[1].headers)
    with pytest.raises(Exception, match="No matching signature"):
        Webhook(old).verify(one.received[1].body, one.received[1].headers)


def test_an_account_without_a_secret_is_signed_for_all_the_same(
    deliverer: Deliverer, tell: Tell, alice: Any
) -> None:
    with receiver() as one:
        tell(one.url())
        deliver(deliverer)
    (secret,) = sealing.signers([alice.pk])[alice.pk]
    Webhook(secret).verify(one.received[0].body, one.received[0].headers)


ENDS = {
    "answers 500": (lambda c: c.answer(500, b"broken"), "refused", 500),
    "answers 400": (lambda c: c.answer(400), "refused", 400),
    "answers 429": (lambda c: c.answer(429), "refused", 429),
    "redirects to metadata": (
        lambda c: c.answer(302, Location="http://169.254.169.254/latest/meta-data/"),
        "redirected",
        302,
    ),
    "redirects for ever": (lambda c: c.answer(307, Location="/hook"), "redirected", 307),
    "drips": (receivers.drip, "too_slow", None),
    "drips headers": (receivers.drip_headers, "too_slow", None),
    "hangs": (receivers.hang, "too_slow", None),
    "resets": (receivers.reset, "no_answer", None),
    "closes": (lambda c: None, "no_answer", None),
    "babbles": (receivers.babble, "no_answer", None),
    "sends a gigabyte": (receivers.flood, "refused", 500),
    "sends headers for ever": (receivers.flood_headers, "no_answer", None),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_bad_receiver_ends_its_attempt_in_time(
    deliverer: Deliverer, tell: Tell, name: str
) -> None:
    behave, outcome, status = ENDS[name]
    with receiver(behave) as one:
        callback = tell(one.url())
        deliver(deliverer)
    callback.refresh_from_db()
    assert (callback.state, callback.last_outcome, callback.last_status) == (
        "pending",
        outcome,
        status,
    )
    attempt = only_attempt(callback)
    assert attempt.seconds < MOST
    assert len(attempt.answer) <= 1024
    assert one.connections == 1  # nothing was followed, nothing was repeated at once


def test_of_a_gigabyte_little_is_read(deliverer: Deliverer, tell: Tell) -> None:
    with receiver(receivers.flood) as one:
        tell(one.url())
        deliver(deliverer)
    assert int(one.received[0].body.rpartition(b"}")[2] or b"0") < 16 * 2**20  # socket buffers


def test_bad_receivers_delay_nobody_else(deliverer: Deliverer, tell: Tell, bob: Any) -> None:
    """Attempts that take all of their three seconds, and beside them twenty that are answered."""
    bad = [receivers.Receiver(behave) for behave in (receivers.hang, receivers.drip) * 8]
    try:
        with receiver() as one:
            for other in bad:
                for _ in range(2 * outbox.PER_LANE):
                    tell(other.url())
            for number in range(20):
                tell(one.url(), **({"owner": bob} if number % 2 else {}))
            begun = time.monotonic()
            deliverer.look()
            eventually(lambda: len(one.received) == 20, pause=0.01)
            took = max(got.at for got in one.received) - begun
            slow = sum(other.connections for other in bad)
    finally:
        for other in bad:
            other.close()
    print(f"20 callbacks received within {took:.3f} s beside {slow} attempts that hang")
    # They did not wait for any of the bad ones: these had not had a second turn.
    assert slow <= outbox.PER_LANE * len(bad)


def test_a_lane_has_four_attempts_at_the_same_time(deliverer: Deliverer, tell: Tell) -> None:
    at_once: list[int] = []
    going: list[int] = []

    def count(connection: Connection) -> None:
        going.append(1)
        at_once.append(len(going))
        time.sleep(0.05)
        going.pop()
        connection.say(receivers.OK)

    with receiver(count) as one:
        for _ in range(24):
            tell(one.url())
        deliver(deliverer)
    assert len(one.received) == 24
    assert 2 <= max(at_once) <= outbox.PER_LANE


def test_gone_disables_the_address_and_what_waits_for_it(
    deliverer: Deliverer, tell: Tell, alice: Any
) -> None:
    with receiver(lambda c: c.answer(410)) as one:
        first = tell(one.url())
        waiting = tell(one.url())
        Callback.objects.filter(pk=waiting.pk).update(
            next_attempt_at=datetime.now(UTC) + timedelta(hours=1)
        )
        deliver(deliverer)
        later = tell(one.url())
        other = tell(one.url("/other"))
        deliver(deliverer)
    for callback in (first, waiting, later):
        callback.refresh_from_db()
        assert callback.state == "disabled"
    assert [got.path for got in one.received] == ["/hook", "/other"]
    assert CallbackAddress.objects.filter(owner=alice, disabled_at__isnull=False).count() == 2
    other.refresh_from_db()
    assert other.state == "disabled"


def test_an_address_that_answers_again_is_used_again(
    deliverer: Deliverer, tell: Tell, alice: Any
) -> None:
    with receiver(lambda c: c.answer(410)) as one:
        callback = tell(one.url())
        deliver(deliverer)
        one.behave = receivers.good
        assert outbox.redeliver(Q(pk=callback.pk)) == [callback.pk]
        deliver(deliverer)
        assert not CallbackAddress.objects.filter(disabled_at__isnull=False).exists()
        tell(one.url())
        deliver(deliverer)
    assert len(one.received) == 3
    assert len(set(one.ids())) == 2


# --- schedule, with a virtual clock --------------------------------------------------------


def planned(callback: Callback) -> float:
    callback.refresh_from_db()
    assert callback.next_attempt_at is not None
    assert callback.last_at is not None
    return (callback.next_attempt_at - callback.last_at).total_seconds()


def run_until(deliverer: Deliverer, callback: Callback, seconds: float) -> float:
    """Let time pass until a callback has ended, or its next attempt is after ``seconds``."""
    now = 0.0
    for _ in range(40):
        deliver(deliverer)
        callback.refresh_from_db()
        if callback.state != "pending" or now + planned(callback) >= seconds:
            break
        now += planned(callback)
        make_due(pk=callback.pk)
    return now


@pytest.mark.parametrize("down", [120.0, 3600.0])
def test_a_receiver_that_was_down_is_told_afterwards(
    deliverer: Deliverer, tell: Tell, down: float
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    callback = tell(f"http://127.0.0.1:{port}/hook", b"the same bytes")
    now = run_until(deliverer, callback, down)
    assert callback.last_outcome == "no_connection"
    now += planned(callback)
    make_due()
    with receiver(port=port) as one:
        deliver(deliverer)
    callback.refresh_from_db()
    assert callback.state == "delivered"
    assert now <= down + max(schedule.SLOW[:3])
    assert [(got.headers["webhook-id"], got.body) for got in one.received] == [
        (str(callback.pk), b"the same bytes")
    ]


def test_a_receiver_that_stays_down_exhausts_and_is_told_by_hand(
    deliverer: Deliverer, tell: Tell
) -> None:
    with receiver(lambda c: c.answer(503)) as one:
        callback = tell(one.url())
        day = run_until(deliverer, callback, float("inf"))
        assert callback.state == "exhausted"
        assert callback.attempts == schedule.last_failure() == 11
        assert sum(schedule.SLOW) < day < sum(schedule.SLOW) + 75
        assert callback.next_attempt_at is None
        deliver(deliverer)
        assert len(one.received) == 11
        one.behave = receivers.good
        assert outbox.redeliver(Q(pk=callback.pk)) == [callback.pk]
        assert outbox.redeliver(Q(pk=callback.pk)) == []  # a double click is one
        deliver(deliverer)
    callback.refresh_from_db()
    assert (callback.state, callback.attempts) == ("delivered", 12)
    assert len({(got.headers["webhook-id"], got.body) for got in one.received}) == 1
    numbers = CallbackAttempt.objects.filter(callback=callback).values_list("number", flat=True)
    assert list(numbers) == list(range(1, 13))


def test_without_the_slow_tier_a_minute_is_all(
    deliverer: Deliverer, tell: Tell, settings: Settings
) -> None:
    settings.DARKROOM = settings.DARKROOM | {"callback_slow_retries": False}
    with receiver(lambda c: c.answer(503)) as one:
        callback = tell(one.url())
        assert run_until(deliverer, callback, float("inf")) < 75
        assert (callback.state, len(one.received)) == ("exhausted", 6)


@pytest.mark.parametrize(
    ("said", "least", "most"),
    [
        ("25", 25, 30),
        ("86400", 30, 30),
        (format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True), 30, 30),
        ("soon", 0, 2),
        ("-5", 0, 2),
        ("9" * 400, 0, 2),
    ],
    ids=["seconds", "a day", "a date", "words", "negative", "huge"],
)
def test_retry_after_is_honoured_within_the_cap(
    deliverer: Deliverer, tell: Tell, said: str, least: float, most: float
) -> None:
    with receiver(lambda c: c.answer(503, Retry_After=said)) as one:
        callback = tell(one.url())
        deliver(deliverer)
    assert least - 0.01 <= planned(callback) <= most + 0.01


def test_a_test_is_tried_once(deliverer: Deliverer, tell: Tell) -> None:
    with receiver(lambda c: c.answer(500)) as one:
        callback = tell(one.url(), event=CallbackEvent.TEST)
        deliver(deliverer)
    callback.refresh_from_db()
    assert callback.state == "exhausted"


# --- where it goes -------------------------------------------------------------------------


def test_a_name_that_turns_inward_is_not_followed(
    deliverer: Deliverer, tell: Tell, names: Names, authority: Authority
) -> None:
    """DNS rebinding: judged and dialled are the same address, at each attempt anew."""
    names.answers["hook.example"] = [["127.0.0.1"], ["127.0.0.2"], ["127.0.0.1", "127.0.0.2"]]
    # Inside is one who could show the right certificate: nothing but the judge stands before him.
    tls, tls_inside = authority.server("hook.example"), authority.server("hook.example")
    with (
        receiver(lambda c: c.answer(500), tls=tls) as one,
        receiver(host="127.0.0.2", port=one.port, tls=tls_inside) as inside,
    ):
        callback = tell(one.url(host="hook.example"))
        outcomes = []
        for _ in range(3):
            make_due()
            deliver(deliverer)
            callback.refresh_from_db()
            outcomes.append(callback.last_outcome)
    assert outcomes == ["refused", "forbidden", "forbidden"]
    assert (one.connections, inside.connections) == (1, 0)
    assert names.asked == ["hook.example"] * 3  # once for each attempt


def test_the_right_name_is_asked_for_and_must_be_certified(
    deliverer: Deliverer, tell: Tell, names: Names, authority: Authority
) -> None:
    names.answers["hook.example"] = [["127.0.0.1"]]
    with receiver(tls=authority.server("hook.example")) as one:
        callback = tell(one.url("/x", host="hook.example"))
        deliver(deliverer)
    callback.refresh_from_db()
    assert callback.state == "delivered"
    assert one.names == ["hook.example"]
    assert one.received[0].headers["host"] == f"hook.example:{one.port}"


@pytest.mark.parametrize("kind", ["other name", "other authority", "no TLS", "hangs"])
def test_bad_tls_ends_in_time(
    deliverer: Deliverer, tell: Tell, names: Names, authority: Authority, kind: str
) -> None:
    names.answers["hook.example"] = [["127.0.0.1"]]
    contexts = {
        "other name": authority.server("other.example"),
        "other authority": Authority().server("hook.example"),
    }
    silent = socket.create_server(("127.0.0.1", 0))
    with silent, receiver(tls=contexts.get(kind)) as one:
        port = silent.getsockname()[1] if kind == "hangs" else one.port
        callback = tell(f"https://hook.example:{port}/")
        deliver(deliverer)
    callback.refresh_from_db()
    assert callback.last_outcome == ("too_slow" if kind == "hangs" else "bad_tls")
    assert only_attempt(callback).seconds < MOST
    assert one.received == []


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.2:{port}/",
        "https://10.0.0.1/",
        "https://169.254.169.254/",
        "http://public.example:{port}/",  # plain http into the open internet
        "https://mapped.example:{port}/",
        "https://mixed.example:{port}/",
    ],
)
def test_what_is_forbidden_is_not_dialled(
    deliverer: Deliverer, tell: Tell, names: Names, url: str
) -> None:
    names.answers = {
        "public.example": [["8.8.8.8"]],
        "mapped.example": [["::ffff:127.0.0.2"]],
        "mixed.example": [["127.0.0.1", "10.0.0.1"]],
    }
    with receiver(host="127.0.0.2") as inside:
        callback = tell(url.format(port=inside.port))
        deliver(deliverer)
    callback.refresh_from_db()
    assert callback.last_outcome == "forbidden"
    assert inside.connections == 0


def test_a_name_that_leads_nowhere(deliverer: Deliverer, tell: Tell) -> None:
    callback = tell("https://nobody.example/")
    deliver(deliverer)
    callback.refresh_from_db()
    assert (callback.state, callback.last_outcome) == ("pending", "unknown_host")


def test_ipv6_and_a_second_address_when_the_first_is_closed(
    deliverer: Deliverer, tell: Tell, names: Names
) -> None:
    with receiver(host="::1") as six, receiver() as four:
        tell(six.url())
        names.answers["both.example"] = [["::1", "127.0.0.1"]]
        tell(f"http://both.example:{four.port}/")
        deliver(deliverer)
    assert (len(six.received), len(four.received)) == (1, 1)
    assert six.received[0].headers["host"] == f"[::1]:{six.port}"


def test_proxies_of_the_environment_are_not_used(
    deliverer: Deliverer, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiver() as one, receiver() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url(""))
        tell(one.url())
        deliver(deliverer)
    assert (one.connections, proxy.connections) == (1, 0)


def test_answers_are_kept_as_text_that_can_be_stored(deliverer: Deliverer, tell: Tell) -> None:
    with receiver(lambda c: c.answer(400, b"a\x00b\xff" + b"x" * 5000)) as one:
        callback = tell(one.url())
        deliver(deliverer)
    answer = only_attempt(callback).answer
    assert answer.startswith("a�b�x")
    assert len(answer) == 1024


def test_bodies_are_the_same_bytes_at_each_attempt(deliverer: Deliverer, tell: Tell) -> None:
    body = json.dumps({"prompt": "雨夜 🌧", "n": 1.10}, ensure_ascii=False).encode()
    with receiver(lambda c: c.answer(500)) as one:
        tell(one.url(), body)
        for _ in range(3):
            deliver(deliverer)
            make_due()
    assert {got.body for got in one.received} == {body}
    assert len({got.headers["webhook-id"] for got in one.received}) == 1
