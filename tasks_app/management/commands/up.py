"""`manage.py up`: see aigc_site/embedded/service.py."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from aigc_site.embedded import service


class Command(BaseCommand):
    """Run the whole service: databases, web, workers and ticker."""

    help = "Run the whole service: databases, web, workers and ticker."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        service.add_arguments(parser)

    def handle(self, *_args: Any, **options: Any) -> None:
        sys.exit(service.run(options))
