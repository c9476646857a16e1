"""The ``python`` generator: any importable callable of the operator makes the pictures."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final

from tasks_app.generators.base import Context, GenerationRequest, LocalAdapter, Output, Schema
from tasks_app.generators.errors import InvalidSettings
from tasks_app.generators.python import parameters
from tasks_app.generators.python.loading import load
from tasks_app.generators.python.results import outputs

_SETTINGS: Final = frozenset({"callable", "parameters", "kind"})
_KINDS: Final = ("image", "video")


class PythonAdapter(LocalAdapter):
    """Calls ``function(params, report)``; the README beside it has the whole contract.

    A class is instantiated once per worker, in ``warm_up``; its instance is then called for
    every task, so what it loads stays loaded.
    """

    name: ClassVar[str] = "python"
    settings_help: ClassVar[str] = (
        '{"callable": "package.module:function"} names what is called for each task; the module '
        "must be importable by workers and web processes. Optional: "
        '"parameters", a JSON Schema of the form and the API; "kind", image or video.'
    )

    def __init__(self) -> None:
        self._ready: Callable[..., Any] | None = None

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Raise ``InvalidSettings`` with a sentence about the first thing that is wrong."""
        unknown = sorted(set(settings) - _SETTINGS)
        if unknown:
            known = ", ".join(sorted(_SETTINGS))
            raise InvalidSettings(f"Unknown settings: {', '.join(unknown)}. Known are: {known}.")
        if settings.get("kind", "image") not in _KINDS:
            raise InvalidSettings(f'"kind" must be one of: {", ".join(_KINDS)}.')
        parameters.check(settings)
        found = load(settings)
        if isinstance(found, type) and "__call__" not in dir(found):
            raise InvalidSettings(
                f"The class {settings['callable']!r} needs a method __call__(params, report)."
            )

    def parameter_schema(self, settings: Mapping[str, Any]) -> Schema:
        """Return the operator's schema, or the default one."""
        return parameters.parameters(settings)

    def warm_up(self, settings: Mapping[str, Any]) -> None:
        """Import the callable; make the one instance if it is a class."""
        found = load(settings)
        self._ready = found() if isinstance(found, type) else found

    def generate(self, request: GenerationRequest, context: Context) -> Iterator[Output]:
        """Call the operator's code with a copy of the parameters; yield what it returns.

        Exceptions of that code fly through; ``GeneratorError`` says ``result_unusable``.
        """
        if self._ready is None:
            self.warm_up(request.settings)
        assert self._ready is not None
        context.report(0.0)
        yield from outputs(self._ready(dict(request.params), _clamped(context)))


def _clamped(context: Context) -> Callable[[float], None]:
    """Return ``context.report`` for code that may count past its own end."""

    def report(fraction: float) -> None:
        context.report(min(1.0, max(0.0, float(fraction))))

    return report
