"""`manage.py bootstrap`: what a start needs: users, a key, the generators that are shipped."""

import os
import secrets
import shlex
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand
from django.db import transaction

from tasks_app.core import accounts, credentials
from tasks_app.models import Generator, Shipped

ADMIN, USER = "admin", "demo"


class Command(BaseCommand):
    """May run at every start: it makes what has never been made, and no more.

    Users and a key: on an empty database. A generator of ours: once, so that a new release's is
    offered, and one that staff withdrew or deleted stays away. The file: its addresses are
    brought up to date, its secrets never.
    """

    help = (
        "On an empty database: make a staff user, a user with an API key, and the generators. "
        "Later: offer generators that are new, and keep the addresses in the file right."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where the secrets go and what address callers use."""
        parser.add_argument("--env-file", required=True, type=Path)
        parser.add_argument("--url", required=True)

    def handle(self, *args: Any, **options: Any) -> None:
        """Create everything in one transaction, then write the file that only we may read."""
        with transaction.atomic():
            new = not get_user_model().objects.exists()
            values = _create_users() if new else {}
            offered = _offer_what_is_new()
        for name in () if new else offered:
            self.stdout.write(f"offered: {name}")
        addresses = {
            "DARKROOM_URL": options["url"],
            "DATABASE_URL": os.environ.get("DATABASE_URL", ""),
            "REDIS_URL": os.environ.get("REDIS_URL", ""),
        }
        path: Path = options["env_file"]
        if new:
            lines = _lines({"DARKROOM_URL": options["url"], **values, **addresses})
            _write(path, lines)
        elif path.is_file():
            _bring_up_to_date(path, addresses)


def _create_users() -> dict[str, str]:
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


_SHIPPED: Final[Mapping[str, Callable[[], Generator]]] = {
    "sketch": ensure_sketch,
    "sketch-video": ensure_sketch_video,
}


def _offer_what_is_new() -> list[str]:
    """Make those of our generators that were never made; returns their names."""
    names = [name for name in _SHIPPED if Shipped.objects.get_or_create(name=name)[1]]
    for name in names:
        _SHIPPED[name]()
    return names


def _lines(values: Mapping[str, str]) -> list[str]:
    return [f"{name}={shlex.quote(value)}\n" for name, value in values.items()]


def _bring_up_to_date(path: Path, values: Mapping[str, str]) -> None:
    """Replace the lines of these values where they differ; all others stay, a human's too."""
    fresh = dict(zip(values, _lines(values), strict=True))
    old = path.read_text().splitlines(keepends=True)
    new = [fresh.get(line.partition("=")[0], line) for line in old]
    if new != old:
        _write(path, new)


def _write(path: Path, lines: list[str]) -> None:
    """Write atomically, mode 600 from the first byte."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.writelines(lines)
    draft.replace(path)
