"""The bodies of answers, and the parts of requests that no generator decides."""

from typing import Any, Final

from tasks_app.api import wishes
from tasks_app.api.openapi import problems
from tasks_app.api.openapi.pieces import (
    KEY_PATTERN,
    LIMITS,
    NO_NUL,
    UUID_PATTERN,
    Node,
    nullable,
    schema,
)
from tasks_app.api.parsing import MAX_NUMBER
from tasks_app.lifecycle import ERROR_SENTENCES, ErrorCode, EventKind, Priority, State, Wait
from tasks_app.models.callbacks import MOST_URL
from tasks_app.models.generators import NAME_PATTERN

_ID: Final[Node] = {"type": "string", "format": "uuid", "pattern": UUID_PATTERN}
_TIME: Final[Node] = {"type": "string", "format": "date-time"}
_URL: Final[Node] = {"type": "string", "format": "uri"}
_PATH: Final[Node] = {"type": "string", "format": "uri-reference"}


def record(description: str, /, optional: tuple[str, ...] = (), **members: Node) -> Node:
    """Return the schema of an answer's object; members are there unless named as optional."""
    return {
        "type": "object",
        "description": description,
        "required": [name for name in members if name not in optional],
        "properties": members,
    }


def text(description: str, **more: Any) -> Node:
    """Return the schema of a string."""
    return {"type": "string", "description": description, **more}


def number(kind: str, description: str, minimum: float | None = 0, **more: Any) -> Node:
    """Return the schema of a number."""
    bound = {} if minimum is None else {"minimum": minimum}
    return {"type": kind, "description": description, **bound, **more}


def address(description: str) -> Node:
    """Return the schema of where callbacks shall go, or null."""
    bounds = {"minLength": 1, "maxLength": MOST_URL, "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://"}
    return nullable("string", description, **bounds)


def moment(description: str) -> Node:
    """Return the schema of a time, or null."""
    return nullable("string", description, format="date-time")


def _lines(said: dict[str, str]) -> str:
    return "\n".join(f"- `{name}`: {sentence}" for name, sentence in said.items())


_STATES: Final = {
    State.PENDING: "waiting; `waiting_for` says for what",
    State.RUNNING: "being generated; `progress` says how far",
    State.SUCCESS: "ended; `result` has the files",
    State.FAILED: "ended without a result; `error` says why",
    State.TIMEOUT: "ended because a time was over; `error` says which",
}
_WAITS: Final = {
    Wait.SLOTS: "others are running; it is a matter of time",
    Wait.YOUR_LIMIT: "the account runs as many tasks as it may at once",
    Wait.NO_WORKER: "no worker serves the generator at the moment",
    Wait.PAUSED: "staff has paused the generator",
    Wait.UPSTREAM: "waiting before another attempt",
    Wait.STORAGE: "results cannot be stored at the moment, so nothing is started",
}


def _small() -> dict[str, Node]:
    return {
        "State": text(
            "The state of a task. The last three are final.\n\n"
            + _lines({state.value: _STATES[state] for state in State}),
            enum=[state.value for state in State],
        ),
        "Wait": text(
            "Why a pending task has not started.\n\n"
            + _lines({wait.value: _WAITS[wait] for wait in Wait}),
            enum=[wait.value for wait in Wait],
        ),
        "Priority": text(
            "How urgent the owner says a task is; it scales the owner's share.",
            enum=[priority.value for priority in Priority],
        ),
        "ErrorCode": text(
            "Why a task ended without a result. The list is closed.\n\n"
            + _lines({code.value: ERROR_SENTENCES[code] for code in ErrorCode}),
            enum=[code.value for code in ErrorCode],
        ),
        "GeneratorName": text("The name of a generator.", pattern=NAME_PATTERN),
    }


def _tasks() -> dict[str, Node]:
    return {
        "TaskError": record(
            "Why a task ended without a result.",
            code=schema("ErrorCode"),
            message=text("A sentence, and what is known about this case."),
            retryable={"type": "boolean", "description": "Whether a retry may help."},
        ),
        "Artifact": record(
            "One file of a result.",
            artifact_id=_ID,
            url=_URL | {"description": "Redirects its owner to the file."},
            media_type=text("The file's media type."),
            width=number("integer", "In pixels.", 1),
            height=number("integer", "In pixels.", 1),
            duration_seconds=nullable("number", "The length of a video; null for a picture."),
            bytes=number("integer", "The size of the file.", 1),
            sha256=text("The SHA-256 of the file.", pattern="^[0-9a-f]{64}$"),
            seed=nullable("integer", "What to send as `seed` to get the same again."),
            thumbnail_url=_URL | {"description": "Redirects its owner to a small picture."},
        ),
        "Result": record(
            "What a task produced.",
            artifacts={
                "type": "array",
                "description": "The files; none once they have been removed.",
                "items": schema("Artifact"),
            },
            expires_at=moment("Until when the files are kept."),
            removed_at=moment("Since when there are no files any more; null: they are there."),
        ),
        "Links": record(
            "Where to go from here.",
            self=_PATH,
            events=_PATH,
            retry=_PATH,
        ),
        "Task": _task(),
        "ReusedTask": {
            "description": "A task that an earlier request with the same idempotency key made.",
            "allOf": [
                schema("Task"),
                {
                    "type": "object",
                    "required": ["reused"],
                    "properties": {"reused": {"type": "boolean", "const": True}},
                },
            ],
        },
        "TaskPage": record(
            "Tasks, newest first.",
            items={"type": "array", "items": schema("Task")},
            next_cursor=nullable(
                "string",
                "The `cursor` of the next page; null: this is the last one. A page of a search "
                "may hold fewer tasks than `limit`, or none, and still have a next one.",
                format="uuid",
            ),
        ),
        "Event": record(
            "A line of a task's history.",
            event_id=text("Its id."),
            at=_TIME,
            kind=text("What happened.", enum=[kind.value for kind in EventKind]),
            attempt=number("integer", "The attempt; 0 before the first."),
            data={"type": "object", "description": "More about it, by kind."},
        ),
        "EventList": record(
            "A task's history, oldest first; at most 500 lines.",
            items={"type": "array", "items": schema("Event")},
        ),
    }


def _task() -> Node:
    return record(
        "One generation request and what became of it.",
        task_id=_ID,
        status=schema("State"),
        generator=schema("GeneratorName"),
        kind=text("What the generator makes: `image`, `video`."),
        priority=schema("Priority"),
        params={"type": "object", "description": "The parameters, defaults filled in."},
        metadata={"type": "object", "description": "The caller's own JSON, as it was sent."},
        progress=number("integer", "In percent; it never falls within an attempt.", maximum=100),
        queue_position=nullable("integer", "From 1; null: not waiting, or not known.", minimum=1),
        waiting_for={
            "description": "Why it has not started; null: not waiting, or not known.",
            "oneOf": [schema("Wait"), {"type": "null"}],
        },
        eta_seconds=nullable("integer", "A guess at the seconds that are left.", minimum=1),
        attempt=number("integer", "The attempt; 0 before the first."),
        degraded={"type": "boolean", "description": "Whether another generator stood in."},
        result={
            "description": "There in state `success`.",
            "oneOf": [schema("Result"), {"type": "null"}],
        },
        error={
            "description": "There in the states `failed` and `timeout`.",
            "oneOf": [schema("TaskError"), {"type": "null"}],
        },
        retry_of=nullable("string", "The task that this one repeats.", format="uuid"),
        created_at=_TIME,
        started_at=moment("When the current attempt started."),
        finished_at=moment("When it ended."),
        deadline_at=moment("When a running task times out."),
        links=schema("Links"),
    )


def _offers() -> dict[str, Node]:
    return {
        "Generator": record(
            "What can be asked for.",
            name=schema("GeneratorName"),
            title=text("For people."),
            description=text("For people."),
            kind=text("What it makes: `image`, `video`."),
            paused={"type": "boolean", "description": "Accepts tasks, starts none."},
            expected_seconds=number("number", "How long one takes, at a first guess."),
            timeout_seconds=number("number", "How long one may take."),
            params_schema={
                "type": "object",
                "description": "The JSON Schema (2020-12) of `params`. Also in this document, as "
                "`Params.<name>`.",
            },
        ),
        "GeneratorList": record(
            "The generators on offer.",
            items={"type": "array", "items": schema("Generator")},
        ),
        "Account": record(
            "The caller's limits and what of them is used.",
            user=text("The name of the user."),
            plan=text("The name of the plan."),
            weight=number("number", "The share, compared with others."),
            limits=record(
                "The limits.",
                open=_limit("Pending and running tasks."),
                running=_limit("Running tasks."),
                submit=record(
                    "How fast tasks may be submitted.",
                    interval_seconds=number("number", "One more every so many seconds; 0: any."),
                    burst=number("integer", "How many at once."),
                    remaining=number("integer", "How many right now."),
                    retry_after=number("number", "Seconds until one may be submitted."),
                ),
                day=_counted("Tasks of today, from midnight to midnight UTC."),
                month=_counted("Tasks of this month, from its first midnight UTC."),
                priorities={
                    "type": "array",
                    "description": "What may be asked for, the highest first.",
                    "items": schema("Priority"),
                },
                n=nullable("integer", "Most pictures per task; null: what the generator makes."),
                side=nullable(
                    "integer",
                    "Most pixels of a side; null: what the generator makes.",
                ),
                max_wait=number("number", "Most seconds that a task may wait."),
                result_days=number("number", "For how many days results are kept."),
            ),
        ),
    }


def _counted(description: str) -> Node:
    return record(
        description + " What was not delivered does not count.",
        limit=nullable("integer", "How many there may be; null: any number."),
        used=number("integer", "How many count."),
        resets_at=moment("When it begins anew."),
    )


def _limit(description: str) -> Node:
    return record(
        description,
        limit=number("integer", "How many there may be."),
        used=number("integer", "How many there are."),
    )


def _problems() -> dict[str, Node]:
    codes = {code: said for table in problems.CODES.values() for code, said in table.items()}
    return {
        "Problem": record(
            "An error (RFC 9457).",
            ("errors", "limit"),
            type=text("`urn:darkroom:problem:` and the code.", format="uri"),
            title=text("The kind of error, for people."),
            status={"type": "integer", "description": "The status of the answer."},
            detail=text("What went wrong here, for people."),
            code=text(
                "What went wrong, for programs. The list is closed.\n\n" + _lines(codes),
                enum=sorted(codes),
            ),
            request_id=text("Names the request in the service's log."),
            errors={"type": "array", "items": schema("FieldError")},
            limit=record(
                "The limit that is reached.",
                name=text("Which one.", enum=sorted(LIMITS)),
                size=number("integer", "How large it is."),
                used=number("integer", "How much of it is used."),
                retry_after=number("integer", "Seconds until it is worth to ask again."),
                resets_at=nullable(
                    "string",
                    "When there is more; null: when one of the open tasks has ended.",
                    format="date-time",
                ),
            ),
        ),
        "FieldError": record(
            "What is wrong with one field or parameter.",
            pointer=text("A JSON Pointer into the body, or `/` and the name of a parameter."),
            detail=text("For people."),
            code=text(
                "For programs. The list is closed.\n\n" + _lines(dict(problems.FIELD_CODES)),
                enum=sorted(problems.FIELD_CODES),
            ),
        ),
    }


def _requests() -> dict[str, Node]:
    return {
        "Metadata": {
            "type": "object",
            "description": f"The caller's own JSON, at most {wishes.MAX_METADATA_BYTES} bytes and "
            "32 levels deep.",
            "propertyNames": {"pattern": NO_NUL},
            "additionalProperties": schema("MetadataValue"),
        },
        "MetadataValue": {
            "description": "Any JSON, without NUL characters and numbers beyond 64 bits.",
            "anyOf": [
                {"type": ["boolean", "null"]},
                {"type": "number", "exclusiveMinimum": -MAX_NUMBER, "exclusiveMaximum": MAX_NUMBER},
                {"type": "string", "pattern": NO_NUL},
                {"type": "array", "items": schema("MetadataValue")},
                {
                    "type": "object",
                    "propertyNames": {"pattern": NO_NUL},
                    "additionalProperties": schema("MetadataValue"),
                },
            ],
        },
        "IdempotencyKey": nullable(
            "string", "The idempotency key, if it is not sent as a header.", pattern=KEY_PATTERN
        ),
        "RetryRequest": {
            "type": "object",
            "description": "Nothing but an idempotency key, if it is not sent as a header.",
            "properties": {"idempotency_key": schema("IdempotencyKey")},
            "additionalProperties": False,
        },
    }


def submission(generator: Node, params: Node, required: list[str], description: str) -> Node:
    """Return the schema of a submission to one generator."""
    return {
        "type": "object",
        "description": description,
        "required": ["generator", *required],
        "additionalProperties": False,
        "properties": {
            "generator": generator,
            "params": params,
            "priority": {"allOf": [schema("Priority")], "default": Priority.NORMAL.value},
            "max_wait": nullable(
                "number",
                "How many seconds it may wait before it is given up; null: the service's own "
                "limit.",
                minimum=1,
                maximum=wishes.MAX_WAIT_CEILING,
            ),
            "allow_degraded": {
                "type": "boolean",
                "default": False,
                "description": "Whether another generator may stand in.",
            },
            "metadata": schema("Metadata"),
            "callback_url": address("Where to tell how it ended; null: the default address."),
            "callback_running": {
                "type": "boolean",
                "default": False,
                "description": "Whether `callback_url` is also told that the task starts.",
            },
            "idempotency_key": schema("IdempotencyKey"),
        },
    }


def fixed() -> dict[str, Node]:
    """Return the schemas that are the same whatever generators there are."""
    return {**_tasks(), **_small(), **_offers(), **_problems(), **_requests()}
