"""`manage.py purge_results`: clear away expired results, idempotency keys and sessions."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db import DatabaseError

from tasks_app import metrics
from tasks_app.maintenance import purge
from tasks_app.maintenance.report import Report
from tasks_app.management.options import add_bounds
from tasks_app.management.progress import Bar


class Command(BaseCommand):
    """Exit status: 0 done, 1 files could not be deleted (tried again later), 2 could not run."""

    help = "Delete the files of expired results (tombstones stay), expired keys and sessions."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Options."""
        add_bounds(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Purge and print one line per kind. Ctrl-C and kill: the next one goes on."""
        try:
            report = self._run(options)
        except DatabaseError as error:
            self.stderr.write(f"could not run: {error}".strip())
            sys.exit(2)
        metrics.flush()
        for line in report.lines() or ["nothing to do"]:
            self.stdout.write(line)
        if report.troubles:
            sys.exit(1)

    def _run(self, options: dict[str, Any]) -> Report:
        due = purge.due()
        if options["dry_run"]:
            report = Report()
            for kind, number in due.items():
                if number:
                    report.add(kind, number)
            return report
        total = due["results"] + due["files owed"]
        bar = Bar(self.stdout, min(total, options["limit"] or total))
        try:
            return purge.purge(
                limit=options["limit"], seconds=options["max_seconds"], done=bar.advance
            )
        finally:
            bar.clear()
