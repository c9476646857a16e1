"""What `/metrics` says, and to whom."""

import re
from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import DjangoAssertNumQueries, Settings
from redis.exceptions import ConnectionError as RedisConnectionError

from tasks_app import metrics
from tasks_app.api import novelty
from tasks_app.core import cancellation, observation, outcomes
from tasks_app.gates import counters
from tasks_app.gates.connection import client as redis_client
from tasks_app.lifecycle import ErrorCode, EventKind, State
from tasks_app.maintenance import tallies
from tasks_app.maintenance.report import Report
from tasks_app.maintenance.sweep import sweep
from tasks_app.models import Generator, Tally, Total
from tests.integration.helpers import artifacts, claimed, shift, submit

pytestmark = pytest.mark.django_db

Figures = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    metrics.reset()
    novelty.clear()


def figures(client: Client) -> Callable[..., float]:
    """Scrape, and return a function that finds a figure by name and labels (default 0)."""
    answer = client.get("/metrics")
    assert answer.status_code == 200
    found: Figures = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.content.decode())
        for sample in family.samples
    }
    return lambda name, **labels: found.get((f"darkroom_{name}", tuple(sorted(labels.items()))), 0)


@pytest.mark.usefixtures("open_slots")
def test_every_transition_is_counted_once_folded_or_not(
    client: Client, alice: Any, sleeper: Generator
) -> None:
    done, canceled, late, failing = (submit(alice) for _ in range(4))
    waiting = submit(alice)
    first = claimed()
    assert outcomes.succeeded(first.attempt, artifacts(first.task.pk))
    assert not outcomes.failed(first.attempt, ErrorCode.INTERNAL, "", retryable=False)
    assert first.task.pk == done.pk
    cancellation.cancel(canceled.pk, alice.pk)
    assert outcomes.timed_out(late)
    second = claimed()
    assert second.task.pk == failing.pk
    assert outcomes.failed(second.attempt, ErrorCode.INTERNAL, "", retryable=True)

    def check() -> None:
        of = figures(client)
        assert of("submissions_total", generator="sleeper") == 5
        for state, code, number in (
            ("success", "", 1),
            ("failed", "canceled", 1),
            ("timeout", "waited_too_long", 1),
        ):
            ended = of("completions_total", generator="sleeper", state=state, code=code)
            assert ended == number, state
            measured = of("completion_seconds_count", generator="sleeper", state=state)
            assert measured == number
        assert of("waiting_seconds_count", generator="sleeper") == 2
        assert of("requeues_total", generator="sleeper", reason="internal") == 1
        assert of("events_total", generator="sleeper", kind="claimed") == 2
        assert of("tasks", state="pending") == 2
        assert of("tasks", state="running") == 0
        assert of("tasks", state="success") == 1
        assert of("queue_depth", pool="default", generator="sleeper") == 2

    check()
    sweep()
    assert not Tally.objects.exists()
    assert Total.objects.filter(kind="submitted").get().number == 5
    check()
    submit(alice)
    tallies.fold(Report(), dry_run=False)
    assert Total.objects.filter(kind="submitted").get().number == 6
    assert waiting.state == State.PENDING


def test_seconds_are_measured_on_the_databases_clock_and_fall_into_their_bucket(
    client: Client, alice: Any, sleeper: Generator, open_slots: None
) -> None:
    task = submit(alice)
    shift(task, "created_at", -7.0)
    claim = claimed()
    outcomes.succeeded(claim.attempt, artifacts(task.pk))
    for _ in range(2):
        of = figures(client)
        labels = {"generator": "sleeper"}
        assert of("waiting_seconds_bucket", le="5.0", **labels) == 0
        assert of("waiting_seconds_bucket", le="10.0", **labels) == 1
        assert of("waiting_seconds_bucket", le="+Inf", **labels) == 1
        assert 7 < of("waiting_seconds_sum", **labels) < 60
        assert 7 < of("completion_seconds_sum", state="success", **labels) < 60
        tallies.fold(Report(), dry_run=False)


def test_what_is_rolled_back_did_not_happen(alice: Any, sleeper: Generator) -> None:
    before = Tally.objects.count()
    with transaction.atomic():
        submit(alice)
        transaction.set_rollback(True)
    assert Tally.objects.count() == before


def test_the_trigger_knows_every_ending(alice: Any, sleeper: Generator, open_slots: None) -> None:
    endings = {EventKind.SUCCEEDED, EventKind.FAILED, EventKind.TIMED_OUT, EventKind.CANCELED}
    task = submit(alice)
    cancellation.cancel(task.pk, alice.pk)
    with connection.cursor() as cursor:
        for kind in EventKind:
            cursor.execute(
                "INSERT INTO tasks_app_event (id, task_id, at, kind, attempt_number, data) "
                "VALUES (gen_random_uuid(), %s, now(), %s, 0, '{}')",
                [task.pk, kind.value],
            )
    Tally.objects.all()[:1]
    stated = set(Tally.objects.exclude(state="").values_list("kind", flat=True))
    assert stated == {kind.value for kind in endings}
    assert set(Tally.objects.values_list("kind", flat=True)) == {kind.value for kind in EventKind}


def test_polls_are_told_apart_by_what_they_found(
    client: Client, alice: Any, sleeper: Generator, key_of: Callable[[Any], str]
) -> None:
    task = submit(alice)
    headers = {"Authorization": f"Bearer {key_of(alice)}"}
    path = f"/v1/tasks/{task.pk}"
    etag = client.get(path, headers=headers)["ETag"]
    client.get(path, headers=headers)
    for _ in range(3):
        assert client.get(path, headers={**headers, "If-None-Match": etag}).status_code == 304
    cancellation.cancel(task.pk, alice.pk)
    client.get(path, headers={**headers, "If-None-Match": etag})
    client.get(path)
    of = figures(client)
    found = {
        answer: of("polls_total", answer=answer)
        for answer in ("changed", "unchanged", "not_modified", "refused")
    }
    assert found == {"changed": 2, "unchanged": 1, "not_modified": 3, "refused": 1}


def test_a_batch_whose_answer_was_lost_is_added_once(
    monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    add = counters.add

    def add_and_lose(*args: Any) -> bool:
        add(*args)
        raise RedisConnectionError("lost")

    monkeypatch.setattr(counters, "add", add_and_lose)
    metrics.count(metrics.REPAIRS, "lost", by=3)
    metrics.flush()
    metrics.flush()
    metrics.count(metrics.REPAIRS, "lost", by=4)
    monkeypatch.setattr(counters, "add", add)
    metrics.flush()
    metrics.flush()
    assert figures(client)("sweep_repairs_total", kind="lost") == 7


def test_counts_wait_for_an_absent_redis(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    add = counters.add

    def refuse(*args: Any) -> bool:
        raise RedisConnectionError("away")

    monkeypatch.setattr(counters, "add", refuse)
    for _ in range(3):
        metrics.upstream_answer("far", 429)
        metrics.upstream_answer("far", None)
        metrics.flush()
    monkeypatch.setattr(counters, "add", add)
    metrics.flush()
    of = figures(client)
    assert of("upstream_answers_total", generator="far", answer="429") == 3
    assert of("upstream_answers_total", generator="far", answer="none") == 3


def test_sweeps_count_what_they_repair(
    client: Client, alice: Any, sleeper: Generator, open_slots: None
) -> None:
    task = submit(alice)
    shift(task, "give_up_at", -7200.0)
    sweep(dry_run=True)
    assert figures(client)("sweep_repairs_total", kind="waited_too_long") == 0
    sweep()
    assert figures(client)("sweep_repairs_total", kind="waited_too_long") == 1


def test_claims_are_measured(client: Client) -> None:
    for seconds in (0.0005, 0.004, 100.0):
        metrics.observe(metrics.CLAIMS, seconds, "default")
    of = figures(client)
    assert of("claim_seconds_bucket", pool="default", le="0.001") == 1
    assert of("claim_seconds_bucket", pool="default", le="0.005") == 2
    assert of("claim_seconds_bucket", pool="default", le="2.5") == 2
    assert of("claim_seconds_count", pool="default") == 3
    assert of("claim_seconds_sum", pool="default") == pytest.approx(100.0045)


def test_slots_and_pauses_are_told(
    client: Client, alice: Any, sleeper: Generator, open_slots: None
) -> None:
    submit(alice)
    claimed()
    Generator.objects.update(paused=True)
    of = figures(client)
    assert of("slots_used", generator="sleeper") == 1
    assert of("slots_limit", generator="sleeper") == 1_000
    assert of("slots_used", generator="") == 1
    assert of("generator_paused", generator="sleeper") == 1
    assert of("database_up") == of("redis_up") == 1


def test_without_redis_the_rest_is_told(
    client: Client, alice: Any, sleeper: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(alice)

    def away(*args: Any, **options: Any) -> Any:
        raise RedisConnectionError("away")

    monkeypatch.setattr(type(redis_client()), "execute_command", away)
    of = figures(client)
    assert of("redis_up") == 0
    assert of("database_up") == 1
    assert of("submissions_total", generator="sleeper") == 1


# --- who may ask ---------------------------------------------------------------------------


def test_loopback_may_ask_and_the_world_gets_nothing(client: Client) -> None:
    assert client.get("/metrics", REMOTE_ADDR="127.0.0.1").status_code == 200
    assert client.get("/metrics", REMOTE_ADDR="::1").status_code == 200
    assert client.get("/metrics", REMOTE_ADDR="::ffff:127.0.0.1").status_code == 200
    for address in ("203.0.113.7", "10.0.0.1", "::ffff:10.0.0.1", "", "unix:"):
        assert client.get("/metrics", REMOTE_ADDR=address).status_code == 404, address


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP"])
def test_the_address_of_a_proxy_says_nothing(client: Client, header: str) -> None:
    answer = client.get("/metrics", headers={header: "127.0.0.1"}, REMOTE_ADDR="127.0.0.1")
    assert answer.status_code == 404


def test_networks_of_the_setting_may_ask(client: Client, settings: Settings) -> None:
    settings.DARKROOM = settings.DARKROOM | {"metrics_allow": (ip_network("10.1.0.0/16"),)}
    assert client.get("/metrics", REMOTE_ADDR="10.1.2.3").status_code == 200
    for address in ("10.2.0.1", "127.0.0.1"):
        assert client.get("/metrics", REMOTE_ADDR=address).status_code == 404


def test_a_token_opens_from_everywhere(client: Client, settings: Settings) -> None:
    settings.DARKROOM = settings.DARKROOM | {"metrics_token": "a-token-of-metrics"}

    def ask(**headers: str) -> int:
        answer = client.get("/metrics", headers=headers, REMOTE_ADDR="203.0.113.7")
        return answer.status_code

    assert ask(Authorization="Bearer a-token-of-metrics") == 200
    assert ask(Authorization="bearer a-token-of-metrics") == 200
    for wrong in ("Bearer a-token-of-metric", "Bearer ", "Basic a-token-of-metrics", "Bearer ü"):
        assert ask(Authorization=wrong) == 401, wrong
    assert ask() == 401


# --- what it costs, and that it is written down --------------------------------------------


def test_a_scrape_asks_a_number_of_times_that_does_not_grow(
    client: Client,
    alice: Any,
    sleeper: Generator,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for number in range(6):
        Generator.objects.create(
            name=f"g{number}", title="g", adapter="sketch", pool=f"pool{number}"
        )
        submit(alice)
    with django_assert_max_num_queries(17):
        client.get("/metrics")


def test_a_poll_is_counted_without_the_database(
    client: Client,
    alice: Any,
    sleeper: Generator,
    key_of: Callable[[Any], str],
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    headers = {"Authorization": f"Bearer {key_of(alice)}"}
    path = f"/v1/tasks/{submit(alice).pk}"
    client.get(path, headers=headers)
    with django_assert_max_num_queries(0):
        client.get(path, headers=headers)


ROOT = Path(__file__).resolve().parents[2]


def test_every_metric_is_described_and_every_described_one_exists(client: Client) -> None:
    text = client.get("/metrics").content.decode()
    told = set(re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE))
    page = (ROOT / "docs" / "metrics.md").read_text()
    described = set(re.findall(r"^\| `(darkroom_[a-z_]+)` \|", page, re.MULTILINE))
    assert described == told


def test_rules_name_metrics_that_exist(client: Client) -> None:
    text = client.get("/metrics").content.decode()
    told = set(re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE))
    rules = (ROOT / "deploy" / "prometheus" / "rules.yml").read_text()
    used = set(re.findall(r"darkroom_[a-z_]+", rules))
    bare = {re.sub(r"_(bucket|sum|count)$", "", name) for name in used}
    assert used and bare <= told


def test_observation_counts_archived_endings_too(alice: Any, sleeper: Generator) -> None:
    task = submit(alice)
    cancellation.cancel(task.pk, alice.pk)
    tallies.fold(Report(), dry_run=False)
    states = observation.states(observation.totals())
    assert states[State.FAILED] == 1
    assert states[State.PENDING] == states[State.RUNNING] == 0
