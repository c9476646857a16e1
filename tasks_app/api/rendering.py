"""JSON out, by orjson."""

from typing import Any

import orjson
from rest_framework.renderers import BaseRenderer


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
