"""Which addresses are in the public internet: what links and callbacks of strangers may lead to.

An explicit list, because what the standard library calls global includes ways into a private
network: NAT64, 6to4 and other IPv6 forms with an IPv4 address inside. Those are judged by the
address inside. The networks are those of the IANA special-purpose registries (RFC 6890 and its
updates), without the ones that are globally reachable.

Judge the addresses that a name resolves to, and dial one of those that were judged: resolving the
name once more might give others.
"""

import socket
from collections.abc import Iterable
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Any, Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_CLOSED_V4: Final = tuple(
    IPv4Network(one)
    for one in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
_OPEN_V6: Final = IPv6Network("2000::/3")
"""All that has been given out for use in the internet; the rest of IPv6 is closed."""
_CLOSED_V6: Final = tuple(
    IPv6Network(one) for one in ("2001::/23", "2001:db8::/32", "2620:4f:8000::/48", "3fff::/20")
)
_NAT64: Final = IPv6Network("64:ff9b::/96")
_SIX_TO_FOUR: Final = IPv6Network("2002::/16")


def is_public(address: Address) -> bool:
    """Return whether an address is one of the public internet."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _CLOSED_V4)
    if address.scope_id is not None:
        return False
    inside = _inside(address)
    if inside is not None:
        return is_public(inside)
    return address in _OPEN_V6 and not any(address in network for network in _CLOSED_V6)


def _inside(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that packets to an IPv6 one would go to."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _SIX_TO_FOUR:
        return IPv4Address(int(address) >> 80 & 0xFFFFFFFF)
    return None


def may_be_dialled(address: Address, allowed: Iterable[Network] = ()) -> bool:
    """Return whether an address is public, or in a network that the operator allows."""
    if is_public(address):
        return True
    plain = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return any((plain or address) in network for network in allowed)


def literal(host: str) -> Address | None:
    """Return the address that a host is written as, in any way that resolvers accept.

    ``0x7f.1``, ``2130706433`` and full-width digits are addresses to a resolver, not names.
    """
    try:
        return ip_address(host.strip("[]"))
    except ValueError:
        pass
    try:
        found: Any = socket.getaddrinfo(
            host, None, flags=socket.AI_NUMERICHOST, type=socket.SOCK_STREAM
        )
    except (OSError, UnicodeError):
        return None
    return ip_address(found[0][4][0])


def resolved(found: Iterable[Any]) -> list[Address]:
    """Return the addresses in what ``getaddrinfo`` found, each once, in its order."""
    return list(dict.fromkeys(ip_address(str(one[4][0])) for one in found))


def networks(words: Iterable[str]) -> tuple[Network, ...]:
    """Return networks from how they are written. Raises ``ValueError``."""
    return tuple(ip_network(word) for word in words)
