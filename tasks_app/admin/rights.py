"""What rights are called in the reader's language: the table has their English names."""

from typing import Final

from django.contrib.auth.models import Permission
from django.utils.translation import gettext, gettext_lazy, gettext_noop

_DOES: Final = {
    "add": gettext_lazy("Can add %(name)s"),
    "change": gettext_lazy("Can change %(name)s"),
    "delete": gettext_lazy("Can delete %(name)s"),
    "view": gettext_lazy("Can view %(name)s"),
}
_MADE: Final = (
    gettext_noop("flow"),
    gettext_noop("pool"),
    gettext_noop("lane"),
    gettext_noop("idempotency key"),
)
"""Names that Django makes from the name of a class."""


def said(right: Permission) -> str:
    """Return what a right allows."""
    model = right.content_type.model_class()
    does, _, what = right.codename.partition("_")
    if model is None or does not in _DOES or what != model._meta.model_name:
        return gettext(right.name)
    return str(_DOES[does]) % {"name": gettext(str(model._meta.verbose_name))}
