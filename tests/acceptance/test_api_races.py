"""Many callers at once against a running server: one task per key, and no limit exceeded."""

import http.client
import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from tasks_app.core import cancellation, credentials
from tasks_app.models import Account, DayUse, Event, IdempotencyKey, Task
from tests.conftest import make_generator, make_user
from tests.processes import PATIENCE, Service

Make = Callable[..., Service]


@dataclass(frozen=True)
class Answer:
    """What one of many callers was told."""

    status: int
    body: dict[str, Any]
    retry_after: str | None


def at_once(number: int, port: int, headers: dict[str, str]) -> list[Answer]:
    """Submit the same body from many threads, connected before a barrier lets all of them go."""
    barrier = threading.Barrier(number)
    answers: list[Answer] = []
    body = json.dumps({"generator": "sleeper", "params": {"prompt": "at once"}})

    def call() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.connect()
        barrier.wait(PATIENCE)
        connection.request("POST", "/v1/tasks", body, headers)
        got = connection.getresponse()
        answer = Answer(got.status, json.loads(got.read()), got.headers["Retry-After"])
        answers.append(answer)
        connection.close()

    threads = [threading.Thread(target=call) for _ in range(number)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return answers


def headers_of(user: Any, **more: str) -> dict[str, str]:
    _, key = credentials.create(user, "test")
    return {"Authorization": f"Bearer {key}", "Content-Type": "application/json"} | more


def statuses(answers: Sequence[Answer]) -> Counter[int]:
    return Counter(answer.status for answer in answers)


def test_200_threads_with_one_idempotency_key_get_one_task(service: Make) -> None:
    make_generator()
    user = make_user("alice", submit_interval=1_000.0, submit_burst=1)
    one = service()
    one.web()
    answers = at_once(200, one.port, headers_of(user, **{"Idempotency-Key": "one"}))
    assert statuses(answers) == {202: 1, 200: 199}
    task = Task.objects.get()
    assert {answer.body["task_id"] for answer in answers} == {str(task.pk)}
    assert sum(answer.body.get("reused", False) for answer in answers) == 199
    assert IdempotencyKey.objects.get().task_id == task.pk
    # The same key after all of them is a replay still: the refusals took nothing with them.
    with one.client() as client:
        body = {"generator": "sleeper", "params": {"prompt": "at once"}}
        headers = headers_of(user, **{"Idempotency-Key": "one"})
        assert client.post("/v1/tasks", json=body, headers=headers).status_code == 200


def begin_anew(user: Any) -> None:
    """Cancel what waits, which gives back all but the rate, and forget it and the rate."""
    for task in Task.objects.all():
        assert cancellation.cancel(task.pk, user.pk)
    assert DayUse.objects.get().number == 0
    Event.objects.all().delete()
    Task.objects.all().delete()
    Account.objects.filter(user=user).update(submit_tat=None)


@pytest.mark.parametrize(
    ("limits", "allowed", "code"),
    [
        ({"max_open": 10}, 10, "too_many_open_tasks"),
        ({"submit_interval": 1_000.0, "submit_burst": 3}, 3, "submit_rate"),
        ({"max_day": 5}, 5, "day_limit"),
        (
            {"max_open": 10, "submit_interval": 1_000.0, "submit_burst": 3, "max_day": 5},
            3,
            "submit_rate",
        ),
        ({"max_open": 10, "max_day": 5, "max_month": 9}, 5, "day_limit"),
    ],
)
def test_64_threads_get_exactly_what_the_limits_allow(
    service: Make, limits: dict[str, Any], allowed: int, code: str
) -> None:
    make_generator()
    user = make_user("alice", **limits)
    one = service()
    one.web()
    for again in (True, False):
        answers = at_once(64, one.port, headers_of(user))
        assert statuses(answers) == {202: allowed, 429: 64 - allowed}
        assert Task.objects.count() == allowed == DayUse.objects.get().number
        refused = [answer for answer in answers if answer.status == 429]
        assert {answer.body["code"] for answer in refused} == {code}
        assert all(int(answer.retry_after or 0) >= 1 for answer in refused)
        if again:
            begin_anew(user)
