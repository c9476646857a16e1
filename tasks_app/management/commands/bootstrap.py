"""`manage.py bootstrap`: what a first start needs: users, a key, a generator."""

import os
import secrets
import shlex
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand
from django.db import transaction

from tasks_app.core import accounts, credentials
from tasks_app.models import Generator

ADMIN, USER = "admin", "demo"


class Command(BaseCommand):
    """Does nothing when there is a user already, so it may run at every start."""

    help = "On an empty database: make a staff user, a user with an API key, and the generators."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where the secrets go and what address callers use."""
        parser.add_argument("--env-file", required=True, type=Path)
        parser.add_argument("--url", required=True)

    def handle(self, *args: Any, **options: Any) -> None:
        """Create everything in one transaction, then write the file that only we may read."""
        if get_user_model().objects.exists():
            return
        with transaction.atomic():
            values = _create()
        values = {
            "DARKROOM_URL": options["url"],
            **values,
            "DATABASE_URL": os.environ.get("DATABASE_URL", ""),
            "REDIS_URL": os.environ.get("REDIS_URL", ""),
        }
        _write(options["env_file"], values)


def _create() -> dict[str, str]:
    ensure_sketch()
    ensure_sketch_video()
    users = get_user_model().objects
    admin_password, password = secrets.token_urlsafe(12), secrets.token_urlsafe(12)
    staff = users.create_superuser(ADMIN, password=admin_password)
    user = users.create_user(USER, password=password)
    for one in (staff, user):
        accounts.account_of(one)
    _, key = credentials.create(user, "first run")
    return {
        "DARKROOM_ADMIN_USER": ADMIN,
        "DARKROOM_ADMIN_PASSWORD": admin_password,
        "DARKROOM_USER": USER,
        "DARKROOM_PASSWORD": password,
        "DARKROOM_API_KEY": key,
    }


def ensure_sketch() -> Generator:
    """Return the embedded default generator, made if it is missing."""
    generator, _ = Generator.objects.get_or_create(
        name="sketch",
        defaults={
            "title": "Sketch",
            "description": "A procedural artist: no model, no GPU, pictures in seconds.",
            "adapter": "sketch",
            "expected_seconds": 4,
            "timeout_seconds": 300,
        },
    )
    return generator


def ensure_sketch_video() -> Generator:
    """Return the embedded generator of videos, made if it is missing."""
    generator, _ = Generator.objects.get_or_create(
        name="sketch-video",
        defaults={
            "title": "Sketch video",
            "description": "The procedural artist in motion: short loops without an end.",
            "adapter": "sketch-video",
            "kind": "video",
            "expected_seconds": 10,
            "timeout_seconds": 300,
        },
    )
    return generator


def _write(path: Path, values: dict[str, str]) -> None:
    """Write atomically, mode 600 from the first byte."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.writelines(f"{name}={shlex.quote(value)}\n" for name, value in values.items())
    draft.replace(path)
