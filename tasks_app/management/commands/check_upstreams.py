"""`manage.py check_upstreams [NAME…]`: whether upstreams are there, and accept us."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tasks_app.core.remote import checking
from tasks_app.models import Generator


class Command(BaseCommand):
    """Look at the upstreams of generators, at no cost; 1 when one is not well."""

    help = "Look whether the upstreams of generators answer and accept us; costs nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which ones."""
        parser.add_argument("name", nargs="*", help="generators; default: all that are offered")

    def handle(self, *args: Any, **options: Any) -> None:
        """Look, and say what was seen."""
        names = options["name"]
        rows = Generator.objects.order_by("name")
        found = list(rows.filter(name__in=names) if names else rows.filter(enabled=True))
        missing = sorted(set(names) - {row.name for row in found})
        if missing:
            raise CommandError(f"There is no generator {missing[0]!r}.", returncode=2)
        seen = checking.check(found)
        for one in seen:
            self.stdout.write(f"{'ok ' if one.well else 'BAD'} {one.generator}: {one.text}")
        if not all(one.well for one in seen):
            raise CommandError("Not all upstreams are well.", returncode=1)
