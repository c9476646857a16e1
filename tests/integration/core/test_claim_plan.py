"""What a claim reads: indexes of live rows, however much is blocked at the head."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tasks_app.core import claim
from tasks_app.gates import keys
from tasks_app.gates.connection import client
from tasks_app.models import Generator
from tests.conftest import make_generator, make_user
from tests.integration.helpers import submit

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("open_slots")]

FILL = """
INSERT INTO tasks_app_task (id, owner_id, generator_id, flow_id, pool, state, version, priority,
    params, metadata, allow_degraded, degraded, request_id, tag, share, attempt_number, failures,
    max_wait, created_at, give_up_at, not_before, started_at, finished_at, error_code,
    error_detail, result_count)
SELECT gen_random_uuid(), owner_id, generator_id, id, pool,
    CASE WHEN %(done)s THEN 'failed' ELSE 'pending' END, 1, priority, '{}', '{}', false, false, '',
    n, 0, 1, 0, 3600, now(), now() + interval '1 day',
    CASE WHEN %(later)s THEN now() + interval '1 hour' END, now(),
    CASE WHEN %(done)s THEN now() END, CASE WHEN %(done)s THEN 'internal' ELSE '' END, '', 0
FROM tasks_app_flow CROSS JOIN generate_series(2, %(number)s) AS n WHERE id = %(flow)s
"""


def fill(flow: Any, number: int, *, done: bool = False, later: bool = False) -> None:
    with connection.cursor() as cursor:
        cursor.execute(FILL, {"flow": flow, "number": number, "done": done, "later": later})


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


@pytest.fixture
def blocked(alice: Any, bob: Any, sleeper: Generator) -> Any:
    """Return the one task that may start, behind thousands that may not."""
    capped = make_user("capped", max_running=0)
    make_generator("paused", paused=True)
    fill(submit(capped).flow_id, 6_000)
    fill(submit(bob, "paused").flow_id, 6_000)
    held = submit(alice).flow_id
    fill(held, 3_000, later=True)
    fill(held, 20_000, done=True)
    client().zadd(keys.slots_full_owners(), {str(capped.pk): 2**53})
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE tasks_app_task")
        cursor.execute("ANALYZE tasks_app_flow")
    return capped


def test_a_claim_scans_no_table_of_tasks_and_sorts_no_backlog(blocked: Any) -> None:
    with CaptureQueriesContext(
        connection,
    ) as seen:
        assert len(claim.candidates("default")) == 1
    statement = next(q["sql"] for q in seen.captured_queries if "AS turn" in q["sql"])
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + statement)
        (found,) = cursor.fetchone()
    plan = (json.loads(found) if isinstance(found, str) else found)[0]["Plan"]
    of_tasks = [one for one in nodes(plan) if one.get("Relation Name") == "tasks_app_task"]
    assert {one["Node Type"] for one in of_tasks} <= {"Index Scan", "Index Only Scan"}
    assert {one["Index Name"] for one in of_tasks} == {"task_flow_ready"}
    read = [one["Actual Rows"] + one.get("Rows Removed by Filter", 0) for one in of_tasks]
    assert sum(read) <= 20
    for one in nodes(plan):
        if "Sort" in one["Node Type"]:
            assert one["Actual Rows"] <= 100
