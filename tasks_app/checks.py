"""System checks: what can be told to be wrong before anything runs."""

from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks
from django.http.request import validate_host

from tasks_app import conf

_METADATA: Final = ip_address("169.254.169.254")
_LOOPBACK: Final = frozenset({"", "127.0.0.1", "localhost", "::1"})
"""Hosts that are this one; no host at all is a Unix socket."""
_ENCRYPTED: Final = frozenset({"require", "verify-ca", "verify-full"})


def register() -> None:
    """Register the checks; called once when the app is ready."""
    checks.register(periods)
    checks.register(results_folder)
    checks.register(public_host)
    checks.register(opened_networks)
    checks.register(reached_as_said, deploy=True)
    checks.register(traffic_in_the_clear, deploy=True)


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


def public_host(
    app_configs: Sequence[Any] | None = None, **kwargs: Any
) -> list[checks.CheckMessage]:
    """Requests to the public URL must be let in."""
    host = str(urlsplit(conf.public_url()).hostname)
    if validate_host(f"[{host}]" if ":" in host else host, settings.ALLOWED_HOSTS):
        return []
    return [
        checks.Error(
            f"DARKROOM_ALLOWED_HOSTS does not name {host}, the host of DARKROOM_PUBLIC_URL.",
            hint="Add it: every request to the public address is answered 400.",
            id="darkroom.E004",
        )
    ]


def opened_networks(
    app_configs: Sequence[Any] | None = None, **kwargs: Any
) -> list[checks.CheckMessage]:
    """What is opened for callbacks must not be everything, nor where clouds tell secrets."""
    wide = [
        str(network)
        for network in conf.get().callback_allow
        if network.prefixlen == 0 or _METADATA in network
    ]
    if not wide:
        return []
    return [
        checks.Error(
            f"DARKROOM_CALLBACK_ALLOW opens {', '.join(wide)}: every user could reach into it.",
            hint="Name the networks of the receivers only, such as 10.20.0.0/16.",
            id="darkroom.E005",
        )
    ]


def reached_as_said(
    app_configs: Sequence[Any] | None = None, **kwargs: Any
) -> list[checks.CheckMessage]:
    """Others reach a deployment over https, through a proxy that says so."""
    url = urlsplit(conf.public_url())
    if url.hostname in _LOOPBACK:
        return [
            checks.Warning(
                "DARKROOM_PUBLIC_URL is loopback: links lead nobody but this host here.",
                hint="Set it to https:// and the name under which callers reach the service.",
                id="darkroom.W002",
            )
        ]
    if url.scheme == "https" and not settings.BEHIND_PROXY:
        return [
            checks.Warning(
                "DARKROOM_PUBLIC_URL is https, but no proxy is trusted to say what was https.",
                hint="Set DARKROOM_BEHIND_PROXY=1, with a proxy that sets X-Forwarded-Proto and "
                "X-Real-IP itself, as deploy/nginx/darkroom.conf does.",
                id="darkroom.W001",
            )
        ]
    return []


def traffic_in_the_clear(
    app_configs: Sequence[Any] | None = None, **kwargs: Any
) -> list[checks.CheckMessage]:
    """Passwords and prompts must not cross a network unencrypted; Redis must ask for one."""
    found: list[checks.CheckMessage] = []
    database = settings.DATABASES["default"]
    remote = not _here(str(database["HOST"]))
    if remote and database["OPTIONS"].get("sslmode") not in _ENCRYPTED:
        found.append(
            checks.Warning(
                "DATABASE_URL leads to another host without insisting on TLS.",
                hint="Add ?sslmode=verify-full&sslrootcert=… to it.",
                id="darkroom.W003",
            )
        )
    redis = urlsplit(conf.redis_url())
    if redis.scheme == "redis" and not _here(redis.hostname or ""):
        found.append(
            checks.Warning(
                "REDIS_URL leads to another host without TLS.",
                hint="Use rediss:// and a Redis that listens with TLS.",
                id="darkroom.W004",
            )
        )
    if redis.scheme != "unix" and not redis.password:
        found.append(
            checks.Warning(
                "REDIS_URL has no password, so every user of the host may empty the slots.",
                hint="Set requirepass in Redis, and write redis://:password@host:port/0.",
                id="darkroom.W005",
            )
        )
    return found


def _here(host: str) -> bool:
    return host.startswith("/") or host in _LOOPBACK
