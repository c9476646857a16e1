"""Webhooks: upstreams telling how a job went. Answered at once; what follows, workers do."""

import logging
import time

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from aigc_site import bodies
from tasks_app.core.remote import webhooks
from tasks_app.core.remote.webhooks import Verdict

logger = logging.getLogger(__name__)

_STATUS = {
    Verdict.TAKEN: 200,
    Verdict.KNOWN: 200,
    Verdict.UNREADABLE: 400,
    Verdict.FORGED: 403,
    Verdict.UNKNOWN: 404,
    Verdict.LATER: 503,
}


@csrf_exempt
def receive(request: HttpRequest, generator: str, token: str) -> HttpResponse:
    """Take a webhook in. The answer says whether it was believed, and no more."""
    if request.method != "POST":
        return HttpResponse(status=405, headers={"Allow": "POST"})
    # Not ``request.body``, which has the limit of forms; this body's was kept when it was read.
    body = request.read(bodies.WEBHOOK + 1)
    names = {name.lower(): value for name, value in request.headers.items()}
    verdict = webhooks.receive(generator, token, names, body, time.time())
    if verdict not in (Verdict.TAKEN, Verdict.KNOWN):
        logger.warning("a webhook for %.63s was refused: %s", generator, verdict)
    text = f"{verdict}\n" if settings.DEBUG or verdict in (Verdict.TAKEN, Verdict.KNOWN) else ""
    answer = HttpResponse(text, status=_STATUS[verdict], content_type="text/plain")
    answer["Cache-Control"] = "no-store"
    if verdict is Verdict.LATER:
        answer["Retry-After"] = "5"
    return answer
