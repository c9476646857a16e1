"""Which IP addresses callbacks may go to: an explicit list, never ``is_global``.

``ipaddress`` calls NAT64, 6to4, IPv4-compatible, multicast and site-local addresses global, and
100.64/10 neither global nor private. So: IPv4 is everything that is not listed here; IPv6 is
2000::/3 without what is listed here; and an IPv4 address inside an IPv6 one is looked at, too.
Sources: the IANA special-purpose registries of IPv4 and IPv6, and what clouds document of their
metadata services.
"""

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

FORBIDDEN_4: Final = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # shared by carriers; 100.100.100.200 is Alibaba's metadata
            "127.0.0.0/8",  # loopback
            "168.63.129.16/32",  # Azure's host, from inside its machines
            "169.254.0.0/16",  # link-local: metadata of AWS, Google, Azure and others
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # IETF; 192.0.0.192 is Oracle's metadata
            "192.0.2.0/24",  # documentation
            "192.31.196.0/24",  # AS112
            "192.52.193.0/24",  # AMT
            "192.88.99.0/24",  # 6to4 relays
            "192.168.0.0/16",  # private
            "192.175.48.0/24",  # AS112
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
        ),
    )
)
_GLOBAL_6: Final = IPv6Network("2000::/3")
"""All that is given out; loopback, fc00::/7, fe80::/10, fec0::/10, ff00::/8 are outside of it."""

FORBIDDEN_6: Final = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # IETF: Teredo, benchmarks, ORCHID, AMT, drones
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4: leads to an IPv4 address, by relays that are gone
            "2620:4f:8000::/48",  # AS112
            "3fff::/20",  # documentation
        ),
    )
)
_MAPPED: Final = IPv6Network("::ffff:0:0/96")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_ISATAP: Final = (0x00005EFE, 0x02005EFE)


def permitted(address: Address, allowed: Iterable[Network] = ()) -> bool:
    """Return whether a callback may be sent to this address.

    ``allowed`` are networks that the operator opens in addition.
    """
    found = meant(address)
    if inside(found, allowed):
        return True
    if isinstance(found, IPv4Address):
        return not any(found in network for network in FORBIDDEN_4)
    if found not in _GLOBAL_6 or any(found in network for network in FORBIDDEN_6):
        return False
    hidden = _isatap(found)
    return hidden is None or not any(hidden in network for network in FORBIDDEN_4)


def inside(address: Address, networks: Iterable[Network]) -> bool:
    """Return whether an address, or the one that it stands for, is in one of the networks."""
    found = meant(address)
    return any(
        one in network
        for network in networks
        for one in (address, found)
        if one.version == network.version
    )


def meant(address: Address) -> Address:
    """Return the IPv4 address that a packet to this one reaches in the end, or the address.

    IPv4-mapped ones are what the system itself turns into IPv4, and NAT64 what a gateway does,
    as with all of IPv4 in networks that have IPv6 only.
    """
    if isinstance(address, IPv4Address):
        return address
    if address in _MAPPED or address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    # A scope names an interface of this host; the address without it is what is judged.
    return IPv6Address(int(address))


def all_permitted(addresses: Sequence[Address], allowed: Sequence[Network]) -> bool:
    """Return whether a name that resolves to these may be used: all, not some, must be right."""
    return bool(addresses) and all(permitted(one, allowed) for one in addresses)


def _isatap(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address inside an ISATAP one, whatever its prefix."""
    low = int(address) & 0xFFFFFFFFFFFFFFFF
    return IPv4Address(low & 0xFFFFFFFF) if low >> 32 in _ISATAP else None
