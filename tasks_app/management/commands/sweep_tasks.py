"""`manage.py sweep_tasks`: one repair pass, for cron."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db import DatabaseError

from tasks_app import metrics
from tasks_app.core import signs
from tasks_app.maintenance.sweep import sweep


class Command(BaseCommand):
    """Exit status: 0 done, 1 something could not be repaired, 2 could not run."""

    help = "Time out, recover, reconcile, ring: one pass. Cron runs it every minute."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Options."""
        parser.add_argument("--dry-run", action="store_true", help="show, change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        """Sweep once and print one line per kind of repair."""
        try:
            report = sweep(dry_run=options["dry_run"])
            if not options["dry_run"]:
                signs.leave(signs.SWEEP)
        except DatabaseError as error:
            self.stderr.write(f"could not run: {error}".strip())
            sys.exit(2)
        metrics.flush()
        for line in report.lines() or ["nothing to do"]:
            self.stdout.write(line)
        if report.troubles:
            sys.exit(1)
