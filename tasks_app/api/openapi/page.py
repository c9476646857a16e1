"""The document in the order in which a page shows it: values for the template, no markup."""

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from tasks_app.api.openapi.pieces import JSON, Node

_METHODS: Final = ("get", "post", "put", "delete")
_BOUNDS: Final = {
    "minimum": "≥ {}",
    "exclusiveMinimum": "> {}",
    "maximum": "≤ {}",
    "exclusiveMaximum": "< {}",
    "multipleOf": "multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "pattern": "{}",
}
_MAX_DEPTH: Final = 6


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value may be: words, and a schema to look at."""

    words: str
    target: str = ""
    """The name of the schema that is meant, if it has one."""


@dataclass(frozen=True, slots=True)
class Row:
    """A member, parameter or header."""

    name: str
    kind: Kind
    description: str = ""
    required: bool = False
    bounds: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    default: str = ""
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of an operation."""

    status: str
    phrase: str
    description: str
    kind: Kind | None
    headers: tuple[Row, ...]
    examples: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """A method of an address."""

    anchor: str
    method: str
    path: str
    summary: str
    description: str
    open: bool
    parameters: tuple[tuple[str, tuple[Row, ...]], ...]
    body: Kind | None
    body_note: str
    curl: str
    answers: tuple[Answer, ...]
    refusals: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """The operations of one tag."""

    name: str
    description: str
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class Schema:
    """A named schema."""

    name: str
    paragraphs: tuple[str, ...]
    meanings: tuple[tuple[str, str], ...]
    kind: Kind
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """Everything."""

    title: str
    version: str
    paragraphs: tuple[str, ...]
    points: tuple[str, ...]
    server: str
    groups: tuple[Group, ...]
    schemas: tuple[Schema, ...] = field(default=())


def of(document: Node) -> Page:
    """Return the page of a document."""
    info = document["info"]
    paragraphs, points = _split(info["description"])
    reader = _Reader(document)
    return Page(
        title=info["title"],
        version=info["version"],
        paragraphs=paragraphs,
        points=points,
        server=document["servers"][0]["url"],
        groups=tuple(reader.groups()),
        schemas=tuple(reader.schemas()),
    )


class _Reader:
    """Follows references within one document."""

    def __init__(self, document: Node) -> None:
        self._document = document

    def groups(self) -> Iterator[Group]:
        """Yield the operations, tag by tag."""
        for tag in self._document["tags"]:
            found = tuple(
                self._operation(path, method, item)
                for path, item in self._document["paths"].items()
                for method in item
                if method in _METHODS and tag["name"] in item[method]["tags"]
            )
            yield Group(tag["name"], tag["description"], found)

    def schemas(self) -> Iterator[Schema]:
        """Yield the named schemas, those of the generators last."""
        named: Mapping[str, Node] = self._document["components"]["schemas"]
        for name in sorted(named, key=lambda one: ("." in one, one)):
            node = named[name]
            paragraphs, points = _split(node.get("description", ""))
            pairs = [point.partition(": ") for point in points]
            meanings = tuple((code.strip("`"), said) for code, _, said in pairs)
            yield Schema(name, paragraphs, meanings, _kind(node), tuple(self._rows(node)))

    def _found(self, node: Node) -> Node:
        while "$ref" in node:
            target: Any = self._document
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part.replace("~1", "/").replace("~0", "~")]
            node = target
        return node

    # --- operations ------------------------------------------------------------------------

    def _operation(self, path: str, method: str, item: Node) -> Operation:
        node = item[method]
        given = [self._found(one) for one in [*item.get("parameters", []), *node["parameters"]]]
        body = node.get("requestBody")
        content = body["content"][JSON] if body else None
        needed = {True: "Required.", False: "Optional."}
        answers = {status: self._found(one) for status, one in node["responses"].items()}
        return Operation(
            anchor=node["operationId"],
            method=method.upper(),
            path=path,
            summary=node["summary"],
            description=node["description"],
            open=not node["security"],
            parameters=tuple(
                (place, rows)
                for place in ("path", "query", "header")
                if (rows := tuple(_parameter(one) for one in given if one["in"] == place))
            ),
            body=_kind(content["schema"]) if content else None,
            body_note=f"{needed[body['required']]} {body['description']}" if body else "",
            curl=self._curl(path, method, node, content),
            answers=tuple(self._answer(s, one) for s, one in answers.items() if int(s) < 400),
            refusals=tuple(
                (status, HTTPStatus(int(status)).phrase, self._codes(one))
                for status, one in answers.items()
                if int(status) >= 400
            ),
        )

    def _answer(self, status: str, node: Node) -> Answer:
        content: Node = next(iter(node.get("content", {}).values()), {})
        shown = content.get("examples", {}).items()
        links = node.get("links", {}).items()
        return Answer(
            status=status,
            phrase=HTTPStatus(int(status)).phrase,
            description=node["description"],
            kind=_kind(content["schema"]) if content.get("schema") else None,
            headers=tuple(_header(name, self._found(one)) for name, one in node["headers"].items()),
            examples=tuple((name, _pretty(one["value"])) for name, one in shown),
            links=tuple((name, one["operationId"], one["description"]) for name, one in links),
        )

    def _codes(self, node: Node) -> str:
        for content in node.get("content", {}).values():
            for part in content["schema"].get("allOf", []):
                codes = part.get("properties", {}).get("code", {}).get("enum", [])
                if codes:
                    return ", ".join(codes)
        return str(node["description"])

    def _curl(self, path: str, method: str, node: Node, content: Node | None) -> str:
        parts = ["curl -i" if method == "get" else f"curl -i -X {method.upper()}"]
        parts.append(f'"$DARKROOM_URL{path}"')
        if node["security"]:
            parts.append('-H "Authorization: Bearer $DARKROOM_API_KEY"')
        if content:
            body = next(iter(content["examples"].values()))["value"]
            parts.append("-H 'Content-Type: application/json'")
            parts.append(f"-d {shlex.quote(json.dumps(body, ensure_ascii=False))}")
        return " \\\n  ".join(parts)

    # --- schemas ---------------------------------------------------------------------------

    def _rows(self, node: Node, prefix: str = "", depth: int = 0) -> Iterator[Row]:
        for part in node.get("allOf", []):
            if "$ref" not in part:
                yield from self._rows(part, prefix, depth)
        required = node.get("required", [])
        for name, member in node.get("properties", {}).items():
            yield _row(f"{prefix}{name}", member, required=name in required, depth=depth)
            if depth < _MAX_DEPTH:
                yield from self._rows(member, f"{prefix}{name}.", depth + 1)


def _parameter(node: Node) -> Row:
    return _row(
        node["name"],
        node["schema"],
        required=node["required"],
        description=node["description"],
    )


def _header(name: str, node: Node) -> Row:
    said = node["description"]
    return _row(name, node["schema"], required=node["required"], description=said)


def _row(name: str, node: Node, *, required: bool, description: str = "", depth: int = 0) -> Row:
    inner: Node = node.get("items", {}) if node.get("type") == "array" else node
    default = json.dumps(node["default"], ensure_ascii=False) if "default" in node else ""
    return Row(
        name=name,
        kind=_kind(node),
        description=description or node.get("description", "") or _title(node),
        required=required,
        bounds=tuple(_bounds(node)),
        choices=tuple(str(one) for one in inner.get("enum", [])),
        default=default,
        depth=depth,
    )


def _bounds(node: Node) -> Iterator[str]:
    for key, said in _BOUNDS.items():
        # The name of a format says what its pattern does, and is easier to read.
        if key in node and not (key == "pattern" and "format" in node):
            yield said.format(node[key])


def _title(node: Node) -> str:
    return f"{node['title']}." if "title" in node else ""


def _kind(node: Node) -> Kind:
    """Say what a value may be."""
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        return Kind(name, name)
    if "const" in node:
        return Kind(json.dumps(node["const"]))
    for combined in ("oneOf", "anyOf", "allOf"):
        if combined in node:
            return _one_of([_kind(one) for one in node[combined] if "properties" not in one])
    if node.get("type") == "array":
        inner = _kind(node.get("items", {}))
        return Kind(f"array of {inner.words}", inner.target)
    words = node.get("type", "anything")
    said = " or ".join(words) if isinstance(words, list) else str(words)
    form = node.get("format", "")
    return Kind(f"{said} ({form})" if form and form != "textarea" else said)


def _one_of(kinds: list[Kind]) -> Kind:
    targets = {kind.target for kind in kinds if kind.target}
    words = " or ".join(dict.fromkeys(kind.words for kind in kinds))
    return Kind(words, targets.pop() if len(targets) == 1 else "")


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _split(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a description's paragraphs and the points of its list."""
    lines = [line for line in text.split("\n") if line]
    points = tuple(line[2:] for line in lines if line.startswith("- "))
    return tuple(line for line in lines if not line.startswith("- ")), points
