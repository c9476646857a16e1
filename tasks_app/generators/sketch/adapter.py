"""The ``sketch`` generator: embedded, immediate, without a model."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from tasks_app.generators.base import Context, GenerationRequest, LocalAdapter, Output, Schema
from tasks_app.generators.errors import InvalidSettings
from tasks_app.generators.sketch.encode import MEDIA_TYPES, encode
from tasks_app.generators.sketch.painting import Wish, picture
from tasks_app.generators.sketch.parameters import MAX_SEED, schema
from tasks_app.generators.sketch.progress import Progress


class SketchAdapter(LocalAdapter):
    """Paints pictures procedurally; see the README beside it for what it understands."""

    name: ClassVar[str] = "sketch"

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Raise ``InvalidSettings`` if there are any: this generator has none."""
        if settings:
            raise InvalidSettings(
                f"The sketch generator has no settings; remove {', '.join(sorted(settings))}."
            )

    def parameter_schema(self, settings: Mapping[str, Any]) -> Schema:
        """Return the JSON Schema of the parameters."""
        return schema()

    def generate(self, request: GenerationRequest, context: Context) -> Iterator[Output]:
        """Yield ``n`` pictures with consecutive seeds; each is painted when asked for."""
        params = request.params
        number = int(params["n"])
        seed = first_seed(request)
        for index in range(number):
            progress = Progress(context.report, index / number, 1.0 / number)
            wish = _wish(params, (seed + index) % (MAX_SEED + 1))
            image = picture(wish, progress)
            content = encode(image, params["format"], wish.seed)
            progress.finish()
            yield Output(content, MEDIA_TYPES[params["format"]], wish.seed)


def first_seed(request: GenerationRequest) -> int:
    """Return the seed asked for, else one that depends on the task only.

    A second attempt of the same task therefore makes the same picture.
    """
    seed = request.params["seed"]
    if seed is not None:
        return int(seed)
    digest = hashlib.sha256(request.task_id.encode()).digest()
    return int.from_bytes(digest[:8], "big") % (MAX_SEED + 1)


def _wish(params: Mapping[str, Any], seed: int) -> Wish:
    return Wish(
        prompt=params["prompt"],
        negative_prompt=params["negative_prompt"],
        seed=seed,
        width=int(params["width"]),
        height=int(params["height"]),
        style=params["style"],
        detail=params["detail"],
    )
