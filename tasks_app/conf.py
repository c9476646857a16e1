"""The only reader of the app's settings: typed, and read anew at each call.

``get()`` is cheap (one dictionary lookup per change of settings), so callers ask for it where
they need it and tests may override ``settings.DARKROOM``.
"""

from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network
from typing import Any

from django.conf import settings


@dataclass(frozen=True, slots=True)
class Conf:
    """The app's numbers. Durations are seconds."""

    redis_prefix: str
    limit_all: int
    lease: float
    """How long slots and a worker's claim on an attempt outlive its last heartbeat."""
    claim_lease: float
    """How long slots are held between taking them and the commit of the claim."""
    grace: float
    """How long slots of a canceled or timed-out attempt are kept for work that is not seen."""
    slot_fence: float
    """How long claims pause after Redis lost the slots, and the longest a claim may take."""
    control_interval: float
    tick_interval: float
    figures_interval: float
    sweep_interval: float
    max_wait: float
    max_attempts: int
    result_days: float
    archive_days: float
    """How long ended tasks stay in the table that is the queue."""
    purge_interval: float
    """How often the ticker purges and archives."""
    idempotency_hours: float
    link_seconds: float
    accel_prefix: str
    max_artifact_bytes: int
    worker_drain: float
    worker_max_tasks: int
    worker_max_mb: int
    callback_allow: tuple[IPv4Network | IPv6Network, ...]
    """Networks into which callbacks may go besides the open internet, with plain http, too."""
    callback_slow_retries: bool
    callback_days: float
    upstream_secrets: tuple[str, ...]
    """Names of variables (with ``*``) and folders that generators may take credentials from."""
    webhook_url: str
    """Scheme and host under which upstreams reach this service, without a slash."""
    fetch_allow: tuple[IPv4Network | IPv6Network, ...]
    """Networks that results may be fetched from besides the open internet."""
    remote_calls: int
    """Calls of upstreams that one worker process makes at once."""
    backlog_alert: int
    """Tasks that wait in a pool above which an alert is raised, and fallbacks are used."""
    poll_failing_seconds: float
    """For how long an upstream must have failed to answer before its work is given up."""
    log_prompts: bool
    metrics_allow: tuple[IPv4Network | IPv6Network, ...]
    """Networks whose hosts may read ``/metrics`` without a token."""
    metrics_token: str

    @property
    def heartbeat_interval(self) -> float:
        """A third of the lease: two beats may be missed before anything is lost."""
        return self.lease / 3


@lru_cache(maxsize=8)
def _build(items: tuple[tuple[str, Any], ...]) -> Conf:
    return Conf(**dict(items))


def get() -> Conf:
    """Return the app's settings as they are now."""
    return _build(tuple(settings.DARKROOM.items()))


def redis_url() -> str:
    """Return the URL of Redis or Valkey."""
    return str(settings.REDIS_URL)


def public_url() -> str:
    """Return scheme and host under which callers reach this service, without a slash."""
    return str(settings.PUBLIC_URL)
