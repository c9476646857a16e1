"""Filling the table with ended tasks, fast."""

from typing import Any

from django.db import connection

from tasks_app.models import Flow, Generator

WORDS = ("a red boat at dawn", "雨夜的城市，霓虹灯", "mountains under snow", "墨色山水 with mist")

_FILL = """
    INSERT INTO tasks_app_task (
        id, owner_id, generator_id, flow_id, pool, state, version, priority, params, metadata,
        allow_degraded, degraded, request_id, tag, share, attempt_number, failures, max_wait,
        created_at, finished_at, error_code, error_detail, result_count)
    SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7000' || '8'
            || substr(md5(%(owner)s || '/' || number), 1, 15))::uuid,
           %(owner)s, %(generator)s, %(flow)s, 'default', 'failed', 3, 'normal',
           jsonb_build_object(
               'prompt', (%(words)s::text[])[1 + number %% %(kinds)s] || ' ' || number),
           '{}', false, false, '', 0, 0, 1, 0, 60, at, at, 'canceled', '', 0
    FROM generate_series(1, %(count)s) AS number,
         LATERAL (SELECT now() - make_interval(secs => (%(count)s - number) * %(gap)s)) AS t(at)
"""


def fill(owner: Any, count: int, generator: Generator, gap: float = 60.0) -> None:
    """Give ``owner`` so many canceled tasks, one every ``gap`` seconds until now.

    The prompts are those of ``WORDS`` in turn, each followed by the task's number from 1.
    """
    flow, _ = Flow.objects.get_or_create(
        pool="default", generator=generator, owner=owner, priority="normal"
    )
    values = {
        "owner": owner.pk,
        "generator": generator.pk,
        "flow": flow.pk,
        "words": list(WORDS),
        "kinds": len(WORDS),
        "count": count,
        "gap": gap,
    }
    with connection.cursor() as cursor:
        cursor.execute(_FILL, values)
