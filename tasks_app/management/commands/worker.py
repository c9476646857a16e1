"""`manage.py worker POOL` or `POOL-polls`: one worker process for one queue."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from redis.exceptions import RedisError

from tasks_app.workers import Worker


class Command(BaseCommand):
    """Serve one pool until SIGTERM; start as many as the host can bear."""

    help = (
        "Serve one pool: claim its tasks and generate, or submit them to upstreams. POOL-polls: "
        "ask upstreams about the pool's submitted work. SIGTERM ends it after the current task."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The pool's name."""
        parser.add_argument("pool", help="the pool, as named by the generators, or POOL-polls")
        parser.add_argument("--burst", action="store_true", help="end when nothing rings")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the worker."""
        try:
            worker = Worker(options["pool"])
        except RedisError as error:
            raise CommandError(f"REDIS_URL: cannot reach Redis: {error}") from error
        worker.serve(burst=options["burst"])
