"""A million finished and a hundred thousand pending tasks against an almost empty table.

Starts its own PostgreSQL (without fsync: work matters here, not the disk) and Valkey. Measures
claim, submit, poll miss, first pages and the sweep's look on a table of 2 000 tasks, fills it by
SQL and measures again: 90 % of the pending tasks stand in front and cannot start, as their owner
is at the cap. Then, on the full table: a sweep of 10 000 due deadlines against the plain SQL
that times as many out, archiving against one statement that moves as many, and the memory of a
process that archives 10 000 and 100 000.

    python -m bench.scale [--tasks 1000000] [--pending 100000] [--due 10000] [--rounds 30]
    python -m bench.scale --only sweep --tasks 50000

Against plain SQL is measured in turn, with both the time that passed and, as other load on the
machine adds to it, the CPU time of this process, its database session and Redis.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from bench import pages

FEW = 2_000

PENDING = """
INSERT INTO tasks_app_task (id, owner_id, generator_id, flow_id, pool, state, version, priority,
    params, metadata, allow_degraded, degraded, request_id, tag, share, attempt_number, failures,
    max_wait, created_at, give_up_at, error_code, error_detail, result_count)
SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint), 12, '0')
        || '7' || lpad(to_hex(n %% 4096), 3, '0') || '9' || lpad(to_hex(n), 15, '0'))::uuid,
    %(owner)s, %(generator)s::uuid, %(flow)s::uuid, 'default', 'pending', 1, 'normal',
    jsonb_build_object('prompt', 'picture ' || n), '{}', false, false, '', %(tag)s + n, 1, 0, 0,
    86400, now(), now() + interval '1 day', '', '', 0
FROM generate_series(1, %(number)s::bigint) AS n
"""
HEADS = """
UPDATE tasks_app_flow AS flow SET head_tag = (
    SELECT min(tag) FROM tasks_app_task
    WHERE flow_id = flow.id AND state = 'pending' AND not_before IS NULL)
"""
LATE = """
UPDATE tasks_app_task SET give_up_at = now() - interval '1 minute'
WHERE id IN (SELECT id FROM tasks_app_task WHERE state = 'pending' AND owner_id = %(owner)s
             ORDER BY tag DESC LIMIT %(number)s)
"""
USES = """
INSERT INTO tasks_app_dayuse (owner_id, day, number)
VALUES (%(owner)s, (now() AT TIME ZONE 'UTC')::date, %(number)s)
ON CONFLICT (owner_id, day) DO UPDATE SET number = tasks_app_dayuse.number + EXCLUDED.number
"""
# What the sweep does for each task, for all at once: the state, a line of history with its tally
# (by trigger), the count of the owner's day given back; then, as a statement sees the tasks as
# they were before it, the heads of the flows. Nothing was paid for, and nobody is to be told.
PLAIN_SWEEP = """
WITH late AS (
    UPDATE tasks_app_task SET state = 'timeout', error_code = 'waited_too_long',
        version = version + 1, finished_at = now()
    WHERE state = 'pending' AND give_up_at <= now()
    RETURNING id, owner_id, created_at, attempt_number
), told AS (
    INSERT INTO tasks_app_event (id, task_id, at, kind, attempt_number, data)
    SELECT gen_random_uuid(), id, now(), 'timed_out', attempt_number,
        '{"code": "waited_too_long", "given_back": true}' FROM late
    RETURNING task_id
), given AS (
    UPDATE tasks_app_dayuse AS use SET number = GREATEST(use.number - of_day.number, 0)
    FROM (
        SELECT owner_id, (created_at AT TIME ZONE 'UTC')::date AS day, count(*) AS number
        FROM late GROUP BY 1, 2
    ) AS of_day
    WHERE use.owner_id = of_day.owner_id AND use.day = of_day.day
)
SELECT count(*) FROM told
"""
PLAIN_MOVE = """
WITH picked AS (
    SELECT id FROM tasks_app_task
    WHERE finished_at <= %(before)s
      AND (result_expires_at IS NULL OR result_removed_at IS NOT NULL)
    ORDER BY finished_at, id LIMIT %(number)s FOR UPDATE
), events AS (
    DELETE FROM tasks_app_event WHERE task_id IN (SELECT id FROM picked) RETURNING *
), attempts AS (
    DELETE FROM tasks_app_attempt WHERE task_id IN (SELECT id FROM picked) RETURNING *
), artifacts AS (
    DELETE FROM tasks_app_artifact WHERE task_id IN (SELECT id FROM picked) RETURNING *
), moved AS (
    DELETE FROM tasks_app_task WHERE id IN (SELECT id FROM picked) RETURNING *
)
INSERT INTO tasks_app_archivedtask (id, owner_id, generator_id, state, error_code, created_at,
    finished_at, archived_at, params, "row", attempts, events, artifacts)
SELECT id, owner_id, generator_id, state, error_code, created_at, finished_at, now(), params,
    to_jsonb(moved), COALESCE(a.list, '[]'), COALESCE(e.list, '[]'), COALESCE(f.list, '[]')
FROM moved
LEFT JOIN (SELECT task_id, jsonb_agg(to_jsonb(attempts)) AS list FROM attempts GROUP BY 1) AS a
    ON a.task_id = moved.id
LEFT JOIN (SELECT task_id, jsonb_agg(to_jsonb(events)) AS list FROM events GROUP BY 1) AS e
    ON e.task_id = moved.id
LEFT JOIN (SELECT task_id, jsonb_agg(to_jsonb(artifacts)) AS list FROM artifacts GROUP BY 1) AS f
    ON f.task_id = moved.id
"""
# Finished tasks as they are after the purge, so that they may be archived.
PURGED = """
UPDATE tasks_app_task SET result_expires_at = finished_at, result_removed_at = finished_at
WHERE state = 'success' AND finished_at <= %(before)s
"""


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--pending", type=int, default=100_000)
    parser.add_argument("--due", type=int, default=10_000)
    parser.add_argument("--moved", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--turns", type=int, default=3, help="of each against plain SQL")
    parser.add_argument("--only", choices=("reads", "sweep", "archive"), help="one part")
    options = parser.parse_args()
    if 2 * options.turns * options.due > options.pending * 9 // 10:
        parser.error("too few pending tasks for so many turns of the sweep")
    os.environ["DARKROOM_ARCHIVE_DAYS"] = "1"
    os.environ["DARKROOM_DB_CONN_MAX_AGE"] = "86400"  # two connections are swapped: none ends
    with tempfile.TemporaryDirectory(prefix="darkroom-bench-") as folder:
        Path(folder).chmod(0o711)
        running = pages.start(Path(folder))
        try:
            _compare(options)
        finally:
            for server in reversed(running):
                server.stop()


def _compare(options: argparse.Namespace) -> None:
    scene = _Scale()
    scene.fill(FEW, first=1)
    few = _Databases()
    begun = time.perf_counter()
    scene.fill(options.tasks, first=FEW + 1)
    scene.add_pending(options.pending)
    print(
        f"filled {options.tasks:,} finished and {options.pending:,} pending tasks "
        f"in {time.perf_counter() - begun:.0f} s"
    )
    parts = {"reads": _reads, "sweep": _sweeps, "archive": _archives}
    for name, part in parts.items():
        if options.only in (None, name):
            part(scene, few, options)
    few.close()


def _reads(scene: "_Scale", few: "_Databases", options: argparse.Namespace) -> None:
    print(
        f"{'':28}{'few: best, median':>24}{'many: best, median':>24}{'ratio':>8}{'of medians':>12}"
    )
    for name, action in scene.actions.items():
        found = few.compare(action, options.rounds)
        columns = "".join(f"{best:11.2f} {median:9.2f} ms" for best, median in found)
        ratios = found[1][0] / found[0][0], found[1][1] / found[0][1]
        print(f"{name:28}{columns}{ratios[0]:8.2f}{ratios[1]:12.2f}", flush=True)


def _sweeps(scene: "_Scale", _: "_Databases", options: argparse.Namespace) -> None:
    sides = (scene.sweep_due, scene.plain_sweep)
    _against_sql("sweep of what is due", *sides, options.due, options.turns)


def _archives(scene: "_Scale", _: "_Databases", options: argparse.Namespace) -> None:
    sides = (scene.archive, scene.plain_move)
    _against_sql("archive, a batch of 500 each", *sides, options.moved, options.turns)
    for number in (options.moved, 10 * options.moved):
        print(f"archive of {number:,}: {_memory_of_archiving(number):.1f} MB at most", flush=True)


class _Databases:
    """A copy of the database as it is now, beside the one that will be filled.

    Both are asked in turn, so that what else the machine does strikes both.
    """

    def __init__(self) -> None:
        from django.db import connection

        name = self._many = connection.settings_dict["NAME"]
        connection.close()
        connection.settings_dict["NAME"] = "postgres"
        with connection.cursor() as cursor:
            cursor.execute(f'CREATE DATABASE few TEMPLATE "{name}"')
        connection.close()
        connection.settings_dict["NAME"] = "few"
        connection.connect()
        self._few = connection.connection
        connection.connection = None
        connection.settings_dict["NAME"] = name
        connection.connect()

    def compare(
        self, action: Callable[[], object], rounds: int
    ) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return best and median in ms of few and of many."""
        taken: tuple[list[float], list[float]] = ([], [])
        for number in range(-3, rounds):  # the first ones do not count
            for times in taken:
                seconds = self._of_few(action) if times is taken[0] else _timed(action)
                if number >= 0:
                    times.append(1000 * seconds)
        if (self._few.info.dbname, self._named()) != ("few", self._many):
            raise RuntimeError("somebody has closed a connection")
        few, many = ((min(times), statistics.median(times)) for times in taken)
        return few, many

    def _named(self) -> str:
        from django.db import connection

        return str(connection.connection.info.dbname)

    def _of_few(self, action: Callable[[], object]) -> float:
        from django.db import connection

        many, connection.connection = connection.connection, self._few
        try:
            return _timed(action)
        finally:
            self._few, connection.connection = connection.connection, many

    def close(self) -> None:
        """Close the connection to the copy."""
        self._few.close()


def _timed(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


@dataclass(frozen=True, slots=True)
class _Took:
    """Seconds that passed, and seconds of CPU that the three processes took."""

    passed: float
    worked: float

    def __truediv__(self, other: "_Took") -> tuple[float, float]:
        return self.passed / other.passed, self.worked / other.worked


class _Watch:
    """Measures from its making on."""

    def __init__(self) -> None:
        from django.db import connection

        from tasks_app.gates.connection import client

        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            (session,) = cursor.fetchone()
        redis = client().info("server")["process_id"]
        self._processes = [psutil.Process(), psutil.Process(session), psutil.Process(redis)]
        self._worked, self._begun = self._work(), time.perf_counter()

    def _work(self) -> float:
        return sum(sum(one.cpu_times()[:2]) for one in self._processes)

    def took(self) -> _Took:
        """Return what has been taken so far."""
        return _Took(time.perf_counter() - self._begun, self._work() - self._worked)


def _against_sql(
    name: str,
    ours: Callable[[int], _Took],
    plain: Callable[[int], _Took],
    number: int,
    turns: int,
) -> None:
    """One after the other, so many times; the median of the ratios of neighbours counts."""
    ratios = []
    for turn in range(1, turns + 1):
        own, other = ours(number), plain(number)
        ratios.append(own / other)
        print(
            f"{name:28}{turn:3}: {own.passed:.2f} s for {number:,}, CPU {own.worked:.2f} s; "
            f"plain SQL {other.passed:.2f} s, CPU {other.worked:.2f} s; "
            f"ratios {ratios[-1][0]:.2f}, CPU {ratios[-1][1]:.2f}",
            flush=True,
        )
    passed, worked = (statistics.median(column) for column in zip(*ratios, strict=True))
    print(f"{name:27} medians of the ratios {passed:.2f}, CPU {worked:.2f}", flush=True)


def _memory_of_archiving(number: int) -> float:
    """Return the most memory, in MB, that the command had in archiving so many."""
    code = (
        "import resource, sys\n"
        "sys.argv = ['manage.py', 'archive_tasks', '--limit', sys.argv[1]]\n"
        "from django.core.management import execute_from_command_line\n"
        "execute_from_command_line(sys.argv)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(number)], check=True, capture_output=True, text=True
    )
    told, peak = run.stdout.splitlines()
    if told != f"tasks: {number}":
        raise RuntimeError(told)
    return int(peak) / 1024


class _Scale(pages.Scene):
    """The scene of ``bench.pages`` with a backlog, and what only a scale shows."""

    def __init__(self) -> None:
        super().__init__()
        shown = ("gallery, first page", "admin, first page of tasks")
        self.actions = {
            "submit": self._submit,
            "claim": self._claim,
            "poll missing its snapshot": self._missed_poll,
            **{name: self.actions[name] for name in shown},
            "sweep with nothing to do": self._sweep,
        }

    def _submit(self) -> None:
        from tasks_app.core import submission
        from tasks_app.core.submission import Wish

        submission.submit(self.mine, Wish("sketch", {"prompt": "picture of a benchmark"}))

    def _claim(self) -> None:
        """Claim one that was submitted before: what is in front of it cannot start."""
        from tasks_app.core import cancellation, claim, outcomes

        claimed = claim.claim_next("default", "bench")
        if claimed is None or claimed.task.owner_id != self.mine.pk:
            raise RuntimeError("the wrong task was claimed, or none")
        cancellation.cancel(claimed.task.pk, self.mine.pk)
        outcomes.stopped(claimed.attempt)

    def add_pending(self, number: int) -> None:
        """Add a backlog: nine tenths in front, of an owner at the cap, the rest behind."""
        from django.db import connection

        from tasks_app.core import accounts, claim
        from tasks_app.models import Flow, Task

        account = accounts.account_of(self.others)
        account.max_running = 1
        account.save()
        self._submit_for(self.others)
        taken = claim.claim_next("default", "bench")
        while taken is not None and taken.task.owner_id != self.others.pk:
            taken = claim.claim_next("default", "bench")
        whale = Flow.objects.get(owner=self.others)
        mine = Flow.objects.get(owner=self.mine)
        front = number * 9 // 10
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 0")
            for owner, flow, tag, rows in (
                (self.others, whale, -1e6, front),
                (self.mine, mine, 1e6, number - front),
            ):
                values = {"owner": owner.pk, "generator": self.generator.pk, "flow": flow.pk}
                cursor.execute(PENDING, values | {"tag": tag, "number": rows})
                cursor.execute(USES, {"owner": owner.pk, "number": rows})
            cursor.execute(HEADS)
            cursor.execute("VACUUM ANALYZE")
        if Task.objects.filter(state="pending").count() < number:
            raise RuntimeError("the backlog is not there")

    def _submit_for(self, user: Any) -> None:
        from tasks_app.core import submission
        from tasks_app.core.submission import Wish

        submission.submit(user, Wish("sketch", {"prompt": "picture of a whale"}))

    # --- the sweep -----------------------------------------------------------------------

    def _make_late(self, number: int) -> None:
        """Prepare; the totals of what was before are not this measure's."""
        from tasks_app.maintenance import tallies
        from tasks_app.maintenance.report import Report

        tallies.fold(Report(), False)
        self._execute(LATE, {"owner": self.others.pk, "number": number})
        self._execute("ANALYZE tasks_app_task")

    def sweep_due(self, number: int) -> _Took:
        """Return what sweeps took to time all of these out; they fold the totals as well."""
        from tasks_app.maintenance.sweep import sweep

        self._make_late(number)
        done, watch = 0, _Watch()
        for _ in range(number):
            report = sweep()
            done += report.counts["waited too long"]
            if done >= number:
                return watch.took()
            if not report.counts["waited too long"]:
                break
        raise RuntimeError(f"the sweep does not get on: {done} of {number}, {report.troubles}")

    def plain_sweep(self, number: int) -> _Took:
        """Return what is taken by the transaction of two statements that does the same."""
        from django.db import transaction

        self._make_late(number)
        watch = _Watch()
        with transaction.atomic():
            if self._execute(PLAIN_SWEEP) != number:
                raise RuntimeError("not as many were late")
            self._execute(HEADS)
        return watch.took()

    # --- the archive ---------------------------------------------------------------------

    def archive(self, number: int) -> _Took:
        """Return what archiving so many took."""
        from tasks_app.maintenance import archive

        self._purged()
        watch = _Watch()
        if sum(moved.tasks for moved in archive.archive(limit=number)) != number:
            raise RuntimeError("not as many could be archived")
        return watch.took()

    def plain_move(self, number: int) -> _Took:
        """Return what the one statement that moves so many took."""
        from tasks_app.maintenance import archive

        watch = _Watch()
        self._execute(PLAIN_MOVE, {"before": archive.cutoff(), "number": number})
        return watch.took()

    _ready = False

    def _purged(self) -> None:
        from tasks_app.maintenance import archive

        if not self._ready:
            self._execute(PURGED, {"before": archive.cutoff()})
            self._execute("VACUUM ANALYZE tasks_app_task")
            self._ready = True

    def _execute(self, statement: str, values: dict[str, Any] | None = None) -> int:
        from django.db import connection

        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 0")
            cursor.execute(statement, values)
            if cursor.description is None:
                return int(cursor.rowcount)
            return int(cursor.fetchone()[0])


if __name__ == "__main__":
    main()
