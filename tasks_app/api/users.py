"""Who is calling, as an id or as the user's row."""

from typing import Any

from rest_framework.request import Request

from tasks_app.api.authentication import KeyHolder


def user_id(request: Request) -> int:
    """Return the calling user's id. Views that ask for it require authentication."""
    pk = request.user.pk
    assert pk is not None
    return int(pk)


def user_of(request: Request) -> Any:
    """Return the calling user's row, read for API keys, at hand for sessions."""
    caller = request.user
    return caller.full() if isinstance(caller, KeyHolder) else caller
