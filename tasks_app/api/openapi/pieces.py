"""What operations share: parameters, headers, answers."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from tasks_app.api.openapi import problems

Node = dict[str, Any]

JSON: Final = "application/json"
PROBLEM: Final = "application/problem+json"

UUID_PATTERN: Final = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
KEY_PATTERN: Final = "^[!-~]{1,255}$"
NO_NUL: Final = "^[^\\u0000]*$"


def ref(kind: str, name: str) -> Node:
    """Return a reference to a component."""
    return {"$ref": f"#/components/{kind}/{name}"}


def schema(name: str) -> Node:
    """Return a reference to a schema."""
    return ref("schemas", name)


def nullable(kind: str, description: str = "", **more: Any) -> Node:
    """Return the schema of a value of a kind, or null."""
    said = {"description": description} if description else {}
    return {"type": [kind, "null"], **said, **more}


# --- parameters ----------------------------------------------------------------------------


def _parameter(
    name: str, place: str, description: str, of: Node, *, required: bool = False, **more: Any
) -> Node:
    return {
        "name": name,
        "in": place,
        "required": required,
        "description": description,
        "schema": of,
        **more,
    }


def query(name: str, description: str, of: Node, **more: Any) -> Node:
    """Return an optional parameter of the query."""
    return _parameter(name, "query", description, of, **more)


def listed(name: str, description: str, of: Node) -> Node:
    """Return a parameter that holds several values, separated by commas."""
    return query(name, description, of, style="form", explode=False)


def _id(name: str, what: str) -> Node:
    of = {"type": "string", "format": "uuid", "pattern": UUID_PATTERN}
    return _parameter(name, "path", what, of, required=True)


PARAMETERS: Final[Mapping[str, Node]] = {
    "TaskId": _id("task_id", "The task's id, in lower case."),
    "CallbackId": _id("callback_id", "The callback's id, in lower case."),
    "ArtifactId": _id("artifact_id", "The artifact's id, in lower case."),
    "Token": _parameter(
        "token",
        "path",
        "What the redirect of an artifact holds; made by the service, valid for minutes.",
        {"type": "string", "pattern": "^[^/\\u0000]+$"},
        required=True,
    ),
    "IdempotencyKey": _parameter(
        "Idempotency-Key",
        "header",
        "Stands for this request for 24 hours: sent again with the same body, it gives the same "
        "task. 1 to 255 visible ASCII characters, bare or in double quotes. May be sent in the "
        "body as `idempotency_key` instead; both must not differ.",
        {"type": "string", "pattern": '^(?!""$)("[!-~]{1,255}"|[!-~]{1,255})$'},
    ),
    "IfNoneMatch": _parameter(
        "If-None-Match",
        "header",
        "The `ETag` of an earlier answer: if nothing has changed since, the answer is 304.",
        {"type": "string"},
    ),
    "Range": _parameter(
        "Range",
        "header",
        "One range of bytes. What is malformed, or several ranges, is ignored.",
        {"type": "string"},
    ),
    "Download": query(
        "download",
        "`1`: the file is saved rather than shown.",
        {"type": "string", "enum": ["1", "0"]},
    ),
}


def parameter(name: str) -> Node:
    """Return a reference to a parameter."""
    return ref("parameters", name)


# --- headers -------------------------------------------------------------------------------


def _header(description: str, of: Node, *, required: bool = False) -> Node:
    return {"description": description, "required": required, "schema": of}


_TEXT: Final[Node] = {"type": "string"}
_SECONDS: Final[Node] = {"type": "integer", "minimum": 1}
_WAIT: Final = "Seconds to wait before asking again."
LIMITS: Final = ("submit", "open", "day", "month", "callback_tests")
_NAMES: Final = "|".join(LIMITS)


def _several(member: str) -> Node:
    """Return the schema of a list of members, as structured fields write it (RFC 9651)."""
    one = f'"({_NAMES})"{member}'
    return {"type": "string", "pattern": f"^{one}(, {one})*$"}


_LIMIT: Final = _several(r";r=\d+(;t=\d+)?")
_POLICY: Final = _several(r';q=\d+(;w=\d+|;qu="concurrent-requests")')
_CHALLENGE: Final[Node] = {"type": "string", "const": 'Bearer realm="darkroom"'}

HEADERS: Final[Mapping[str, Node]] = {
    "X-Request-Id": _header(
        "Names the request in the service's log: the one that the request had, if it is made of "
        "1 to 64 letters, digits, dots, hyphens and underscores, else a new one.",
        {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"},
        required=True,
    ),
    "Cache-Control": _header("Who may keep the answer, and for how long.", _TEXT, required=True),
    "ETag": _header("The version of what is answered.", _TEXT, required=True),
    "Location": _header(
        "The address of the task.", {"type": "string", "format": "uri-reference"}, required=True
    ),
    "Retry-After": _header(f"{_WAIT} Not there once a task has ended.", _SECONDS),
    "Idempotent-Replayed": _header(
        "The answer is about a task that an earlier request made.",
        {"type": "string", "const": "true"},
        required=True,
    ),
    "RateLimit": _header(
        "The limits that hold: what is left of each (`r`) and seconds until there is more (`t`). "
        "IETF draft-ietf-httpapi-ratelimit-headers-10.",
        _LIMIT,
    ),
    "RateLimit-Policy": _header(
        "The size of each (`q`) per window of seconds (`w`), or of what is open at the same time "
        "(`qu`).",
        _POLICY,
    ),
    "WWW-Authenticate": _header("How to authenticate.", _CHALLENGE, required=True),
    "Allow": _header("The methods of the address; not on every answer.", _TEXT),
    "Content-Range": _header("Which bytes, of how many.", _TEXT, required=True),
    "Accept-Ranges": _header("Ranges of bytes can be asked for.", _TEXT),
    "Content-Disposition": _header("Shown or saved, and the file's name.", _TEXT, required=True),
}


_ON_ANY: Final = ("X-Request-Id", "Allow")


def headers(*names: str) -> Node:
    """Return headers of an answer: those named (``Name!``: always there) and those of any."""
    found: Node = {name: ref("headers", name) for name in _ON_ANY}
    for name in names:
        bare = name.removesuffix("!")
        held = HEADERS[bare]
        always = name.endswith("!") and not held["required"]
        found[bare] = held | {"required": True} if always else ref("headers", bare)
    return found


# --- answers -------------------------------------------------------------------------------


def answer(
    description: str,
    of: Node | None = None,
    *,
    named: Iterable[str] = (),
    media_type: str = JSON,
    examples: Mapping[str, Any] | None = None,
    links: Mapping[str, Node] | None = None,
) -> Node:
    """Return an answer."""
    found: Node = {"description": description, "headers": headers(*named)}
    if of is not None:
        content: Node = {"schema": of}
        if examples:
            content["examples"] = {name: {"value": value} for name, value in examples.items()}
        found["content"] = {media_type: content}
    if links:
        found["links"] = dict(links)
    return found


_NAMED: Final[Mapping[int, tuple[str, ...]]] = {
    401: ("WWW-Authenticate",),
    405: ("Allow!",),
    416: ("Content-Range",),
    429: ("Retry-After!", "RateLimit!", "RateLimit-Policy!"),
    503: ("Retry-After!",),
}
_SAID: Final[Mapping[int, str]] = {
    400: "The request cannot be read.",
    401: "No valid API key, and no session.",
    403: "A session without its CSRF token.",
    404: "Not there, or not yours.",
    405: "Another method.",
    408: "The body did not come in time.",
    410: "The file has been removed.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    416: "No such range of bytes.",
    422: "The request does not fit; `errors` says why.",
    429: "A limit is reached. Nothing was spent.",
    500: "A mistake of the service.",
    503: "Something that this needs is away; try again.",
}


def problem_name(status: int) -> str:
    """Return the name of the component that answers with this status."""
    return f"Problem{status}"


def problem_answers() -> Node:
    """Return the answers that are problems, one for each status."""
    return {
        problem_name(status): answer(
            _SAID[status],
            {"allOf": [schema("Problem"), _codes(status)]},
            named=("Cache-Control", *_NAMED.get(status, ())),
            media_type=PROBLEM,
        )
        for status in problems.CODES
    }


def _codes(status: int) -> Node:
    codes = sorted(problems.CODES[status])
    found: Node = {"properties": {"status": {"const": status}, "code": {"enum": codes}}}
    if status == 429:
        found["required"] = ["limit"]
    return found


def refusals(*statuses: int) -> Node:
    """Return references to the problems of these statuses."""
    return {str(status): ref("responses", problem_name(status)) for status in statuses}
