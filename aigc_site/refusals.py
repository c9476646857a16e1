"""Set-ups that the service refuses to start with, because they would be insecure.

Each is judged from values alone and raises `BadSetting` with a sentence that says what to set.
"""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from aigc_site.env import BadSetting

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_KEY_LENGTH: Final = 32
_PUBLIC_KEY_LENGTH: Final = 50
_PUBLIC_KEY_VARIETY: Final = 10
"""Different characters of a key. A random one has more, in any alphabet from hexadecimal on."""
_WORDS: Final = re.compile(
    "secret|insecure|example|password|darkroom|replace|change-?this", re.IGNORECASE
)
_NEW_KEY: Final = 'a new one: python3 -c "import secrets; print(secrets.token_urlsafe(48))"'


def host_of(url: str) -> str:
    """Return the host of a URL as `ALLOWED_HOSTS` writes it: IPv6 addresses in brackets."""
    host = str(urlsplit(url).hostname)
    return f"[{host}]" if ":" in host else host


def is_loopback(url: str) -> bool:
    """Return whether only this host can reach the URL."""
    return urlsplit(url).hostname in _LOOPBACK


def weak_key(key: str, public_url: str) -> None:
    """Refuse a short key anywhere, and one that can be guessed where strangers come by."""
    if len(key) < _KEY_LENGTH:
        raise BadSetting(
            f"DARKROOM_SECRET_KEY is too short: set it to at least {_KEY_LENGTH} random characters."
        )
    if is_loopback(public_url):
        return
    if len(key) < _PUBLIC_KEY_LENGTH:
        raise BadSetting(
            f"DARKROOM_SECRET_KEY has fewer than {_PUBLIC_KEY_LENGTH} characters, which is too "
            f"short for a service that others reach: set it to {_NEW_KEY}"
        )
    if _WORDS.search(key) or len(set(key)) < _PUBLIC_KEY_VARIETY or _repeats(key):
        raise BadSetting(f"DARKROOM_SECRET_KEY can be guessed: set it to {_NEW_KEY}")


def _repeats(key: str) -> bool:
    """Return whether the key is one piece over and over."""
    lengths = range(1, len(key) // 2 + 1)
    return any((key[:length] * len(key)).startswith(key) for length in lengths)


def exposed(
    public_url: str, allowed_hosts: Sequence[str], *, debug: bool, insecure_http: bool
) -> None:
    """Refuse what would show strangers too much, or take requests for hosts that we are not."""
    parts = urlsplit(public_url)
    if parts.path or parts.query or parts.fragment or parts.username is not None:
        raise BadSetting("DARKROOM_PUBLIC_URL has more than scheme and host: set it to these only.")
    if debug and not is_loopback(public_url):
        raise BadSetting(
            "DARKROOM_DEBUG shows code and settings to whoever meets an error: unset it, or set "
            "DARKROOM_PUBLIC_URL to http://127.0.0.1:8000."
        )
    if parts.scheme != "https" and not (insecure_http or is_loopback(public_url)):
        raise BadSetting(
            "DARKROOM_PUBLIC_URL is not https: set it to https://…, or set "
            "DARKROOM_INSECURE_HTTP=1 if this service is only reached over a network that you "
            "trust."
        )
    if any(host in ("*", ".") for host in allowed_hosts):
        raise BadSetting(
            "DARKROOM_ALLOWED_HOSTS allows every name: list the names that lead to this service."
        )
