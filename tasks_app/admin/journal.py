"""The journal of what staff did: written in English; the filter ``journal`` translates it."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import override


def plain(word: Promise | str) -> str:
    """Return a word as the journal keeps it, whatever language the writer reads."""
    with override(None):
        return str(word)


def note(admin: Any, request: HttpRequest, one: Any, word: Promise | str) -> None:
    """Write down that this member of the staff did this to that row."""
    admin.log_change(request, one, plain(word))
