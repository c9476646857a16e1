"""Which adapters there are. Each is imported on first use, so none costs what it does not run."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

from tasks_app.generators import documents
from tasks_app.generators.base import Adapter
from tasks_app.generators.errors import InvalidSettings

_ADAPTERS: Final[Mapping[str, str]] = {
    "cog": "tasks_app.generators.cog.adapter:CogAdapter",
    "comfyui": "tasks_app.generators.comfyui.adapter:ComfyUIAdapter",
    "dashscope": "tasks_app.generators.dashscope.adapter:DashScopeAdapter",
    "openai-images": "tasks_app.generators.openai_images.adapter:OpenAIImagesAdapter",
    "openai-videos": "tasks_app.generators.openai_videos.adapter:OpenAIVideosAdapter",
    "python": "tasks_app.generators.python.adapter:PythonAdapter",
    "replicate": "tasks_app.generators.replicate.adapter:ReplicateAdapter",
    "sketch": "tasks_app.generators.sketch.adapter:SketchAdapter",
    "sketch-video": "tasks_app.generators.sketch_video.adapter:SketchVideoAdapter",
}


class UnknownAdapter(LookupError):
    """No adapter has this name."""


def names() -> list[str]:
    """Return the names of all adapters, sorted."""
    return sorted(_ADAPTERS)


@cache
def adapter_class(name: str) -> type[Adapter]:
    """Return the adapter class called ``name``. Raises ``UnknownAdapter``."""
    try:
        module, _, attribute = _ADAPTERS[name].partition(":")
    except KeyError:
        known = ", ".join(names())
        raise UnknownAdapter(f"There is no adapter {name!r}; there are: {known}.") from None
    found: type[Adapter] = getattr(import_module(module), attribute)
    return found


def build(name: str, settings: Mapping[str, Any]) -> Adapter:
    """Return a new adapter for a generator row with these settings.

    Raises ``UnknownAdapter``, or ``errors.InvalidSettings`` when the settings do not fit.
    """
    adapter = adapter_class(name)()
    if not isinstance(settings, Mapping):  # a column holds any JSON, whatever the types say
        raise InvalidSettings("The settings must be an object; without any, write {}.")
    try:
        documents.check_storable(settings)
    except documents.Unusable as error:
        raise InvalidSettings(f"The settings cannot be used. {error}") from error
    adapter.check_settings(settings)
    return adapter
