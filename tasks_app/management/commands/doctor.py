"""`manage.py doctor`: names what is wrong with a set-up and what to do about it."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from tasks_app.maintenance.doctor import examination, report
from tasks_app.maintenance.doctor.finding import Finding


class Command(BaseCommand):
    """Exit status: 0 all is well, 1 warnings, 2 problems."""

    help = "Look at databases, files, processes and settings; say what is wrong and the cure."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="one JSON document")

    def handle(self, *_args: Any, **options: Any) -> None:
        found: list[tuple[str, Finding]] = []
        colour = self.stdout.isatty() and not options["no_color"]
        for name, finding in examination.examine():
            found.append((name, finding))
            if not options["json"]:
                self.stdout.write(report.line(name, finding, colour=colour))
        if options["json"]:
            self.stdout.write(report.document(found))
        self.stdout.flush()
        sys.exit(report.status(found))
