"""Setups: what a generator was when something was submitted by it."""

import hashlib
import json
from functools import lru_cache

from tasks_app import conf
from tasks_app.core.remote.lines import Clients, Line
from tasks_app.generators import registry
from tasks_app.generators.remote import Job, RemoteAdapter
from tasks_app.models import Attempt, Generator, Setup


def setup_of(generator: Generator) -> Setup:
    """Return the setup of a generator as it is now; made if it is new."""
    form = json.dumps([generator.adapter, generator.settings], sort_keys=True)
    digest = hashlib.sha256(form.encode()).hexdigest()
    found, _ = Setup.objects.get_or_create(
        generator_id=generator.pk,
        digest=digest,
        defaults={"adapter": generator.adapter, "settings": generator.settings},
    )
    return found


@lru_cache(maxsize=256)
def _adapter(name: str) -> RemoteAdapter:
    made = registry.adapter_class(name)()
    if not isinstance(made, RemoteAdapter):
        raise registry.UnknownAdapter(f"The adapter {name!r} does not work elsewhere.")
    return made


def adapter_of(setup: Setup) -> RemoteAdapter:
    """Return the adapter of a setup. Raises ``UnknownAdapter``."""
    return _adapter(setup.adapter)


def job_of(attempt: Attempt, setup: Setup, age: float) -> Job:
    """Return an attempt as its adapter knows it; ``attempt.task`` should be loaded."""
    return Job(
        attempt.upstream_id,
        str(attempt.pk),
        attempt.task.params,
        setup.settings,
        age,
        webhook_url(attempt.generator_name, attempt.webhook_token, setup),
        attempt.revoked_at is not None,
    )


def webhook_url(generator: str, token: str, setup: Setup) -> str | None:
    """Return where an upstream may call back; None: it may not."""
    if not setup.settings.get("webhooks", False):
        return None
    return f"{conf.get().webhook_url}/webhooks/{generator}/{token}"


def line_of(clients: Clients, setup: Setup, generator: str, **more: float) -> Line:
    """Return the way to ask the upstream of a setup."""
    return Line(clients.keeping, generator, adapter_of(setup), setup.settings, **more)
