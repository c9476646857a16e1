"""System checks: what can be told to be wrong before anything runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core import checks

from tasks_app import conf


def register() -> None:
    """Register the checks; called once when the app is ready."""
    checks.register(periods)
    checks.register(results_folder)


def periods(app_configs: Sequence[Any] | None = None, **kwargs: Any) -> list[checks.CheckMessage]:
    """Leases and periods have to fit each other."""
    found: list[checks.CheckMessage] = []
    numbers = conf.get()
    if numbers.claim_lease <= numbers.slot_fence:
        found.append(
            checks.Error(
                "DARKROOM_CLAIM_LEASE is not longer than DARKROOM_SLOT_FENCE.",
                hint="Set the claim lease to at least twice the fence (defaults: 10 s and 2 s).",
                id="darkroom.E001",
            )
        )
    if numbers.control_interval >= numbers.heartbeat_interval:
        found.append(
            checks.Error(
                "DARKROOM_CONTROL_INTERVAL is not shorter than a third of DARKROOM_LEASE.",
                hint="Set the lease to at least 3 s, or the control interval lower.",
                id="darkroom.E002",
            )
        )
    return found


def results_folder(
    app_configs: Sequence[Any] | None = None, **kwargs: Any
) -> list[checks.CheckMessage]:
    """The folder of results, if results are files, must not be served as static files."""
    static_root = getattr(settings, "STATIC_ROOT", None)
    if static_root and Path(settings.MEDIA_ROOT).is_relative_to(static_root):
        return [
            checks.Error(
                "The results are inside STATIC_ROOT, so anybody could read them.",
                hint="Set DARKROOM_DATA to a folder outside of it.",
                id="darkroom.E003",
            )
        ]
    return []
