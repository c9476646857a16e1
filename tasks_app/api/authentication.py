"""Who is calling: an API key (``Authorization: Bearer dk_…``), or a session with CSRF."""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from tasks_app.api.problems import CHALLENGE
from tasks_app.core import credentials


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """The user of a valid API key, known by id only: most requests need no more."""

    pk: int
    is_authenticated: bool = True
    is_active: bool = True
    is_anonymous: bool = False

    @property
    def id(self) -> int:
        """The user's id."""
        return self.pk

    def full(self) -> Any:
        """Read the user's row. Raises ``AuthenticationFailed`` if it is gone."""
        user = get_user_model().objects.filter(pk=self.pk).first()
        if user is None:
            raise AuthenticationFailed("This API key is not valid.")
        return user


class KeyAuthentication(BaseAuthentication):
    """API keys; a request without ``Authorization`` is left to the session."""

    def authenticate(self, request: Request) -> tuple[Any, None] | None:
        """Return the holder of the key. Raises ``AuthenticationFailed`` for a wrong one."""
        owner_id = bearer(request.headers.get("Authorization"))
        return None if owner_id is None else (KeyHolder(owner_id), None)

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge, which makes DRF answer 401 instead of 403."""
        return CHALLENGE


class ProblemSessionAuthentication(SessionAuthentication):
    """The web UI's session; DRF checks CSRF for it."""


def bearer(header: str | None) -> int | None:
    """Return whose key an ``Authorization`` header holds; None when there is no header.

    Raises ``AuthenticationFailed``.
    """
    if header is None:
        return None
    scheme, _, text = header.partition(" ")
    if scheme.lower() != "bearer":
        raise AuthenticationFailed("Send the API key as 'Authorization: Bearer dk_…'.")
    owner_id = credentials.owner_of(text.strip())
    if owner_id is None:
        raise AuthenticationFailed("This API key is not valid.")
    return owner_id
