"""`manage.py archive_tasks`: move tasks that ended long ago to the archive."""

import sys
from argparse import ArgumentParser
from typing import Any, Final

from django.core.management.base import BaseCommand
from django.db import DatabaseError

from tasks_app import metrics
from tasks_app.maintenance import archive
from tasks_app.management.options import add_bounds, positive
from tasks_app.management.progress import Bar

_MOST_COUNTED: Final = 1_000_000


class Command(BaseCommand):
    """Exit status: 0 done, 1 a batch could not be moved (nothing of it was), 2 could not run."""

    help = "Move tasks that ended more than DARKROOM_ARCHIVE_DAYS ago to the archive."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Options."""
        add_bounds(parser)
        parser.add_argument(
            "--batch",
            type=positive,
            default=archive.BATCH,
            help=f"tasks per transaction, at most {archive.MOST_BATCH}",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Archive and print what was moved. Ctrl-C and kill: the next one goes on."""
        try:
            waiting = archive.waiting(options["limit"] or _MOST_COUNTED)
        except DatabaseError as error:
            self.stderr.write(f"could not run: {error}".strip())
            sys.exit(2)
        if options["dry_run"]:
            self.stdout.write(f"tasks: {waiting}" if waiting else "nothing to do")
            return
        moved, trouble = self._run(waiting, options)
        metrics.flush()
        self.stdout.write(f"tasks: {moved}" if moved else "nothing to do")
        if trouble:
            self.stderr.write(f"could not move: {trouble}")
            sys.exit(1)

    def _run(self, waiting: int, options: dict[str, Any]) -> tuple[int, str]:
        bar, moved = Bar(self.stdout, waiting), 0
        batches = archive.archive(
            limit=options["limit"], seconds=options["max_seconds"], batch=options["batch"]
        )
        try:
            for batch in batches:
                moved += batch.tasks
                bar.advance(batch.tasks)
        except (DatabaseError, archive.Unequal) as error:
            return moved, str(error).strip()
        finally:
            bar.clear()
        return moved, ""
