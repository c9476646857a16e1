"""Headers that keep the pages safe: a strict Content-Security-Policy, and no caching of pages.

No page has an inline script or an inline style, so neither needs an exception. A response that
already carries one of these headers keeps its own: files sandbox themselves.
"""

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase

_COMMON: Final = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data: blob:",
    "media-src": "'self'",
    "connect-src": "'self'",
    "font-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}


def _policy(directives: dict[str, str]) -> str:
    return "; ".join(f"{name} {sources}".strip() for name, sources in directives.items())


# Our own scripts never build markup from strings; the browser holds them to it.
PAGES: Final = _policy(_COMMON | {"require-trusted-types-for": "'script'"})
# The admin's libraries do (jQuery, Alpine); Alpine also compiles the expressions in unfold's
# templates, and unfold writes styles into its pages. Scripts in a page stay forbidden.
ADMIN: Final = _policy(
    _COMMON | {"script-src": "'self' 'unsafe-eval'", "style-src": "'self' 'unsafe-inline'"}
)
ADMIN_PREFIX: Final = "/admin/"

PERMISSIONS: Final = ", ".join(
    f"{feature}=()"
    for feature in (
        "accelerometer",
        "browsing-topics",
        "camera",
        "display-capture",
        "geolocation",
        "gyroscope",
        "magnetometer",
        "microphone",
        "midi",
        "payment",
        "usb",
    )
)


class ContentSecurityPolicyMiddleware:
    """Adds the headers to every response that Django makes."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, with headers."""
        response = self._get_response(request)
        policy = ADMIN if request.path.startswith(ADMIN_PREFIX) else PAGES
        response.headers.setdefault("Content-Security-Policy", policy)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        if response.headers.get("Content-Type", "").startswith("text/html"):
            # After a logout the back button must not show what was there.
            response.headers.setdefault("Cache-Control", "private, no-store")
        return response
