"""The public URL: its name is let in, and it leads to this service."""

import http.client
import json
import socket
import ssl
from typing import Final
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.core import checks

from tasks_app import conf
from tasks_app.maintenance.doctor.finding import Finding, ok, one_line, problem, warning
from tasks_app.models import Artifact

_SECONDS: Final = 4.0


def settings_fit() -> Finding:
    """Run Django's system checks, those for deployments included."""
    found = [
        message
        for message in checks.run_checks(include_deployment_checks=not settings.INSECURE_HTTP)
        if not message.is_silenced() and message.level >= checks.WARNING
    ]
    if not found:
        return ok("The settings fit each other.")
    worst = max(found, key=lambda message: message.level)
    others = f" ({len(found) - 1} more: `manage.py check --deploy`.)" if len(found) > 1 else ""
    text = f"{one_line(worst.msg)}{others}"
    cure = one_line(worst.hint or "See `manage.py check --deploy`.")
    return problem(text, cure) if worst.level >= checks.ERROR else warning(text, cure)


def public_url() -> Finding:
    """Ask for /healthz at the public URL, as callers would."""
    url = urlsplit(conf.public_url())
    try:
        status, body, location = _get(url, "/healthz")
    except ssl.SSLCertVerificationError as error:
        return warning(
            f"This host does not trust the certificate of {url.geturl()}: {error.verify_message}.",
            "Install a certificate for this name that callers trust, with its whole chain.",
        )
    except (OSError, http.client.HTTPException) as error:
        return warning(
            f"{url.geturl()} cannot be reached from this host: {one_line(_reason(error))}.",
            "Start web and proxy; correct DARKROOM_PUBLIC_URL, its name service or the firewall.",
        )
    return _judge(url, status, body, location)


def _judge(url: SplitResult, status: int, body: bytes, location: str) -> Finding:
    if status == 400:
        return problem(
            f"Requests to {url.geturl()} are refused (400): the service does not know this name.",
            "Add it to DARKROOM_ALLOWED_HOSTS, and let the proxy pass the Host header on.",
        )
    if 300 <= status < 400:
        return problem(
            f"{url.geturl()} redirects to {location[:200]}.",
            "Set DARKROOM_PUBLIC_URL to where it ends, or correct the proxy.",
        )
    if status in (502, 503, 504):
        return problem(
            f"The proxy at {url.geturl()} does not reach the web server ({status}).",
            "Start `manage.py web`; compare its port with the proxy's.",
        )
    try:
        ours = json.loads(body) == {"status": "ok"}
    except ValueError:
        ours = False
    if status != 200 or not ours:
        return problem(
            f"{url.geturl()}/healthz is not answered by Darkroom (status {status}).",
            "Correct DARKROOM_PUBLIC_URL, or what the proxy does with it.",
        )
    return ok(f"{url.geturl()} leads here.")


def files_are_internal() -> Finding:
    """Ask for the newest result where only the web server itself may: it must not be there."""
    prefix = conf.get().accel_prefix.rstrip("/")
    if not prefix:
        if settings.BEHIND_PROXY:
            return warning(
                "Python sends every result itself.",
                "Set DARKROOM_ACCEL_PREFIX, with an internal location as in deploy/nginx.",
            )
        return ok("Python sends results; no location of a web server holds them.")
    newest = Artifact.objects.filter(removed_at__isnull=True).order_by("-task_id").first()
    if newest is None:
        return ok("There is no result yet.")
    try:
        status, _, _ = _get(urlsplit(conf.public_url()), f"{prefix}/{newest.storage_key}", "HEAD")
    except (OSError, http.client.HTTPException) as error:
        return warning(
            f"It cannot be told whether results are open to all: {one_line(_reason(error))}.",
            "See what is said about the public URL.",
        )
    if status in (200, 206):
        return problem(
            f"Anybody can read results at {conf.public_url()}{prefix}/.",
            "Write `internal;` into that location of the web server, and reload it.",
        )
    return ok("The web server's folder of results is closed to callers.")


def _get(url: SplitResult, path: str, method: str = "GET") -> tuple[int, bytes, str]:
    """Return status, the body's beginning and the Location header."""
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    one = kind(str(url.hostname), url.port, timeout=_SECONDS)
    try:
        one.request(method, path)
        answer = one.getresponse()
        return answer.status, answer.read(1000), answer.headers.get("Location", "")
    finally:
        one.close()


def _reason(error: Exception) -> object:
    if isinstance(error, socket.gaierror | OSError) and error.strerror:
        return error.strerror
    return error
