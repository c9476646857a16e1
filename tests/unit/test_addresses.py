from ipaddress import ip_address, ip_network

import pytest

from tasks_app import addresses


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "93.184.216.34", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8",
     "64:ff9b::8.8.8.8", "2002:808:808::1"],
)  # fmt: skip
def test_addresses_of_the_public_internet(address: str) -> None:
    assert addresses.is_public(ip_address(address))


@pytest.mark.parametrize(
    "address",
    ["0.0.0.0", "10.1.2.3", "100.64.0.1", "100.127.255.255", "127.0.0.1", "169.254.169.254",
     "172.16.0.1", "172.31.255.255", "192.168.1.1", "198.18.0.1", "224.0.0.1", "255.255.255.255",
     "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:169.254.169.254",
     "64:ff9b::10.0.0.1", "64:ff9b:1::1", "2002:7f00:1::1", "2002:a00:1::", "2001::1",
     "2001:db8::1", "fe80::1", "fe80::1%1", "2606:4700::1111%1", "fc00::1", "fec0::1", "ff02::1",
     "3fff::1", "5f00::1", "100::1"],
)  # fmt: skip
def test_addresses_that_strangers_may_not_name(address: str) -> None:
    assert not addresses.is_public(ip_address(address))


@pytest.mark.parametrize(
    ("host", "address"),
    [("127.1", "127.0.0.1"), ("0x7f000001", "127.0.0.1"), ("2130706433", "127.0.0.1"),
     ("0xA9FEA9FE", "169.254.169.254"), ("[::1]", "::1"), ("１２７.0.0.1", "127.0.0.1")],
)  # fmt: skip
def test_the_many_ways_to_write_an_address(host: str, address: str) -> None:
    assert addresses.literal(host) == ip_address(address)


def test_names_are_no_addresses() -> None:
    assert addresses.literal("example.com") is None
    assert addresses.literal("a" * 300) is None


def test_networks_that_the_operator_allows() -> None:
    allowed = [ip_network("10.0.0.0/8"), ip_network("fd00::/8")]
    may = addresses.may_be_dialled
    assert may(ip_address("10.1.2.3"), allowed)
    assert may(ip_address("::ffff:10.1.2.3"), allowed)
    assert may(ip_address("fd00::1"), allowed)
    assert not may(ip_address("10.1.2.3"))
    assert not may(ip_address("127.0.0.1"), allowed)
