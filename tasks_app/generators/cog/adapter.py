"""The ``cog`` generator: model servers made with cog, on hardware of one's own.

A server of cog cannot be asked about a prediction: its webhooks tell. Its quirks, and what its
answers mean here, are in the README beside this file.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar, Final
from urllib.parse import quote

from tasks_app.generators import data_urls, schemas
from tasks_app.generators.base import GenerationRequest, Output, Schema
from tasks_app.generators.errors import (
    Busy,
    CannotTell,
    GeneratorError,
    InvalidSettings,
    NoAnswer,
    Unheard,
)
from tasks_app.generators.phrases import Phrase
from tasks_app.generators.remote import (
    RUNNING,
    Job,
    Link,
    RemoteAdapter,
    Submitted,
    UpstreamAnswer,
    check_number,
)
from tasks_app.generators.upstream import (
    Reply,
    Upstream,
    clipped,
    fraction,
    judge,
    list_of,
    object_of,
    text_of,
)
from tasks_app.lifecycle import ErrorCode

_EVENTS: Final = ["start", "logs", "completed"]
_PERCENT: Final = re.compile(r"(?<!\d)(\d{1,3})\s?%")
_TAIL: Final = 4_000
"""Characters of the logs that are searched for a percentage."""
_BORN_MARGIN: Final = 1.5
"""Seconds: the server tells the time of its answer in whole ones."""
_RETRIED: Final = 480.0
"""Seconds: cog sends the last webhook again for 409 (12 times, 0.1 s doubling) and gives up."""
_UNHEARD: Final = (
    "The model server is done with it, and the webhook with its result has not come: can it reach "
    "this service?"
)


class CogAdapter(RemoteAdapter):
    """Creates predictions under ids of our own, and is told by webhooks how they went."""

    name: ClassVar[str] = "cog"
    needs_credential: ClassVar[bool] = False
    takes_webhooks: ClassVar[bool] = True
    polls: ClassVar[bool] = False
    own_settings: ClassVar[frozenset[str]] = frozenset({"parameters", "input", "kind", "slots"})
    settings_help: ClassVar[str] = (
        '"base_url", where the server is, and "webhooks": true, without which it could not tell '
        'that it is done. Optional: "parameters", a JSON Schema of the form; "input", values that '
        'are always sent; "kind", image or video; "slots": 1 if the server runs one prediction at '
        "a time, so that a free one is known to be done."
    )

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Raise ``InvalidSettings`` with a sentence about the first thing that is wrong."""
        super().check_settings(settings)
        if settings.get("webhooks") is not True:
            raise InvalidSettings('Set "webhooks" to true: a server of cog cannot be asked.')
        if not isinstance(settings.get("input", {}), dict):
            raise InvalidSettings('"input" must be an object.')
        if settings.get("kind", "image") not in ("image", "video"):
            raise InvalidSettings('"kind" must be image or video.')
        check_number(settings, "slots", 1, 1_000)
        schemas.check_own_schema(settings)

    def parameter_schema(self, settings: Mapping[str, Any]) -> Schema:
        """Return the operator's schema, or the usual one."""
        return schemas.own_schema(settings)

    async def submit(
        self, upstream: Upstream, request: GenerationRequest, webhook_url: str | None
    ) -> Submitted | UpstreamAnswer:
        """Create the prediction that has the attempt's key as its id."""
        settings = request.settings
        answer = await _put(upstream, request.key, request.params, settings, webhook_url)
        return answer if answer.finished else Submitted(request.key)

    async def poll(self, upstream: Upstream, job: Job) -> UpstreamAnswer:
        """Look whether the server was started anew, or has room although it runs one at a time.

        Then the prediction is over, and nobody can ask what became of it: where that costs
        nothing it is made anew. Raises ``Unheard`` while its webhook may still come.
        """
        reply = await upstream.call("GET", "/health-check")
        judge(reply)
        uptime = _uptime(reply)
        anew = uptime is not None and uptime < job.age - _BORN_MARGIN
        room = text_of(reply.json().get("status")) == "READY"
        if (anew or room) and _free(job) and not job.stopping:
            return await _put(upstream, job.key, job.params, job.settings, job.webhook_url)
        if anew:
            detail = "The model server was started anew in the middle of it."
            error = GeneratorError(ErrorCode.UPSTREAM_ERROR, detail)
            return UpstreamAnswer(True, error=error, status="restarted")
        if room and job.settings.get("slots") == 1 and job.age > _BORN_MARGIN:
            if job.stopping:
                return UpstreamAnswer(True, error=_failure("canceled", ""), status="canceled")
            raise Unheard(_UNHEARD, _RETRIED)
        return RUNNING

    async def find(self, upstream: Upstream, job: Job) -> Submitted | None:
        """Send it again if that costs nothing: the server knows by its id whether it runs."""
        if not _free(job) or job.stopping:
            raise CannotTell
        await _put(upstream, job.key, job.params, job.settings, job.webhook_url)
        return Submitted(job.key)

    async def cancel(self, upstream: Upstream, job: Job) -> None:
        """Cancel the prediction; 404 says that it is over."""
        path = f"/predictions/{quote(job.upstream_id, safe='')}/cancel"
        reply = await upstream.call("POST", path)
        if reply.status != 404:
            judge(reply, _error(reply))

    def verify(
        self, headers: Mapping[str, str], body: bytes, secret: str | None, now: float
    ) -> None:
        """Accept it: cog signs nothing, the token in the address is all there is."""

    def read(self, body: bytes) -> UpstreamAnswer:
        """Return what a webhook says: it holds the prediction."""
        return _answer(Reply(200, {}, body).json())

    async def check(self, upstream: Upstream, settings: Mapping[str, Any]) -> str:
        """Ask for the server's health."""
        reply = await upstream.call("GET", "/health-check")
        judge(reply)
        health = reply.json()
        status = clipped(health.get("status"))
        version = clipped(object_of(health.get("version")).get("coglet"))
        if status not in ("READY", "BUSY"):
            detail = Phrase("The model server is %(status)s.", status=status)
            raise GeneratorError(ErrorCode.UPSTREAM_ERROR, detail)
        if not version:
            return Phrase("The model server is %(status)s.", status=status)
        return Phrase(
            "The model server is %(status)s (coglet %(version)s).", status=status, version=version
        )


async def _put(
    upstream: Upstream,
    key: str,
    params: Mapping[str, Any],
    settings: Mapping[str, Any],
    webhook_url: str | None,
) -> UpstreamAnswer:
    """Create a prediction, or be told how it is while it runs."""
    given = {name: value for name, value in params.items() if value is not None}
    reply = await upstream.call(
        "PUT",
        f"/predictions/{key}",
        json={
            "input": {**given, **settings.get("input", {})},
            "webhook": webhook_url,
            "webhook_events_filter": _EVENTS,
        },
        headers={"Prefer": "respond-async"},
    )
    if reply.status == 409:
        raise Busy("All slots of the model server are taken.")
    if reply.status == 422:
        raise GeneratorError(ErrorCode.INVALID_PARAMS, _complaints(reply))
    judge(reply, _error(reply))
    return _answer(reply.json())


def _free(job: Job) -> bool:
    return bool(job.settings.get("free_to_repeat", False))


def _answer(prediction: Mapping[str, Any]) -> UpstreamAnswer:
    status, upstream_id = text_of(prediction.get("status")), text_of(prediction.get("id"))
    if status in ("failed", "canceled"):
        error = _failure(status, clipped(prediction.get("error")))
        return UpstreamAnswer(True, error=error, status=status, upstream_id=upstream_id)
    if status != "succeeded":
        progress = _progress(text_of(prediction.get("logs")))
        return UpstreamAnswer(False, progress, status=clipped(status), upstream_id=upstream_id)
    outputs, links = _files(prediction.get("output"))
    nothing = GeneratorError(ErrorCode.RESULT_UNUSABLE, "The model returned no file.")
    return UpstreamAnswer(
        True,
        outputs=tuple(outputs),
        links=tuple(links),
        error=None if outputs or links else nothing,
        status=status,
        upstream_id=upstream_id,
    )


def _files(output: object) -> tuple[list[Output], list[Link]]:
    found = [output] if isinstance(output, str) else list_of(output)
    texts = [text for text in found if isinstance(text, str)]
    outputs = [data_urls.output_of(text) for text in texts if text.startswith("data:")]
    links = [Link(text) for text in texts if text.startswith(("https://", "http://"))]
    return outputs, links


def _failure(status: str, said: str) -> GeneratorError:
    if status == "canceled":
        detail = "The prediction was canceled at the model server."
        return GeneratorError(ErrorCode.UPSTREAM_ERROR, detail)
    return GeneratorError(ErrorCode.UPSTREAM_ERROR, said or "The model failed.")


def _progress(logs: str) -> float | None:
    """Return the last percentage in the logs: cog has no other progress."""
    found = _PERCENT.findall(logs[-_TAIL:])
    return fraction(int(found[-1]), 100.0) if found else None


def _uptime(reply: Reply) -> float | None:
    """Return for how long the server runs, by its own clock: ours may differ."""
    started = text_of(object_of(reply.json().get("setup")).get("started_at"))
    try:
        born = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", started))
        now = parsedate_to_datetime(reply.headers.get("date", ""))
        return (now.replace(tzinfo=UTC) - born.astimezone(UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None


def _error(reply: Reply) -> str:
    try:
        return clipped(reply.json().get("error"))
    except NoAnswer:
        return ""


def _complaints(reply: Reply) -> str:
    """Return what the server says about the inputs."""
    try:
        found = [object_of(one) for one in list_of(reply.json().get("detail"))]
    except NoAnswer:
        found = []
    told = [f"{list_of(one.get('loc'))[-1:]} {clipped(one.get('msg'))}" for one in found]
    return clipped("; ".join(told)) or "The model does not take these parameters."
