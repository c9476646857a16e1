"""Behind a proxy, the caller's address is what the proxy says.

Only in use with ``DARKROOM_BEHIND_PROXY``. The proxy must overwrite ``X-Real-IP``, as
``deploy/nginx/darkroom.conf`` does; ``X-Forwarded-For`` is not read, as callers may begin it.
"""

import ipaddress
from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase


class ClientAddressMiddleware:
    """Puts the caller's address where the address of the connection was."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Believe the proxy if what it says is an address."""
        try:
            address = ipaddress.ip_address(request.META.get("HTTP_X_REAL_IP", ""))
        except ValueError:
            return self.get_response(request)
        request.META["REMOTE_ADDR"] = str(address)
        return self.get_response(request)
