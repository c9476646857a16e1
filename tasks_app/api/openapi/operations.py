"""The addresses: what each takes and answers, and where its answers lead."""

from collections.abc import Mapping
from typing import Any, Final

from tasks_app.api.openapi import examples
from tasks_app.api.openapi.pieces import (
    JSON,
    NO_NUL,
    UUID_PATTERN,
    Node,
    answer,
    listed,
    parameter,
    query,
    refusals,
    schema,
)
from tasks_app.api.wishes import MAX_IDS, MAX_PAGE, MAX_QUERY
from tasks_app.results import store

TAGS: Final[Mapping[str, str]] = {
    "Tasks": "Submit, poll, list, cancel, retry.",
    "Results": "The files of a task.",
    "Callbacks": "Being told instead of asking: what was told, and where to.",
    "Offers": "What can be asked for, and within which limits.",
    "Service": "What describes the service and how it is.",
}

ALSO_SERVED: Final = ["HEAD", "OPTIONS"]
"""Served wherever they make sense, and not repeated for each address."""

_EVERYWHERE: Final = (400, 401, 500, 503)
_KEYED: Final[list[dict[str, list[str]]]] = [{"apiKey": []}, {"session": []}]
_KEYED_WRITE: Final[list[dict[str, list[str]]]] = [{"apiKey": []}, {"session": [], "csrf": []}]
_TASK: Final = ("Cache-Control", "ETag", "Retry-After")
_MOMENT: Final[Node] = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$",
}


def _operation(
    name: str,
    tag: str,
    summary: str,
    description: str,
    responses: Node,
    *,
    parameters: tuple[Node, ...] = (),
    body: Node | None = None,
    security: list[dict[str, list[str]]] = _KEYED,
) -> Node:
    found: Node = {
        "operationId": name,
        "tags": [tag],
        "summary": summary,
        "description": description,
        "parameters": list(parameters),
        "responses": responses,
        "security": security,
    }
    return found if body is None else found | {"requestBody": body}


def _body(of: Node, description: str, example: Any, *, required: bool) -> Node:
    content = {"schema": of, "examples": {"request": {"value": example}}}
    return {"required": required, "description": description, "content": {JSON: content}}


# --- links ---------------------------------------------------------------------------------


def _link(operation: str, description: str, **parameters: str) -> Node:
    return {"operationId": operation, "description": description, "parameters": parameters}


def _task_links(place: str, *leave_out: str) -> Node:
    """Return links to everything that can be done with the task whose id is at ``place``."""
    every = {
        "poll": _link("getTask", "Read it again.", task_id=place),
        "cancel": _link("cancelTask", "Cancel it.", task_id=place),
        "retry": _link("retryTask", "Once it has ended: ask for the same again.", task_id=place),
        "events": _link("listEvents", "Its history.", task_id=place),
        "removeResult": _link("removeResult", "Once it is a success: delete.", task_id=place),
    }
    return {name: link for name, link in every.items() if name not in leave_out}


_OF_TASK: Final = _task_links("$response.body#/task_id")
_FIRST_FILE: Final = "$response.body#/result/artifacts/0/artifact_id"
_TO_FILES: Final[Node] = {
    "file": _link("getArtifact", "Its first file.", artifact_id=_FIRST_FILE),
    "thumbnail": _link("getThumbnail", "A small picture of it.", artifact_id=_FIRST_FILE),
}


# --- tasks ---------------------------------------------------------------------------------


def _accepted(description: str, example: Any) -> Node:
    return answer(
        description,
        schema("Task"),
        named=(*_TASK, "Location", "RateLimit", "RateLimit-Policy"),
        examples={"pending": example},
        links=_OF_TASK,
    )


def _replayed() -> Node:
    return answer(
        "An earlier request with this key made a task: this is how it is now.",
        schema("ReusedTask"),
        named=(*_TASK, "Location", "Idempotent-Replayed"),
        examples={"running": examples.REUSED},
        links=_OF_TASK,
    )


def _one_task(description: str, links: Node, **shown: Any) -> Node:
    return answer(description, schema("Task"), named=_TASK, examples=shown, links=links)


def _submit() -> Node:
    return _operation(
        "submitTask",
        "Tasks",
        "Submit a task",
        "Answers at once; the task waits, runs and ends in the background. Send an idempotency "
        "key, and the same request can be sent again whenever the answer is lost: there will be "
        "one task. A refused request costs nothing and uses no key up.",
        {
            "202": _accepted("Accepted: nothing accepted is lost.", examples.PENDING),
            "200": _replayed(),
            **refusals(*_EVERYWHERE, 403, 408, 413, 415, 422, 429),
        },
        parameters=(parameter("IdempotencyKey"),),
        body=_body(
            schema("Submission"),
            "The generator and its parameters.",
            examples.SUBMISSION,
            required=True,
        ),
        security=_KEYED_WRITE,
    )


def _list() -> Node:
    first = "$response.body#/items/0/"
    return _operation(
        "listTasks",
        "Tasks",
        "List own tasks",
        "Newest first, in pages; or those with `ids`, in that order. `ids` goes with no other "
        "parameter, and each is given once.",
        {
            "200": answer(
                "Tasks. `Retry-After` is there while one of them has not ended.",
                schema("TaskPage"),
                named=("Cache-Control", "Retry-After"),
                examples={"page": examples.PAGE},
                links=_task_links(f"{first}task_id")
                | {"next": _link("listTasks", "Go on.", cursor="$response.body#/next_cursor")},
            ),
            **refusals(*_EVERYWHERE, 422),
        },
        parameters=_listing(),
    )


def _listing() -> tuple[Node, ...]:
    ids: Node = {
        "type": "array",
        "maxItems": MAX_IDS,
        "items": {"type": "string", "pattern": UUID_PATTERN},
    }
    return (
        listed("ids", "Ids of tasks; those that are not yours are left out.", ids),
        listed("status", "States.", {"type": "array", "items": schema("State")}),
        listed(
            "error_code",
            "Codes of errors: tasks that ended with one of them.",
            {"type": "array", "items": schema("ErrorCode")},
        ),
        query("generator", "The name of a generator.", {"type": "string", "pattern": NO_NUL}),
        query(
            "q",
            "Words that all occur in the prompt, in any case and order; at most 8.",
            {"type": "string", "minLength": 1, "maxLength": MAX_QUERY, "pattern": r"[^\s\u0000]"},
        ),
        query("created_after", "Submitted at this time or later.", _MOMENT),
        query("created_before", "Submitted before this time.", _MOMENT),
        query(
            "cursor",
            "`next_cursor` of the page before.",
            {"type": "string", "format": "uuid", "pattern": UUID_PATTERN},
        ),
        query(
            "limit",
            "How many.",
            {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 20},
        ),
    )


def _get() -> Node:
    return _operation(
        "getTask",
        "Tasks",
        "Poll a task",
        "Cheap. Wait `Retry-After` seconds between two polls, and send `If-None-Match`.",
        {
            "200": _one_task(
                "The task as it is now.",
                {**{n: one for n, one in _OF_TASK.items() if n != "poll"}, **_TO_FILES},
                pending=examples.PENDING,
                running=examples.RUNNING,
                success=examples.SUCCESS,
                canceled=examples.CANCELED,
            ),
            "304": answer("Nothing has changed since the answer with this `ETag`.", named=_TASK),
            **refusals(*_EVERYWHERE, 404),
        },
        parameters=(parameter("IfNoneMatch"),),
    )


def _cancel() -> Node:
    return _operation(
        "cancelTask",
        "Tasks",
        "Cancel a task",
        "A task that has ended stays as it is, so repeating this changes nothing. The task is "
        "not deleted.",
        {
            "200": _one_task(
                "The task: canceled, or as it had ended before.",
                _task_links("$response.body#/task_id", "cancel"),
                canceled=examples.CANCELED,
            ),
            **refusals(*_EVERYWHERE, 403, 404),
        },
        security=_KEYED_WRITE,
    )


def _retry() -> Node:
    return _operation(
        "retryTask",
        "Tasks",
        "Retry a task",
        "Submits the request of a task that has ended once more, as a new task.",
        {
            "202": _accepted("A new task with `retry_of`.", examples.RETRIED),
            "200": _replayed(),
            **refusals(*_EVERYWHERE, 403, 404, 408, 413, 415, 422, 429),
        },
        parameters=(parameter("IdempotencyKey"),),
        body=_body(
            schema("RetryRequest"),
            "May be left out.",
            {"idempotency_key": "order-7-again"},
            required=False,
        ),
        security=_KEYED_WRITE,
    )


def _events() -> Node:
    return _operation(
        "listEvents",
        "Tasks",
        "Read a task's history",
        "What happened to a task, oldest first.",
        {
            "200": answer(
                "The history.",
                schema("EventList"),
                named=("Cache-Control",),
                examples={"claimed": examples.EVENTS},
            ),
            **refusals(*_EVERYWHERE, 404),
        },
    )


# --- results -------------------------------------------------------------------------------


def _remove() -> Node:
    return _operation(
        "removeResult",
        "Results",
        "Delete a result",
        "Deletes the files. The task stays a success, with a tombstone in `result.removed_at`. "
        "Repeating this changes nothing.",
        {
            "200": _one_task(
                "The task without its files.",
                _task_links("$response.body#/task_id", "removeResult"),
                removed=examples.REMOVED,
            ),
            **refusals(*_EVERYWHERE, 403, 404, 422),
        },
        security=_KEYED_WRITE,
    )


def _artifact(name: str, summary: str, what: str) -> Node:
    redirect = answer(f"To {what}, by a link that works for minutes.", named=("Cache-Control",))
    redirect["headers"]["Location"] = {
        "description": "The link; it needs no API key.",
        "required": True,
        "schema": {"type": "string", "pattern": "^/files/.+"},
    }
    return _operation(
        name,
        "Results",
        summary,
        "The address stays the same as long as the result is kept; what it leads to does not.",
        {"302": redirect, **refusals(*_EVERYWHERE, 404, 410, 422)},
        parameters=(parameter("Download"),),
    )


def _file() -> Node:
    binary: Node = {kind: {"schema": {}} for kind in store.EXTENSIONS}
    named = ("Cache-Control", "Content-Disposition", "Accept-Ranges")
    whole = answer("The file.", named=named) | {"content": binary}
    part = answer("A part of the file.", named=(*named, "Content-Range")) | {"content": binary}
    return _operation(
        "getFile",
        "Results",
        "Download a file",
        "Where an artifact redirects to. Whoever holds the link may use it while it works.",
        {"200": whole, "206": part, **refusals(400, 404, 410, 416, 500, 503)},
        parameters=(parameter("Range"),),
        security=[],
    )


# --- offers, service -----------------------------------------------------------------------


def _generators() -> Node:
    return _operation(
        "listGenerators",
        "Offers",
        "List the generators",
        "What can be asked for, with the JSON Schema of its parameters.",
        {
            "200": answer("The generators.", schema("GeneratorList"), named=("Cache-Control",)),
            **refusals(*_EVERYWHERE),
        },
    )


def _account() -> Node:
    return _operation(
        "getAccount",
        "Offers",
        "Read own limits",
        "Plan, limits and what of them is used.",
        {
            "200": answer(
                "The account.",
                schema("Account"),
                named=("Cache-Control",),
                examples={"account": examples.ACCOUNT},
            ),
            **refusals(*_EVERYWHERE),
        },
    )


def _schema() -> Node:
    return _operation(
        "getSchema",
        "Service",
        "Read this document",
        "OpenAPI 3.1, with the parameters of the generators that are on offer now.",
        {
            "200": answer("The document.", {"type": "object"}, named=("Cache-Control", "ETag")),
            "304": answer("It is still the one with this `ETag`.", named=("Cache-Control", "ETag")),
            **refusals(400, 500, 503),
        },
        parameters=(parameter("IfNoneMatch"),),
        security=[],
    )


def _docs() -> Node:
    page = answer("The page.", {"type": "string"}, named=("Cache-Control",), media_type="text/html")
    return _operation(
        "getDocs",
        "Service",
        "Read this document as a page",
        "For people. It loads nothing from elsewhere.",
        {"200": page, **refusals(400, 500, 503)},
        security=[],
    )


def _health(name: str, address: str, summary: str, of: Node, *, ready: bool) -> Node:
    responses: Node = {"200": answer("Yes.", of)}
    if ready:
        responses["503"] = answer("No; it says what is missing.", of)
    return _operation(
        name,
        "Service",
        summary,
        f"`{address}` is for load balancers and supervisors.",
        {**responses, **refusals(400, 500)},
        security=[],
    )


def _status(*names: str) -> Node:
    return {
        "type": "object",
        "required": list(names),
        "properties": {name: {"type": "string"} for name in names},
    }


def paths() -> Node:
    """Return all addresses."""
    task, artifact = [parameter("TaskId")], [parameter("ArtifactId")]
    found: Node = {
        "/v1/tasks": {"post": _submit(), "get": _list()},
        "/v1/tasks/{task_id}": {"parameters": task, "get": _get(), "delete": _cancel()},
        "/v1/tasks/{task_id}/retry": {"parameters": task, "post": _retry()},
        "/v1/tasks/{task_id}/events": {"parameters": task, "get": _events()},
        "/v1/tasks/{task_id}/result": {"parameters": task, "delete": _remove()},
        "/v1/artifacts/{artifact_id}": {
            "parameters": artifact,
            "get": _artifact("getArtifact", "Get a file", "the file"),
        },
        "/v1/artifacts/{artifact_id}/thumbnail": {
            "parameters": artifact,
            "get": _artifact("getThumbnail", "Get a small picture of a file", "the picture"),
        },
        "/files/{token}": {"parameters": [parameter("Token")], "get": _file()},
        "/v1/generators": {"get": _generators()},
        "/v1/account": {"get": _account()},
        "/v1/schema": {"get": _schema()},
        "/v1/docs": {"get": _docs()},
        "/healthz": {
            "get": _health(
                "getHealth", "/healthz", "Does it answer?", _status("status"), ready=False
            )
        },
        "/readyz": {
            "get": _health(
                "getReadiness",
                "/readyz",
                "Can it serve?",
                _status("status", "database", "redis"),
                ready=True,
            )
        },
    }
    return found
