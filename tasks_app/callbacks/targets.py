"""Reading a callback's URL: its syntax, and whether its host may be one at all.

What is accepted here is only a candidate: at each attempt the name is resolved and every IP
address that it leads to is judged, and exactly that one is dialled.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final
from urllib.parse import urlsplit

import idna
from django.utils.translation import gettext_noop as _

from tasks_app.callbacks.networks import Address, Network, inside, permitted
from tasks_app.models.callbacks import MOST_URL

_PORTS: Final = {"https": 443, "http": 80}
_LEAST_FREE_PORT: Final = 1024
# Ports at 1024 and above that the Fetch standard blocks, and databases that read lines.
BAD_PORTS: Final = frozenset(
    {
        *(1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667),
        *(6668, 6669, 6679, 6697, 10080, 3306, 5432, 6379, 11211, 27017),
    }
)
_SAFE: Final = re.compile(r"[\x21-\x7e]+", re.ASCII)
_LABEL: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)", re.ASCII)
_QUAD: Final = re.compile(r"(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}", re.ASCII)
# As in the WHATWG URL standard: a host whose last label is a number is an IPv4 address.
_NUMBER: Final = re.compile(r"\d+|0x[0-9a-f]*", re.ASCII)
_INSIDE: Final = frozenset(
    {"localhost", "localdomain", "local", "internal", "lan", "intranet", "corp", "home", "onion"}
)
_INSIDE_TWO: Final = frozenset({"home.arpa"})


class Unacceptable(ValueError):
    """No callback goes there; the sentence says why, in words for whoever gave the URL."""

    def __init__(self, sentence: str, *, forbidden: bool = False) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.forbidden = forbidden
        """It is readable and leads where callbacks may not go."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a callback goes: what is dialled, what is asked for, who must answer."""

    url: str
    scheme: str
    host: str
    """In lower case and ASCII, without a trailing dot or brackets."""
    port: int
    path: str
    """With the query."""

    @property
    def literal(self) -> Address | None:
        """The IP address, if the host is one."""
        try:
            return ip_address(self.host)
        except ValueError:
            return None

    @property
    def netloc(self) -> str:
        """What the ``Host`` header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def lane(self) -> str:
        """What shares the limit of simultaneous attempts."""
        return f"{self.host}:{self.port}"


def read(url: str, allowed: Sequence[Network] = ()) -> Target:
    """Read and judge a URL as far as that goes without asking the network.

    Raises ``Unacceptable``.
    """
    if len(url) > MOST_URL:
        raise Unacceptable(_("The address is too long."))
    scheme, rest = _scheme(url)
    authority, path = _split(rest)
    if "@" in authority:
        raise Unacceptable(_("Give the address without a user name or password."))
    host, port = _host_and_port(authority, scheme)
    target = Target(url, scheme, host, port, path)
    _judge_host(target, allowed)
    if scheme == "http" and not allowed:
        raise Unacceptable(_("Give an https:// address."))
    return target


def plain_is_right(
    target: Target, addresses: Sequence[Address], allowed: Sequence[Network]
) -> bool:
    """Return whether the scheme is right: http goes only into networks that were opened."""
    return target.scheme == "https" or all(inside(one, allowed) for one in addresses)


def _scheme(url: str) -> tuple[str, str]:
    scheme, colon, rest = url.partition("://")
    if not colon or scheme.lower() not in _PORTS:
        raise Unacceptable(_("Give an address that begins with https://."))
    return scheme.lower(), rest


def _split(rest: str) -> tuple[str, str]:
    """Split authority from path and query. The path must be as it is sent: escaped."""
    authority = re.split(r"[/?#\\]", rest, maxsplit=1)[0]
    path = rest[len(authority) :]
    if "#" in path:
        raise Unacceptable(_("Give the address without a fragment (#)."))
    if "\\" in rest or (path and not _SAFE.fullmatch(path)):
        raise Unacceptable(_("Escape blanks and letters outside of ASCII in the path."))
    return authority, path if path.startswith("/") else f"/{path}"


def _host_and_port(authority: str, scheme: str) -> tuple[str, int]:
    if any(ord(one) <= 0x20 or one == "%" for one in authority):
        raise Unacceptable(_("The host is not one."))
    try:
        parts = urlsplit(f"//{authority}")
        port = parts.port
        bare = authority.rsplit(":", 1)[0] if port is not None else authority.removesuffix(":")
    except ValueError:
        raise Unacceptable(_("The host or the port is not one.")) from None
    chosen = _PORTS[scheme] if port is None else port
    if not _port_may(chosen):
        raise Unacceptable(
            _("Use port 443, 80, or one from 1024 that is no well-known other service's."),
            forbidden=True,
        )
    if bare.startswith("["):
        return _bracketed(bare), chosen
    return _named(bare), chosen


def _port_may(port: int) -> bool:
    return port in _PORTS.values() or (port >= _LEAST_FREE_PORT and port not in BAD_PORTS)


def _bracketed(text: str) -> str:
    try:
        return str(IPv6Address(text.removeprefix("[").removesuffix("]")))
    except ValueError:
        raise Unacceptable(_("The host is not an IPv6 address.")) from None


def _named(text: str) -> str:
    """Return a name, or an IPv4 address, as resolvers and certificates have it."""
    try:
        host = text.lower() if text.isascii() else idna.encode(text, uts46=True).decode().lower()
    except (idna.IDNAError, UnicodeError):
        raise Unacceptable(_("The host is not one.")) from None
    host = host.removesuffix(".")
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        # inet_aton reads 0xA9FEA9FE, 127.1 and 0177.0.0.1, and each resolver its own way.
        if not _QUAD.fullmatch(host):
            raise Unacceptable(_("Write an IPv4 address as four decimal numbers."), forbidden=True)
        return _quad(host)
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise Unacceptable(_("The host is not one."))
    return host


def _quad(text: str) -> str:
    try:
        return str(IPv4Address(text))
    except ValueError:
        raise Unacceptable(_("The host is not an IPv4 address.")) from None


def _judge_host(target: Target, allowed: Sequence[Network]) -> None:
    literal = target.literal
    if literal is not None:
        if not permitted(literal, allowed):
            raise Unacceptable(_("Callbacks do not go to addresses like this."), forbidden=True)
        if not plain_is_right(target, [literal], allowed):
            raise Unacceptable(_("Give an https:// address."))
        return
    if _of_this_host(target.host):
        right = _loopback_is_open(allowed)
    else:
        right = bool(allowed) or not _inside_name(target.host)
    if not right:
        raise Unacceptable(_("Callbacks do not go to names inside a network."), forbidden=True)


def _of_this_host(host: str) -> bool:
    return host.rpartition(".")[2] in ("localhost", "localdomain")


def _inside_name(host: str) -> bool:
    """Whether only a resolver inside some network knows such a name."""
    labels = host.split(".")
    return len(labels) == 1 or labels[-1] in _INSIDE or ".".join(labels[-2:]) in _INSIDE_TWO


def _loopback_is_open(allowed: Sequence[Network]) -> bool:
    return any(inside(ip_address(one), allowed) for one in ("127.0.0.1", "::1"))
