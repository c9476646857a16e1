"""The ``sketch-video`` generator: short loops, embedded, immediate, without a model."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from tasks_app.generators.base import Context, GenerationRequest, LocalAdapter, Output, Schema
from tasks_app.generators.errors import InvalidSettings
from tasks_app.generators.sketch.adapter import first_seed
from tasks_app.generators.sketch.painting import Wish
from tasks_app.generators.sketch.progress import Progress
from tasks_app.generators.sketch_video.encode import MEDIA_TYPE, encode
from tasks_app.generators.sketch_video.film import Film, Loop
from tasks_app.generators.sketch_video.parameters import schema


class SketchVideoAdapter(LocalAdapter):
    """Films what the sketch artist paints; see the README beside it."""

    name: ClassVar[str] = "sketch-video"
    kind: ClassVar[str] = "video"

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Raise ``InvalidSettings`` if there are any: this generator has none."""
        if settings:
            raise InvalidSettings(
                f"The sketch-video generator has no settings; remove {', '.join(sorted(settings))}."
            )

    def parameter_schema(self, settings: Mapping[str, Any]) -> Schema:
        """Return the JSON Schema of the parameters."""
        return schema()

    def generate(self, request: GenerationRequest, context: Context) -> Iterator[Output]:
        """Yield one loop; every frame is encoded as soon as it is painted."""
        params = request.params
        seed = first_seed(request)
        size = int(params["width"]), int(params["height"])
        wish = Wish(params["prompt"], params["negative_prompt"], seed, *size, params["style"])
        loop = Loop(int(params["seconds"]), int(params["fps"]))
        progress = Progress(context.report)
        film = Film(wish, loop, progress)
        content = encode(film.frames(), loop.frames, size, loop.fps)
        progress.finish()
        yield Output(content, MEDIA_TYPE, seed)
