"""JSON out, by orjson, whatever the caller says that it accepts."""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson
from rest_framework.metadata import BaseMetadata
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class ORJSONRenderer(BaseRenderer):
    """Renders JSON; a problem keeps its own media type."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Any = None,
    ) -> bytes:
        """Return the body; nothing for an empty answer."""
        return b"" if data is None else orjson.dumps(data)


class OneMediaType(DefaultContentNegotiation):
    """There is JSON and nothing else, so ``Accept`` (and ``?format=``) decide nothing."""

    def select_renderer(
        self,
        request: Request,
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,
    ) -> tuple[BaseRenderer, str]:
        """Return the JSON renderer."""
        renderer: BaseRenderer = next(iter(renderers))
        return renderer, str(renderer.media_type)


class NoMetadata(BaseMetadata):
    """``OPTIONS`` answers with ``Allow`` and an empty body; the schema is at its own address."""

    def determine_metadata(self, request: Request, view: Any) -> Sequence[Any] | None:
        """Say nothing."""
        return None
