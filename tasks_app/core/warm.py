"""Warm adapters: made once per process and generator, kept while its settings stay the same."""

import json
from threading import Lock
from uuid import UUID

from tasks_app.generators import registry
from tasks_app.generators.base import Adapter, LocalAdapter
from tasks_app.models import Generator

_lock = Lock()
_kept: dict[UUID, tuple[str, Adapter]] = {}


def adapter(generator: Generator) -> Adapter:
    """Return the generator's adapter, warmed up.

    Raises ``registry.UnknownAdapter``, ``errors.InvalidSettings`` and whatever warming up raises.
    """
    form = f"{generator.adapter} {json.dumps(generator.settings, sort_keys=True)}"
    with _lock:
        held = _kept.get(generator.pk)
        if held and held[0] == form:
            return held[1]
        made = registry.build(generator.adapter, generator.settings)
        if isinstance(made, LocalAdapter):
            made.warm_up(generator.settings)
        _kept[generator.pk] = (form, made)
        return made


def clear() -> None:
    """Forget every adapter (tests)."""
    with _lock:
        _kept.clear()
