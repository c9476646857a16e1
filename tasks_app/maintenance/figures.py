"""Figures of each pool, published every two seconds: what reads add to waiting tasks."""

from typing import Final

from django.db import connection

from tasks_app import conf
from tasks_app.gates import figures, keys, slots, workers
from tasks_app.gates.figures import Figures, GeneratorFigures
from tasks_app.maintenance.due import known_pools
from tasks_app.models import Generator

_SAMPLES: Final = 200
_MAX_COUNTED: Final = 10_000
"""Positions beyond this are told as "more than"; counting further would cost every tick."""


def publish_all() -> None:
    """Publish the figures of every pool. Raises ``RedisError`` or a database error."""
    generators = list(Generator.objects.all())
    used = slots.used([keys.slots_all(), *(keys.slots_generator(g.pk) for g in generators)])
    known = {
        str(generator.pk): GeneratorFigures(
            used=count,
            limit=generator.max_running,
            paused=generator.paused,
            seconds=usual_seconds(generator),
        )
        for generator, count in zip(generators, used[1:], strict=True)
    }
    full = slots.full_owners()
    for pool in sorted({*known_pools(), *(generator.pool for generator in generators)}):
        tags = _tags(pool)
        figures.publish(
            Figures(
                pool=pool,
                pending=len(tags),
                workers=workers.count(pool),
                used=used[0],
                limit=conf.get().limit_all,
                tags=_sampled(tags),
                generators=known,
                full_owners=full,
            )
        )


def _tags(pool: str) -> list[float]:
    """Return the start tags of the pool's backlog, in order, from one partial index."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tag FROM tasks_app_task WHERE pool = %s AND state = 'pending' "
            "AND not_before IS NULL ORDER BY tag LIMIT %s",
            [pool, _MAX_COUNTED],
        )
        return [tag for (tag,) in cursor.fetchall()]


def _sampled(tags: list[float]) -> list[tuple[float, int]]:
    """Return at most ``_SAMPLES`` of (tag, rank), always with the first and the last."""
    step = max(1, len(tags) // (_SAMPLES - 1))
    sample = [(tags[rank], rank) for rank in range(0, len(tags), step)]
    if tags and sample[-1][1] != len(tags) - 1:
        sample.append((tags[-1], len(tags) - 1))
    return sample


_USUAL = """
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) FROM (
    SELECT extract(epoch FROM finished_at - started_at) AS seconds
    FROM tasks_app_task WHERE generator_id = %s AND state = 'success'
    ORDER BY finished_at DESC LIMIT 50
) AS recent
"""


def usual_seconds(generator: Generator) -> float:
    """Return the median of the last fifty durations, or the row's first guess."""
    with connection.cursor() as cursor:
        cursor.execute(_USUAL, [generator.pk])
        (median,) = cursor.fetchone()
    return float(median) if median is not None else generator.expected_seconds
