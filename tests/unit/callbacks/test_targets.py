"""Where callbacks may go: a table of addresses and names, each judged."""

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.callbacks import networks
from tasks_app.callbacks.targets import Unacceptable, read

OPEN = (ip_network("10.20.0.0/16"), ip_network("fd12::/32"))

IPS = {
    # the open internet
    "1.1.1.1": True,
    "8.8.8.8": True,
    "93.184.215.14": True,
    "172.15.255.255": True,
    "172.32.0.0": True,
    "100.63.255.255": True,
    "100.128.0.0": True,
    "11.0.0.0": True,
    "192.169.0.1": True,
    "223.255.255.255": True,
    "2606:4700:4700::1111": True,
    "2a00:1450:4001:82b::200e": True,
    "64:ff9b::8.8.8.8": True,  # NAT64 of a public address: how IPv6-only networks reach it
    "::ffff:8.8.8.8": True,
    # this host and this network
    "0.0.0.0": False,
    "0.1.2.3": False,
    "127.0.0.1": False,
    "127.255.255.254": False,
    "::": False,
    "::1": False,
    # private
    "10.0.0.1": False,
    "10.255.255.255": False,
    "172.16.0.1": False,
    "172.31.255.255": False,
    "192.168.1.1": False,
    "100.64.0.1": False,
    "100.127.255.255": False,
    "fc00::1": False,
    "fd00::1": False,
    "fec0::1": False,
    "fe80::1": False,
    "fe80::1%eth0": False,
    "169.254.1.1": False,
    # metadata services
    "169.254.169.254": False,
    "169.254.170.2": False,
    "100.100.100.200": False,
    "168.63.129.16": False,
    "192.0.0.192": False,
    "fd00:ec2::254": False,
    "fd20:ce::254": False,
    # special
    "192.0.0.8": False,
    "192.0.2.1": False,
    "198.51.100.7": False,
    "203.0.113.9": False,
    "198.18.0.1": False,
    "198.19.255.255": False,
    "192.88.99.1": False,
    "192.31.196.1": False,
    "192.52.193.1": False,
    "192.175.48.1": False,
    "224.0.0.1": False,
    "239.255.255.250": False,
    "240.0.0.1": False,
    "255.255.255.255": False,
    "ff02::1": False,
    "ff0e::1": False,
    "2001:db8::1": False,
    "3fff::1": False,
    "100::1": False,
    "5f00::1": False,
    "2620:4f:8000::1": False,
    "2001:2::1": False,
    "2001:20::1": False,
    "4000::1": False,
    # IPv4 inside IPv6
    "::ffff:127.0.0.1": False,
    "::ffff:169.254.169.254": False,
    "::ffff:10.0.0.1": False,
    "64:ff9b::127.0.0.1": False,
    "64:ff9b::a9fe:a9fe": False,
    "64:ff9b:1::10.0.0.1": False,
    "64:ff9b:1::8.8.8.8": False,
    "2002:7f00:1::": False,
    "2002:a9fe:a9fe::1": False,
    "2002:808:808::1": False,
    "::127.0.0.1": False,
    "::10.0.0.1": False,
    "::8.8.8.8": False,
    "2001:0:4136:e378:8000:63bf:3fff:fdd2": False,  # Teredo
    "2001::1": False,
    "2606:4700::5efe:10.0.0.1": False,  # ISATAP
    "2606:4700::200:5efe:192.168.0.1": False,
    "2606:4700::5efe:8.8.8.8": True,
}

URLS = {
    "https://example.com": True,
    "https://example.com/": True,
    "https://EXAMPLE.com:443/hook?key=a%20b&x=1": True,
    "https://example.com.": True,
    "https://example.com:8443/hook": True,
    "https://a-b.c_d.example.co.uk/": True,
    "https://bücher.example/": True,
    "https://xn--bcher-kva.example/": True,
    "https://例え.jp/": True,
    "https://1.1.1.1/hook": True,
    "https://[2606:4700:4700::1111]/": True,
    "https://3com.com/": True,
    "https://0x.example.com/": True,
    "https://169.254.169.254.nip.io/": True,  # what it resolves to is judged when it is dialled
    # not https, not a URL
    "http://example.com/": False,
    "http://1.1.1.1/": False,
    "ftp://example.com/": False,
    "file:///etc/passwd": False,
    "gopher://example.com/": False,
    "unix:///run/x": False,
    "javascript://example.com/": False,
    "//example.com/": False,
    "example.com": False,
    "": False,
    "https://": False,
    "https:///hook": False,
    "https://?x": False,
    "https:example.com": False,
    "https:/example.com": False,
    # loopback, spelled in every way that some resolver reads
    "https://localhost/": False,
    "https://LOCALHOST./": False,
    "https://sub.localhost/": False,
    "https://localhost.localdomain/": False,
    "https://127.0.0.1/": False,
    "https://127.0.0.1./": False,
    "https://127.1/": False,
    "https://127.0.1/": False,
    "https://0/": False,
    "https://0.0.0.0/": False,
    "https://2130706433/": False,
    "https://0x7f000001/": False,
    "https://0x7f.0.0.1/": False,
    "https://0x7F.1/": False,
    "https://017700000001/": False,
    "https://0177.0.0.1/": False,
    "https://127.0.0.01/": False,
    "https://127.000.000.001/": False,
    "https://１２７.0.0.1/": False,
    "https://①②⑦.⓪.⓪.①/": False,
    "https://127。0。0。1/": False,
    "https://[::1]/": False,
    "https://[0:0:0:0:0:0:0:1]/": False,
    "https://[::ffff:127.0.0.1]/": False,
    "https://[::ffff:7f00:1]/": False,
    "https://[fe80::1%25eth0]/": False,
    "https://[::1%25lo]/": False,
    "https://ｌｏｃａｌｈｏｓｔ/": False,
    # metadata
    "https://169.254.169.254/latest/meta-data/": False,
    "https://0xA9FEA9FE/": False,
    "https://0xa9.0xfe.0xa9.0xfe/": False,
    "https://2852039166/": False,
    "https://0251.0376.0251.0376/": False,
    "https://169.254.43518/": False,
    "https://[::ffff:a9fe:a9fe]/": False,
    "https://[64:ff9b::a9fe:a9fe]/": False,
    "https://[fd00:ec2::254]/": False,
    "https://metadata.google.internal/": False,
    "https://metadata/": False,
    "https://instance-data/": False,
    # names inside
    "https://redis/": False,
    "https://printer.local/": False,
    "https://db.corp/": False,
    "https://router.home.arpa/": False,
    "https://x.lan/": False,
    "https://hidden.onion/": False,
    # who it is said to be, and who it is
    "https://user@example.com/": False,
    "https://user:secret@example.com/": False,
    "https://example.com@127.0.0.1/": False,
    "https://127.0.0.1#@example.com/": False,
    "https://127.0.0.1\\@example.com/": False,
    "https://example.com\\@127.0.0.1/": False,
    "https://example.com/#fragment": False,
    "https://example.com%2f@127.0.0.1/": False,
    "https://127.0.0.1%00.example.com/": False,
    # characters and sizes
    "https://exa mple.com/": False,
    "https://example.com/a b": False,
    "https://example.com/\r\nHost: evil": False,
    "https://example.com/é": False,
    "https://example.com/\x00": False,
    "https://exam\tple.com/": False,
    "https://-example.com/": False,
    "https://example..com/": False,
    "https://.example.com/": False,
    "https://example.com../": False,
    "https://*.example.com/": False,
    "https://" + "a" * 64 + ".com/": False,
    "https://" + "a." * 127 + "com/": False,
    "https://example.com/" + "a" * 2000: False,
    "https://[::1/": False,
    "https://::1/": False,
    "https://[example.com]/": False,
    # ports
    "https://example.com:/": True,
    "https://example.com:80/": True,
    "https://example.com:0/": False,
    "https://example.com:22/": False,
    "https://example.com:25/": False,
    "https://example.com:1023/": False,
    "https://example.com:6379/": False,
    "https://example.com:5432/": False,
    "https://example.com:6667/": False,
    "https://example.com:65536/": False,
    "https://example.com:-1/": False,
    "https://example.com:x/": False,
    "https://example.com:４４３/": False,
    "https://example.com:443:80/": False,
}

OPENED = {
    "http://10.20.1.2:8080/hook": True,
    "https://10.20.1.2/hook": True,
    "http://[fd12::5]/": True,
    "http://receiver/": True,  # judged by what it resolves to
    "http://receiver.internal:9000/": True,
    "https://example.com/": True,
    "https://8.8.8.8/": True,
    "https://[::ffff:10.20.0.1]/": True,
    "http://8.8.8.8/": False,
    "https://10.21.0.1/": False,
    "https://127.0.0.1/": False,
    "https://localhost/": False,
    "https://169.254.169.254/": False,
    "http://10.20.1.2:22/": False,
    "http://10.20.1.2:6379/": False,
}


def accepts(url: str, allowed: tuple[networks.Network, ...] = ()) -> bool:
    try:
        read(url, allowed)
    except Unacceptable as error:
        assert error.sentence.endswith(".")
        return False
    return True


@pytest.mark.parametrize(("text", "right"), IPS.items())
def test_ip_addresses(text: str, right: bool) -> None:
    assert networks.permitted(ip_address(text)) is right


@pytest.mark.parametrize(("url", "right"), URLS.items())
def test_urls(url: str, right: bool) -> None:
    assert accepts(url) is right


@pytest.mark.parametrize(("url", "right"), OPENED.items())
def test_urls_with_networks_opened(url: str, right: bool) -> None:
    assert accepts(url, OPEN) is right


def test_the_table_is_as_large_as_was_agreed() -> None:
    assert len(IPS) + len(URLS) + len(OPENED) >= 60


def test_loopback_names_take_an_opened_loopback() -> None:
    assert accepts("http://localhost:9000/", (ip_network("127.0.0.0/8"),))


@pytest.mark.parametrize(
    ("url", "host", "port", "path", "netloc"),
    [
        ("https://Example.COM", "example.com", 443, "/", "example.com"),
        ("https://example.com.:8443/a?b", "example.com", 8443, "/a?b", "example.com:8443"),
        ("https://example.com?x=1", "example.com", 443, "/?x=1", "example.com"),
        ("https://bücher.example/", "xn--bcher-kva.example", 443, "/", "xn--bcher-kva.example"),
        ("https://[2606:4700::0001]/", "2606:4700::1", 443, "/", "[2606:4700::1]"),
    ],
)
def test_what_is_read(url: str, host: str, port: int, path: str, netloc: str) -> None:
    target = read(url)
    assert (target.host, target.port, target.path, target.netloc) == (host, port, path, netloc)


@given(st.text(max_size=60))
def test_any_text_is_judged_with_a_sentence(text: str) -> None:
    accepts(f"https://{text}")
    accepts(text)


@given(st.ip_addresses(v=4))
def test_no_way_of_writing_ipv4_into_ipv6_opens_what_is_closed(address: object) -> None:
    text = str(address)
    right = networks.permitted(ip_address(text))
    for prefix in ("::ffff:", "64:ff9b::"):
        assert networks.permitted(ip_address(prefix + text)) is right
    for prefix in ("::", "64:ff9b:1::"):
        assert not networks.permitted(ip_address(prefix + text))
