"""The caller as a user row, for what needs one."""

from typing import Any

from rest_framework.request import Request

from tasks_app.api.authentication import KeyHolder


def user_of(request: Request) -> Any:
    """Return the calling user's row, read for API keys, at hand for sessions."""
    caller = request.user
    return caller.full() if isinstance(caller, KeyHolder) else caller
