"""A workflow as a template: which inputs of which nodes callers may set, and how."""

import copy
import json
from collections.abc import Mapping
from typing import Any, Final

from tasks_app.generators.errors import InvalidSettings

_MOST_NODES: Final = 2_000
_PREFIX: Final = "filename_prefix"
"""The input under which nodes that save files take the beginning of their names."""


def check(settings: Mapping[str, Any], names: set[str]) -> None:
    """Raise ``InvalidSettings`` unless workflow and inputs fit; ``names`` are the parameters'."""
    workflow, inputs = _template(settings), settings.get("inputs")
    if not 0 < len(workflow) <= _MOST_NODES:
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


def _template(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the workflow, which may be the text of the exported file; empty for anything else."""
    given = settings.get("workflow")
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            given = None
    return given if isinstance(given, dict) else {}


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

    Files that it saves get the attempt's key into their names. Without that a node which was asked
    for the same before saves nothing and names the file of that time, under which something else
    may lie by now: once its folder was cleared, ComfyUI counts from 1 again.
    """
    workflow = copy.deepcopy(_template(settings))
    for name, places in settings["inputs"].items():
        value = params.get(name)
        if value is None and name == "seed":
            value = seed(settings, params, key)
        if value is None:
            continue
        for place in _places(places):
            node, _, at = place.rpartition(".")
            workflow[node]["inputs"][at] = value
    for node in workflow.values():
        prefix = node["inputs"].get(_PREFIX)
        if isinstance(prefix, str):
            node["inputs"][_PREFIX] = f"{prefix}_{key}"
    return workflow


def seed(settings: Mapping[str, Any], params: Mapping[str, Any], key: str) -> int | None:
    """Return the seed that an attempt runs with; None: the workflow has no place for one.

    An open seed becomes one of the attempt's key: without a new one ComfyUI makes nothing anew.
    """
    if "seed" not in settings["inputs"]:
        return None
    given = params.get("seed")
    if given is None:
        return int(key.replace("-", ""), 16) % 2**31
    return given if type(given) is int and abs(given) < 2**63 else None


def is_callers(settings: Mapping[str, Any], node: str, name: str) -> bool:
    """Whether a parameter sets that input of that node."""
    places = settings["inputs"].values()
    return any(f"{node}.{name}" in _places(one) for one in places)
