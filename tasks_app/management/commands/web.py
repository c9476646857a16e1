"""`manage.py web`: serve the site with granian.

The command becomes granian (exec), so that a supervisor's signals reach it directly.
"""

import math
import os
import resource
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from aigc_site import database

# Seconds that granian waits for a worker that was told to stop. It must be set: a SIGTERM in
# the first moments of a worker is lost, and granian would wait for ever.
KILL_TIMEOUT = 5

_FILES = 8192


class Command(BaseCommand):
    """Serve the site and the API."""

    help = "Serve the site and the API with granian."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
        parser.add_argument("--port", type=int, default=8000, help="port to listen on")
        parser.add_argument("--workers", type=int, default=2, help="processes")
        parser.add_argument(
            "--threads",
            type=int,
            default=4,
            help="threads of a process; each may hold one database connection",
        )

        parser.add_argument(
            "--drain",
            type=float,
            default=0.0,
            help="seconds in which requests are still taken after SIGTERM, for restarts without a "
            "gap where another server listens meanwhile",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        for name in ("workers", "threads"):
            if not 1 <= options[name] <= 256:
                raise CommandError(f"--{name} is {options[name]}: set it to 1 to 256.")
        database.refuse_unused(settings.DB_POOL, options["threads"])
        drain = options["drain"]
        if not 0 <= drain <= 60:
            raise CommandError(f"--drain is {drain:g}: set it to 0 to 60 seconds.")
        arguments = granian_arguments(options["host"], options["port"], options["workers"], drain)
        os.environ["DARKROOM_WEB_THREADS"] = str(options["threads"])
        os.environ["DARKROOM_WEB_DRAIN"] = str(drain)
        _allow_files()
        self.stdout.flush()
        os.execv(sys.executable, [sys.executable, *arguments])  # noqa: S606 - no shell wanted


def _allow_files() -> None:
    """A connection is a file, and so is what is sent on it: many systems begin with 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def granian_arguments(host: str, port: int, workers: int, drain: float = 0.0) -> list[str]:
    """The arguments of Python that run granian."""
    options = {
        # Not WSGI, whose threads wait for the network of callers: see aigc_site.serving.
        "--interface": "rsgi",
        "--http": "1",
        "--host": host,
        "--port": str(port),
        "--workers": str(workers),
        "--workers-kill-timeout": str(KILL_TIMEOUT + math.ceil(drain)),
    }
    words = [word for pair in options.items() for word in pair]
    flags = ["--no-ws", "--no-access-log", "--respawn-failed-workers"]
    return ["-m", "granian", *words, *flags, "aigc_site.embedded.web:application"]
