"""Claims with a long history and a blocked backlog, against the same service when it is empty.

A million finished and 100 000 pending tasks, nine of ten of them at the head of the order and not
to be started: owners at their limit, a paused generator, held back until later, an upstream whose
rate is used up. A claim here is all of it: candidates, slots, the transaction, what follows.
Each round claims and ends tasks of light users on both; prints the median and the ratio. Also what
a tick of the figures costs.

    python -m bench.claim [--finished 1000000] [--pending 100000] [--rounds 200]
"""

import argparse
import statistics
import time
from typing import Any, Final

from bench import stand

_SEED: Final = """
INSERT INTO tasks_app_task (id, owner_id, generator_id, flow_id, pool, state, version, priority,
    params, metadata, allow_degraded, degraded, request_id, tag, share, attempt_number, failures,
    max_wait, created_at, give_up_at, not_before, started_at, finished_at, error_code,
    error_detail, result_count, result_expires_at, cost)
SELECT gen_random_uuid(), flow.owner_id, flow.generator_id, flow.id, flow.pool,
    CASE WHEN %(done)s THEN 'success' ELSE 'pending' END, 1, flow.priority,
    jsonb_build_object('prompt', 'picture ' || n), '{}', false, false, '', flow.last_tag + n, 0,
    CASE WHEN %(done)s THEN 1 ELSE 0 END, 0, 3600, now() - n * interval '1 s',
    now() + interval '1 day', CASE WHEN %(later)s THEN now() + interval '1 hour' END,
    CASE WHEN %(done)s THEN now() - n * interval '1 s' END,
    CASE WHEN %(done)s THEN now() - n * interval '1 s' + interval '5 s' END, '', '',
    CASE WHEN %(done)s THEN 1 ELSE 0 END,
    CASE WHEN %(done)s THEN now() + interval '7 days' END, 60
FROM tasks_app_flow AS flow CROSS JOIN generate_series(1, %(number)s::int) AS n
WHERE flow.id = %(flow)s
"""
_PASSED: Final = "UPDATE tasks_app_flow SET last_tag = last_tag + %s WHERE id = %s"


def main() -> None:
    """Measure, fill, measure again."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--finished", type=int, default=1_000_000)
    parser.add_argument("--pending", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    with stand.service():
        scene = Scene(options.rounds)
        few, few_tick = scene.claims(), scene.tick()
        begun = time.perf_counter()
        scene.fill(options.finished, options.pending)
        print(f"filled in {time.perf_counter() - begun:.0f} s")
        many, many_tick = scene.claims(), scene.tick()
    print(f"{'':34}{'empty':>10}{'full':>10}{'ratio':>8}")
    for name, before, after in (
        ("claim, p50", few[0], many[0]),
        ("claim, best", few[1], many[1]),
        ("reading the candidates, p50", few[2], many[2]),
        ("figures of all pools, p50", few_tick, many_tick),
    ):
        print(f"{name:34}{before:>7.2f} ms{after:>7.2f} ms{after / before:>8.2f}")


class Scene:
    """Light users who are served, and others who are blocked."""

    def __init__(self, rounds: int) -> None:
        from django.conf import settings

        settings.DARKROOM = settings.DARKROOM | {"limit_all": 100_000}
        self._rounds = rounds
        self._light = [stand.user(f"light {number}") for number in range(20)]
        self._capped = [stand.user(f"capped {n}", max_running=0) for n in range(20)]
        self._other = stand.user("other")
        stand.generator("open")
        stand.generator("paused", paused=True)
        stand.generator("busy", rate_per_minute=0.01)
        self._flows = {
            ("capped", n): self._submit(user, "open") for n, user in enumerate(self._capped)
        }
        self._flows["paused", 0] = self._submit(self._other, "paused")
        self._flows["busy", 0] = self._submit(self._other, "busy")
        self._flows["later", 0] = self._submit(self._light[0], "open")
        self._serve()

    def _submit(self, user: Any, generator: str) -> Any:
        from tasks_app.core import submission
        from tasks_app.models import Task

        made = submission.submit(user, submission.Wish(generator, {"prompt": "a claim"}))
        return Task.objects.values_list("flow_id", flat=True).get(pk=made.task_id)

    def _serve(self) -> None:
        """Start what may start, so that only what is blocked is left."""
        from tasks_app.core import claim

        while (found := claim.claim_next("default", "bench")) is not None:
            stand.finish(found)

    def claims(self) -> tuple[float, float, float]:
        """Return median and best of whole claims, and the median of reading candidates, in ms."""
        from tasks_app.core import claim

        whole, reading = [], []
        for number in range(self._rounds + 10):
            self._submit(self._light[number % len(self._light)], "open")
            begun = time.perf_counter()
            claim.candidates("default")
            read = time.perf_counter()
            found = claim.claim_next("default", "bench")
            done = time.perf_counter()
            if found is None:
                raise RuntimeError("nothing could be claimed")
            stand.finish(found)
            if number >= 10:
                reading.append(read - begun)
                whole.append(done - read)
        return (
            1000 * statistics.median(whole),
            1000 * min(whole),
            1000 * statistics.median(reading),
        )

    def tick(self) -> float:
        """Return the median of publishing the figures, in ms."""
        from tasks_app.maintenance.figures import publish_all

        taken = []
        for _ in range(15):
            begun = time.perf_counter()
            publish_all()
            taken.append(time.perf_counter() - begun)
        return 1000 * statistics.median(taken)

    def fill(self, finished: int, pending: int) -> None:
        """Add the history and the backlog: one in ten of it may start."""
        from django.db import connection

        from tasks_app.models import Flow

        light = [flow.pk for flow in Flow.objects.filter(owner__in=self._light)]
        blocked = [flow for (kind, _), flow in self._flows.items() if kind == "capped"]
        tenth = pending // 10
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 0")
            for flow in light:
                _add(cursor, flow, finished // len(light), done=True)
                _add(cursor, flow, tenth // len(light))
            for flow in blocked:
                _add(cursor, flow, 4 * tenth // len(blocked))
            _add(cursor, self._flows["paused", 0], 3 * tenth)
            _add(cursor, self._flows["busy", 0], tenth)
            _add(cursor, self._flows["later", 0], tenth, later=True)
            cursor.execute(
                "UPDATE tasks_app_flow SET head_tag = finish_tag WHERE EXISTS (SELECT 1 FROM "
                "tasks_app_task WHERE flow_id = tasks_app_flow.id AND state = 'pending' "
                "AND not_before IS NULL)"
            )
            cursor.execute("VACUUM ANALYZE")


def _add(cursor: Any, flow: Any, number: int, *, done: bool = False, later: bool = False) -> None:
    cursor.execute(_SEED, {"flow": flow, "number": number, "done": done, "later": later})
    cursor.execute(_PASSED, [number, flow])


if __name__ == "__main__":
    main()
