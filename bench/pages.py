"""First pages, polls and claims with a million finished tasks against an almost empty table.

Starts its own PostgreSQL (without fsync: reads matter here) and Valkey, measures every page on
a table with 2 000 tasks, so that every page is full, fills it by SQL and measures again. Pages
are asked for through Django's test client: the time is the service's own, without the network.
Prints the best and the median of each in milliseconds, and the ratio of the best: other load
on the machine can only add to a time.

    python -m bench.pages [--tasks 1000000] [--rounds 25]
"""

import argparse
import os
import secrets
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aigc_site.embedded import postgres, servers, valkey

FEW = 2_000
Action = Callable[[], object]

FILL = """
ALTER TABLE tasks_app_event DISABLE TRIGGER USER;
INSERT INTO tasks_app_task (id, owner_id, generator_id, flow_id, pool, state, version, priority,
    params, metadata, allow_degraded, degraded, request_id, tag, share, attempt_number, failures,
    max_wait, created_at, started_at, finished_at, error_code, error_detail, result_count,
    result_expires_at)
SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - (n * 30000)), 12, '0')
        || '7' || lpad(to_hex(n %% 4096), 3, '0') || '8' || lpad(to_hex(n), 15, '0'))::uuid,
    owner, generator, flow, 'default', CASE WHEN n %% 20 = 0 THEN 'failed' ELSE 'success' END, 3,
    'normal', jsonb_build_object('prompt', 'picture ' || n), '{}', false, false, '', n, 1, 1, 0,
    3600, at, at + interval '2 s', at + interval '6 s',
    CASE WHEN n %% 20 = 0 THEN 'internal' ELSE '' END, '',
    CASE WHEN n %% 20 = 0 THEN 0 ELSE 1 END,
    CASE WHEN n %% 20 = 0 THEN NULL ELSE now() + interval '7 days' END
FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS n
CROSS JOIN LATERAL (SELECT now() - n * interval '30 s' AS at) AS moment
CROSS JOIN LATERAL (
    SELECT CASE WHEN n %% 100 = 0 THEN %(mine)s ELSE %(others)s END AS owner,
           %(generator)s::uuid AS generator, %(flow)s::uuid AS flow
) AS fixed;
INSERT INTO tasks_app_event (id, task_id, at, kind, attempt_number, data)
SELECT gen_random_uuid(), id, finished_at, 'succeeded', 1, '{}' FROM tasks_app_task
WHERE finished_at IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM tasks_app_event WHERE task_id = tasks_app_task.id);
ALTER TABLE tasks_app_event ENABLE TRIGGER USER;
"""


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=25)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="darkroom-bench-") as folder:
        Path(folder).chmod(0o711)
        running = start(Path(folder))
        try:
            _compare(options.tasks, options.rounds)
        finally:
            for server in reversed(running):
                server.stop()


def start(folder: Path) -> list[servers.Running]:
    """Start both servers below the folder, set Django up on them and make the tables."""
    database = servers.start_postgres(folder / "postgres", postgres.UNSAFE_BUT_FAST)
    redis = servers.start_valkey(folder / "valkey", valkey.IN_MEMORY)
    os.environ.update(
        DJANGO_SETTINGS_MODULE="aigc_site.settings",
        DATABASE_URL=database.server.url,
        REDIS_URL=redis.server.url,
        DARKROOM_SECRET_KEY=secrets.token_urlsafe(48),
        DARKROOM_DATA=str(folder / "data"),
        DARKROOM_LOG_LEVEL="ERROR",
    )
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    return [database, redis]


def _compare(tasks: int, rounds: int) -> None:
    scene = Scene()
    scene.fill(FEW, first=1)
    few = {name: times(action, rounds) for name, action in scene.actions.items()}
    begun = time.perf_counter()
    scene.fill(tasks, first=FEW + 1)
    print(f"filled {tasks:,} tasks in {time.perf_counter() - begun:.0f} s")
    print(f"{'':28}{'few: best, median':>24}{'many: best, median':>24}{'ratio':>8}")
    for name, action in scene.actions.items():
        many = times(action, rounds)
        columns = "".join(f"{best:11.2f} {median:9.2f} ms" for best, median in (few[name], many))
        print(f"{name:28}{columns}{many[0] / few[name][0]:8.2f}")


def times(action: Action, rounds: int) -> tuple[float, float]:
    """Return the best and the median of so many calls in ms, after a few that do not count."""
    for _ in range(3):
        action()
    taken = []
    for _ in range(rounds):
        begun = time.perf_counter()
        action()
        taken.append(time.perf_counter() - begun)
    return 1000 * min(taken), 1000 * statistics.median(taken)


class Scene:
    """Two users, a generator, a few finished tasks, and what is measured."""

    def __init__(self) -> None:
        from django.contrib.auth import get_user_model
        from django.test import Client

        from tasks_app.core import accounts
        from tasks_app.gates import slots
        from tasks_app.management.commands.bootstrap import ensure_sketch

        users: Any = get_user_model().objects
        self.mine = users.create_user("mine", password=secrets.token_hex())
        self.others = users.create_superuser("others", password=secrets.token_hex())
        for user in (self.mine, self.others):
            account = accounts.account_of(user)
            account.submit_interval, account.max_open, account.max_running = 0.0, 100_000, 100_000
            account.save()
        self.generator = ensure_sketch()
        slots.restore([])
        self._owner, self._staff = (Client(headers={"host": "localhost"}) for _ in range(2))
        self._owner.force_login(self.mine)
        self._staff.force_login(self.others)
        for _ in range(30):
            self._finish()
        self.task = self._finish()
        self.actions: dict[str, Action] = {
            "submit, claim, finish": self._finish,
            "gallery, first page": lambda: self._page("/gallery"),
            "list by API, first page": lambda: self._page("/v1/tasks"),
            "list by API, failed": lambda: self._page("/v1/tasks?status=failed"),
            "search by API": lambda: self._page("/v1/tasks?q=picture"),
            "task page": lambda: self._page(f"/tasks/{self.task}"),
            "poll missing its snapshot": self._missed_poll,
            "admin, first page of tasks": lambda: self._page("/admin/tasks_app/task/", staff=True),
            "admin, failed tasks": lambda: self._page(
                "/admin/tasks_app/task/?state=failed", staff=True
            ),
            "admin, a task": lambda: self._page(
                f"/admin/tasks_app/task/{self.task}/change/", staff=True
            ),
            "admin, dashboard": lambda: self._page("/admin/", staff=True),
            "sweep with nothing to do": self._sweep,
        }

    def _page(self, address: str, *, staff: bool = False) -> None:
        from django.core.cache import cache

        cache.clear()
        answer = (self._staff if staff else self._owner).get(address, follow=True)
        if answer.status_code != 200:
            raise RuntimeError(f"{address}: {answer.status_code}")

    def _missed_poll(self) -> None:
        from tasks_app.core import queries
        from tasks_app.gates import snapshots

        snapshots.forget([self.task])
        queries.clear_caches()
        self._page(f"/v1/tasks/{self.task}")

    def _finish(self) -> Any:
        from tasks_app.core import claim, outcomes, submission
        from tasks_app.core.submission import Wish

        wish = Wish("sketch", {"prompt": "picture of a benchmark"})
        submission.submit(self.mine, wish)
        claimed = claim.claim_next("default", "bench")
        if claimed is None:
            raise RuntimeError("nothing could be claimed")
        outcomes.succeeded(claimed.attempt, [_artifact(claimed.task.pk)])
        return claimed.task.pk

    def _sweep(self) -> None:
        from tasks_app.maintenance.sweep import sweep

        sweep()

    def fill(self, tasks: int, *, first: int) -> None:
        """Add finished tasks, older and older: one in a hundred is the measured user's own."""
        from django.db import connection

        from tasks_app.models import Flow

        flow = Flow.objects.get(owner=self.mine)
        values = {
            "first": first,
            "last": first + tasks - 1,
            "mine": self.mine.pk,
            "others": self.others.pk,
            "generator": self.generator.pk,
            "flow": flow.pk,
        }
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 0")
            for statement in FILL.split(";\n"):
                if statement.strip():
                    cursor.execute(statement, values)
            cursor.execute("VACUUM ANALYZE")


def _artifact(task_id: Any) -> Any:
    from django.utils import timezone

    from tasks_app.models import Artifact, new_id

    return Artifact(
        id=new_id(),
        task_id=task_id,
        position=0,
        storage_key=f"none/{new_id()}.png",
        thumbnail_key=f"none/{new_id()}.webp",
        media_type="image/png",
        width=8,
        height=8,
        bytes=100,
        sha256="0" * 64,
        created_at=timezone.now(),
    )


if __name__ == "__main__":
    main()
