"""How the staff's pages look: the settings of django-unfold."""

from typing import Any

from django.templatetags.static import static
from django.urls import reverse

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Darkroom",
    "SITE_HEADER": "Darkroom",
    "SITE_SYMBOL": "camera_roll",
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda _: static("web/favicon.svg")}
    ],
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": True,
    "SHOW_LANGUAGES": True,
    "LANGUAGES": {"action": lambda _: reverse("web:language")},
    "BORDER_RADIUS": "6px",
    "STYLES": [lambda _: static("staff/admin.css")],
    "DASHBOARD_CALLBACK": "tasks_app.admin.dashboard.context",
    "COLORS": {
        # The safelight of the pages, on warm greys.
        "base": {
            "50": "oklch(98.2% .006 60)",
            "100": "oklch(95.8% .009 60)",
            "200": "oklch(91% .014 60)",
            "300": "oklch(85% .018 60)",
            "400": "oklch(70% .022 55)",
            "500": "oklch(55% .022 50)",
            "600": "oklch(44% .02 48)",
            "700": "oklch(35% .018 45)",
            "800": "oklch(26% .016 42)",
            "900": "oklch(20% .014 40)",
            "950": "oklch(15% .012 38)",
        },
        "primary": {
            "50": "oklch(97% .015 35)",
            "100": "oklch(93% .035 35)",
            "200": "oklch(87% .07 35)",
            "300": "oklch(80% .12 35)",
            "400": "oklch(72% .17 34)",
            "500": "oklch(65% .2 33)",
            "600": "oklch(54% .18 33)",
            "700": "oklch(47% .16 33)",
            "800": "oklch(40% .13 33)",
            "900": "oklch(33% .1 33)",
            "950": "oklch(24% .07 33)",
        },
    },
    "SIDEBAR": {"navigation": "tasks_app.admin.navigation.groups"},
}
