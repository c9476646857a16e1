"""What is opened for callbacks."""

from ipaddress import ip_network

import pytest
from pytest_django import Settings

from tasks_app import checks


@pytest.mark.parametrize(
    ("opened", "found"),
    [
        ([], []),
        (["10.20.0.0/16", "fd12::/32"], []),
        (["0.0.0.0/0"], ["darkroom.E005"]),
        (["::/0"], ["darkroom.E005"]),
        (["10.0.0.0/8", "169.254.0.0/16"], ["darkroom.E005"]),
    ],
)
def test_not_everything_may_be_opened(
    settings: Settings, opened: list[str], found: list[str]
) -> None:
    allowed = tuple(map(ip_network, opened))
    settings.DARKROOM = settings.DARKROOM | {"callback_allow": allowed}
    assert [message.id for message in checks.opened_networks()] == found
