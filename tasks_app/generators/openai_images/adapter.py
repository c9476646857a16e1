"""The ``openai-images`` generator: OpenAI's images, and servers that speak like it.

The upstream answers when the picture is there, so that the call lasts as long as the generation.
Its quirks, and what its answers mean here, are in the README beside this file.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from tasks_app.generators import data_urls, schemas
from tasks_app.generators.base import GenerationRequest, Output, Schema
from tasks_app.generators.errors import CannotTell, GeneratorError, InvalidSettings
from tasks_app.generators.openai import check_models, judge_openai
from tasks_app.generators.remote import (
    Job,
    Link,
    RemoteAdapter,
    Submitted,
    UpstreamAnswer,
    check_number,
    check_text,
)
from tasks_app.generators.upstream import MAX_ANSWER, Upstream, list_of, object_of
from tasks_app.lifecycle import ErrorCode

_LIMIT: Final = 96 * MAX_ANSWER
_SIZES: Final = ("1024x1024", "1536x1024", "1024x1536", "auto")
_QUALITIES: Final = ("auto", "low", "medium", "high")
_MOST_PICTURES: Final = 10


class OpenAIImagesAdapter(RemoteAdapter):
    """Asks for pictures and waits for them."""

    name: ClassVar[str] = "openai-images"
    default_url: ClassVar[str] = "https://api.openai.com/v1"
    synchronous: ClassVar[bool] = True
    polls: ClassVar[bool] = False
    own_settings: ClassVar[frozenset[str]] = frozenset(
        {"model", "sizes", "qualities", "most_pictures", "input"}
    )
    settings_help: ClassVar[str] = (
        '"model", such as "gpt-image-1". Optional: "sizes" and "qualities", lists of what callers '
        'may choose; "most_pictures" of one task; "input", values that are always sent, such as '
        '{"moderation": "low"}.'
    )

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Raise ``InvalidSettings`` with a sentence about the first thing that is wrong."""
        super().check_settings(settings)
        check_text(settings, "model", needed=True)
        for name in ("sizes", "qualities"):
            _check_words(settings, name)
        check_number(settings, "most_pictures", 1, _MOST_PICTURES)
        if not isinstance(settings.get("input", {}), dict):
            raise InvalidSettings('"input" must be an object.')

    def parameter_schema(self, settings: Mapping[str, Any]) -> Schema:
        """Return prompt, size, quality and how many; what cannot be chosen is left out."""
        sizes = settings.get("sizes", _SIZES)
        qualities = settings.get("qualities", _QUALITIES)
        properties = {"prompt": schemas.prompt(32_000)}
        if sizes:
            properties["size"] = schemas.choice("Size", {one: _times(one) for one in sizes})
        if qualities:
            labels = {one: one.capitalize() for one in qualities}
            properties["quality"] = schemas.choice("Quality", labels)
        if int(settings.get("most_pictures", 4)) > 1:
            properties["n"] = schemas.count(int(settings.get("most_pictures", 4)))
        return schemas.form(["prompt"], **properties)

    async def submit(
        self, upstream: Upstream, request: GenerationRequest, webhook_url: str | None
    ) -> Submitted | UpstreamAnswer:
        """Ask for pictures; returns them."""
        settings = request.settings
        body = {"model": settings["model"], **request.params, **settings.get("input", {})}
        reply = await upstream.call("POST", "/images/generations", json=body, limit=_LIMIT)
        judge_openai(reply)
        found = [object_of(one) for one in list_of(reply.json().get("data"))]
        outputs: list[Output] = []
        links: list[Link] = []
        for one in found:
            coded, link = one.get("b64_json"), one.get("url")
            if isinstance(coded, str) and coded:
                outputs.append(data_urls.output_of(coded))
            elif isinstance(link, str) and link.startswith("data:"):
                outputs.append(data_urls.output_of(link))
            elif isinstance(link, str) and link:
                links.append(Link(link))
        if not outputs and not links:
            raise GeneratorError(ErrorCode.RESULT_UNUSABLE, "The model service sent no picture.")
        return UpstreamAnswer(True, outputs=tuple(outputs), links=tuple(links))

    async def poll(self, upstream: Upstream, job: Job) -> UpstreamAnswer:
        """Not possible: there is no job to ask about."""
        raise CannotTell

    async def cancel(self, upstream: Upstream, job: Job) -> None:
        """Nothing to do: breaking the call off is all there is."""

    async def check(self, upstream: Upstream, settings: Mapping[str, Any]) -> str:
        """List the models, which costs nothing."""
        return await check_models(upstream, str(settings.get("model")))


def _check_words(settings: Mapping[str, Any], name: str) -> None:
    words = settings.get(name, [])
    if not isinstance(words, list) or len(words) > 40:
        raise InvalidSettings(f'"{name}" must be a list of texts.')
    if not all(isinstance(one, str) and 0 < len(one) <= 40 for one in words):
        raise InvalidSettings(f'"{name}" must be a list of texts.')


def _times(size: str) -> str:
    return size.replace("x", " × ") if size != "auto" else "Auto"
