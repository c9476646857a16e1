"""What the enabled generators add: a schema of parameters each, and of submissions to them.

A submission is told apart by ``generator``. The number of generators and the size of a schema
are bounded: what is beyond is described in general words, and accepted all the same.
"""

from collections.abc import Sequence
from typing import Any, Final

import orjson

from tasks_app.api.openapi import schemas
from tasks_app.api.openapi.pieces import Node, schema

MAX_GENERATORS: Final = 50
MAX_SCHEMA_BYTES: Final = 64 * 1024

_ANY_PARAMS: Final[Node] = {"type": "object", "description": "Parameters of the generator."}


def components(generators: Sequence[dict[str, Any]]) -> dict[str, Node]:
    """Return the schemas of parameters and submissions, and ``Submission``, which is any."""
    described = {one["name"]: one["params_schema"] for one in generators if _small(one)}
    names = sorted(described)[:MAX_GENERATORS]
    found: dict[str, Node] = {}
    for name in names:
        found[f"Params.{name}"] = _embedded(described[name], f"#/components/schemas/Params.{name}")
        found[f"Submission.{name}"] = schemas.submission(
            {"type": "string", "enum": [name]},
            schema(f"Params.{name}"),
            ["params"] if described[name].get("required") else [],
            f"A task for the generator `{name}`.",
        )
    if len(names) < len(generators) or not names:
        return found | {"Submission": _some(names), "SubmissionOther": _other(names)}
    return found | {"Submission": _one_of(names)}


def _small(generator: dict[str, Any]) -> bool:
    return len(orjson.dumps(generator["params_schema"])) <= MAX_SCHEMA_BYTES


def _other(names: list[str]) -> Node:
    generator: Node = {"allOf": [schema("GeneratorName")]}
    if names:
        generator["not"] = {"enum": names}
    said = "A task for a generator whose parameters are not described here."
    return schemas.submission(generator, _ANY_PARAMS, [], said)


def _some(names: list[str]) -> Node:
    """Without a discriminator: a name that it does not map would be taken for a schema's."""
    variants = [schema(f"Submission.{name}") for name in names]
    return {"oneOf": [*variants, schema("SubmissionOther")]}


def _one_of(names: list[str]) -> Node:
    mapping = {name: f"#/components/schemas/Submission.{name}" for name in names}
    return {
        "oneOf": [schema(f"Submission.{name}") for name in names],
        "discriminator": {"propertyName": "generator", "mapping": mapping},
    }


def _embedded(node: Any, base: str) -> Any:
    """Return a schema as a part of a larger document: its own references begin at ``base``."""
    if isinstance(node, list):
        return [_embedded(one, base) for one in node]
    if not isinstance(node, dict):
        return node
    found = {
        name: _embedded(value, base)
        for name, value in node.items()
        if not (name in ("$schema", "$id") and isinstance(value, str))
    }
    target = found.get("$ref")
    if isinstance(target, str) and (target == "#" or target.startswith("#/")):
        found["$ref"] = base + target[1:]
    return found
