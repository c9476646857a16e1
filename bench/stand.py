"""What benchmarks stand on: their own PostgreSQL and Valkey, a service without a network."""

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aigc_site.embedded import postgres, servers, valkey


class Stand:
    """The servers of a benchmark."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.database = self._started()
        self.redis = servers.start_valkey(folder / "valkey", valkey.IN_MEMORY)

    def restart_database(self) -> None:
        """Stop PostgreSQL, with every connection to it, and start it on the same data."""
        self.database.stop()
        self.database = self._started()

    def stop(self) -> None:
        """Stop both."""
        for server in (self.redis, self.database):
            server.stop()

    def _started(self) -> servers.Running:
        return servers.start_postgres(self._folder / "postgres", postgres.UNSAFE_BUT_FAST)


@contextmanager
def service() -> Iterator[Stand]:
    """Start both servers (without fsync), set Django up on them, stop them in the end."""
    with tempfile.TemporaryDirectory(prefix="darkroom-bench-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        stand = Stand(folder)
        os.environ.update(
            DJANGO_SETTINGS_MODULE="aigc_site.settings",
            DATABASE_URL=stand.database.server.url,
            REDIS_URL=stand.redis.server.url,
            DARKROOM_SECRET_KEY=secrets.token_urlsafe(48),
            DARKROOM_DATA=str(folder / "data"),
            DARKROOM_LOG_LEVEL="ERROR",
        )
        try:
            _set_up()
            yield stand
        finally:
            from django.db import connection

            connection.close()
            stand.stop()


def _set_up() -> None:
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from tasks_app.gates import slots

    slots.restore([])


def user(name: str, **limits: Any) -> Any:
    """Make a user without limits but these."""
    from django.contrib.auth import get_user_model

    from tasks_app.core import accounts

    made = get_user_model().objects.create(username=name, password="!")  # noqa: S106 - none
    account = accounts.account_of(made)
    lifted = {"max_open": 1_000_000, "max_running": 1_000, "submit_interval": 0.0}
    for field, value in {**lifted, **limits}.items():
        setattr(account, field, value)
    account.save()
    return made


def generator(name: str, **fields: Any) -> Any:
    """Make a generator whose tasks nobody will run."""
    from tasks_app.models import Generator

    defaults = {
        "title": name,
        "adapter": "sketch",
        "max_running": 1_000,
        "timeout_seconds": 86_400,
        "expected_seconds": 60,
    }
    return Generator.objects.create(name=name, **{**defaults, **fields})


def finish(claimed: Any) -> None:
    """End an execution with a picture that is only a row."""
    from django.utils import timezone

    from tasks_app.core import outcomes
    from tasks_app.models import Artifact, new_id

    picture = Artifact(
        id=new_id(),
        task_id=claimed.task.pk,
        position=0,
        storage_key=f"none/{new_id()}.png",
        thumbnail_key=f"none/{new_id()}.webp",
        media_type="image/png",
        width=8,
        height=8,
        bytes=100,
        sha256="0" * 64,
        created_at=timezone.now(),
    )
    outcomes.succeeded(claimed.attempt, [picture])
