"""Contexts and requests for adapters under test."""

from typing import Any

from jsonschema import Draft202012Validator

from tasks_app.generators.base import Adapter, GenerationRequest
from tasks_app.generators.errors import Stopped


class Recorder:
    """A context that notes every report and may stop at the ``stop_at``-th."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.fractions: list[float] = []
        self._stop_at = stop_at

    def report(self, fraction: float) -> None:
        self.fractions.append(fraction)
        if self._stop_at is not None and len(self.fractions) >= self._stop_at:
            raise Stopped("canceled")


def request(
    adapter: Adapter,
    settings: dict[str, Any] | None = None,
    *,
    task_id: str = "task-1",
    attempt: int = 1,
    **params: Any,
) -> GenerationRequest:
    """Return a request as the service makes it: defaults filled in, validated."""
    schema = adapter.parameter_schema(settings or {})
    defaults = {
        name: part["default"] for name, part in schema["properties"].items() if "default" in part
    }
    filled = {**defaults, **params}
    Draft202012Validator(schema).validate(filled)
    return GenerationRequest(task_id, attempt, filled, settings or {})
