"""`manage.py apply_generators FILE`: make the generators what a file says."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from tasks_app.core import generators_file

_MOST_BYTES: Final = 4 * 1024 * 1024


class Command(BaseCommand):
    """Show how the table differs from the file, and make it so."""

    help = "Make generators what a TOML file says; shows the difference first."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The file, and whether to ask."""
        parser.add_argument("file", type=Path, help="the file; - for the standard input")
        parser.add_argument("--dry-run", action="store_true", help="show the difference only")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *args: Any, **options: Any) -> None:
        """Show, ask, apply."""
        try:
            wanted = generators_file.read(self._read(options["file"]))
            changes = generators_file.apply(wanted, dry_run=True)
            for change in changes:
                self.stdout.write(str(change))
            if not changes:
                self.stdout.write("Nothing differs.")
                return
            if options["dry_run"]:
                return
            if not options["yes"] and not self._agreed():
                self.stdout.write("Nothing was changed.")
                return
            generators_file.apply(wanted)
        except generators_file.Unusable as error:
            raise CommandError(str(error), returncode=2) from error
        self.stdout.write("Done.")

    def _read(self, file: Path) -> str:
        try:
            if str(file) == "-":
                return sys.stdin.read(_MOST_BYTES)
            return file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{file} cannot be read: {error}", returncode=2) from error

    def _agreed(self) -> bool:
        if not sys.stdin.isatty():
            raise CommandError("Say --yes to apply it where nobody can be asked.", returncode=2)
        return input("Apply? [y/N] ").strip().lower() in ("y", "yes")
