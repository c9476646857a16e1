"""Holding answers to the OpenAPI document: nothing that is not described, nothing left out."""

import json
import re
from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

Node = dict[str, Any]

CONTRACT_HEADERS = {
    "accept-ranges",
    "allow",
    "cache-control",
    "content-disposition",
    "content-range",
    "etag",
    "idempotent-replayed",
    "location",
    "ratelimit",
    "ratelimit-policy",
    "retry-after",
    "www-authenticate",
    "x-request-id",
}
"""What a caller may rely on; other headers are the business of servers and browsers."""


def found(document: Node, node: Node) -> Node:
    """Follow references."""
    while "$ref" in node:
        target: Any = document
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node


def operations(document: Node) -> list[tuple[str, str, Node]]:
    """Return all operations as (method, path, operation)."""
    return [
        (method.upper(), path, node)
        for path, item in document["paths"].items()
        for method, node in item.items()
        if method != "parameters"
    ]


def by_id(document: Node, name: str) -> Node:
    """Return one operation."""
    (node,) = [node for _, _, node in operations(document) if node["operationId"] == name]
    return node


def errors_of(document: Node, schema: Node, value: Any) -> list[str]:
    """Return what is wrong with a value; members that are not described are wrong, too."""
    named = document["components"]["schemas"]
    schemas = {name: _closed(node) for name, node in named.items()}
    schemas |= {f"{name}-open": _inner(node) for name, node in named.items()}
    root = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "components": {"schemas": schemas},
        **_closed(schema),
    }
    validator = Draft202012Validator(root, format_checker=FormatChecker())
    return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(value)]


def _closed(node: Any) -> Any:
    """Forbid members that a schema does not describe.

    ``unevaluatedProperties`` sees through references and combinations, and a schema that is
    itself a part of a combination is left open for the others.
    """
    if isinstance(node, list):
        return [_closed(one) for one in node]
    if not isinstance(node, dict):
        return node
    result = {
        name: [_inner(one) for one in value] if name == "allOf" else _closed(value)
        for name, value in node.items()
    }
    describes = isinstance(node.get("properties"), dict) and node.get("type") == "object"
    if describes or "allOf" in node:
        result.setdefault("unevaluatedProperties", False)
    return result


def _inner(node: Node) -> Node:
    """A part of a combination: what it refers to must not forbid what the others describe."""
    if "$ref" in node:
        return {"$ref": node["$ref"] + "-open"}
    return {name: _closed(value) for name, value in node.items()}


def complaints(document: Node, method: str, path: str, answer: "Answer") -> list[str]:
    """Return how an answer differs from what the document says of it."""
    node = document["paths"][path][method.lower()]["responses"].get(str(answer.status))
    if node is None:
        return [f"status {answer.status} is not described"]
    described = found(document, node)
    return [
        f"{method} {path} {answer.status}: {one}"
        for one in _of_headers(document, described, answer) + _of_body(document, described, answer)
    ]


class Answer:
    """An answer of any client."""

    def __init__(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        self.status = status
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.content = content


def _of_headers(document: Node, described: Node, answer: Answer) -> list[str]:
    said: list[str] = []
    named = {name.lower(): found(document, one) for name, one in described["headers"].items()}
    for name, header in named.items():
        if name not in answer.headers:
            said += [f"{name} is missing"] if header["required"] else []
            continue
        value: Any = answer.headers[name]
        if header["schema"].get("type") == "integer":
            value = int(value) if re.fullmatch(r"\d+", value) else value
        said += [f"{name}: {one}" for one in errors_of(document, header["schema"], value)]
    present = CONTRACT_HEADERS & set(answer.headers)
    return said + [f"{name} is not described" for name in sorted(present - set(named))]


def _of_body(document: Node, described: Node, answer: Answer) -> list[str]:
    content: Node = described.get("content", {})
    if not content:
        return ["there is a body"] if answer.content else []
    kind = answer.headers.get("content-type", "").partition(";")[0]
    if kind not in content:
        return [f"{kind!r} is not described"]
    if "json" not in kind:
        return []
    return errors_of(document, content[kind]["schema"], json.loads(answer.content))
