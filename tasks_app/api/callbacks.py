"""`/v1/callbacks`: what was told, telling it again, a test, the default address, the secret."""

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from tasks_app.api import wishes
from tasks_app.api.users import user_id
from tasks_app.core import callbacks


class Callbacks(APIView):
    """The collection."""

    def get(self, request: Request) -> Response:
        """List own callbacks, newest first."""
        wanted = wishes.callbacks(dict(request.query_params.lists()))
        items, cursor = callbacks.page(user_id(request), wanted)
        return Response({"items": items, "next_cursor": str(cursor) if cursor else None})


class OneCallback(APIView):
    """One callback."""

    def get(self, request: Request, callback_id: UUID) -> Response:
        """Show what is sent, and what came back."""
        return Response(callbacks.one(callback_id, user_id(request)))


class Redeliver(APIView):
    """One callback, again."""

    def post(self, request: Request, callback_id: UUID) -> Response:
        """Deliver it again; one that is about to be delivered stays as it is."""
        wishes.nothing(request.data)
        callbacks.redeliver(callback_id, user_id(request))
        return Response(callbacks.one(callback_id, user_id(request)), status=202)


class RedeliverFailed(APIView):
    """All that failed, again."""

    def post(self, request: Request) -> Response:
        """Deliver again what has failed since a time."""
        since = wishes.since(request.data)
        number = callbacks.redeliver_failed(user_id(request), since)
        more = number == callbacks.MOST_AT_ONCE
        return Response({"redelivered": number, "more": more}, status=202)


class Test(APIView):
    """A test."""

    def post(self, request: Request) -> Response:
        """Send a signed test; its own address tells what came back."""
        made = callbacks.send_test(user_id(request), wishes.test_address(request.data))
        document = callbacks.one(made, user_id(request))
        headers = {"Location": f"/v1/callbacks/{made}", "Retry-After": "1"}
        return Response(document, status=202, headers=headers)


class Settings(APIView):
    """The default address."""

    def get(self, request: Request) -> Response:
        """Show it, and which addresses are disabled."""
        return Response(callbacks.settings_of(user_id(request)))

    def put(self, request: Request) -> Response:
        """Set it."""
        url, running = wishes.callback_settings(request.data)
        callbacks.set_default(user_id(request), url, running=running)
        return Response(callbacks.settings_of(user_id(request)))


class Secret(APIView):
    """The secret."""

    def post(self, request: Request) -> Response:
        """Make a new one, which is in this answer and nowhere else."""
        wishes.nothing(request.data)
        return Response({"secret": callbacks.new_secret(user_id(request))}, status=201)
