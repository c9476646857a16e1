"""`/v1/generators` and `/v1/account`: what can be asked for, and within which limits."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from tasks_app.api.users import user_of
from tasks_app.core import offers


class Generators(APIView):
    """What users may choose."""

    def get(self, request: Request) -> Response:
        """List the generators on offer with the schemas of their parameters."""
        return Response({"items": offers.generators(user_of(request))})


class Account(APIView):
    """The caller's limits and use."""

    def get(self, request: Request) -> Response:
        """Show plan, limits and what of them is used."""
        return Response(offers.account(user_of(request)))
