"""A workflow as a template: which inputs of which nodes callers may set, and how."""

import copy
from collections.abc import Mapping
from typing import Any, Final

from tasks_app.generators.errors import InvalidSettings

_MOST_NODES: Final = 2_000


def check(settings: Mapping[str, Any], names: set[str]) -> None:
    """Raise ``InvalidSettings`` unless workflow and inputs fit; ``names`` are the parameters'."""
    workflow, inputs = settings.get("workflow"), settings.get("inputs")
    if not isinstance(workflow, dict) or not 0 < len(workflow) <= _MOST_NODES:
        raise InvalidSettings('"workflow" must be what ComfyUI exports for its API: an object.')
    for node, body in workflow.items():
        fits = isinstance(body, dict) and isinstance(body.get("inputs"), dict)
        if not fits or not isinstance(body.get("class_type"), str):
            raise InvalidSettings(
                f'The node {node!r} of the workflow needs "class_type" and "inputs": '
                "export it for the API."
            )
    if not isinstance(inputs, dict) or not inputs:
        raise InvalidSettings('"inputs" must say where parameters go: {"prompt": "6.text"}.')
    for name, places in inputs.items():
        if name not in names:
            raise InvalidSettings(f'"inputs" names {name!r}, which is no parameter.')
        for place in _places(places):
            _check_place(workflow, place)
    missing = sorted(names - set(inputs))
    if missing:
        raise InvalidSettings(f'"inputs" does not say where {", ".join(missing)} goes.')


def _places(places: Any) -> list[str]:
    found = [places] if isinstance(places, str) else places
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise InvalidSettings('"inputs" must name places as "node.input", or lists of these.')
    return found


def _check_place(workflow: Mapping[str, Any], place: str) -> None:
    node, _, name = place.rpartition(".")
    if node not in workflow or name not in workflow[node]["inputs"]:
        raise InvalidSettings(f"The workflow has no input {place!r}.")


def filled(settings: Mapping[str, Any], params: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the workflow with the parameters in their places.

    An open seed becomes one of the attempt's key: without a new one ComfyUI makes nothing anew.
    """
    workflow: dict[str, Any] = copy.deepcopy(dict(settings["workflow"]))
    for name, places in settings["inputs"].items():
        value = params.get(name)
        if value is None and name == "seed":
            value = int(key.replace("-", ""), 16) % 2**31
        if value is None:
            continue
        for place in _places(places):
            node, _, at = place.rpartition(".")
            workflow[node]["inputs"][at] = value
    return workflow
