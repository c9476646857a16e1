"""The addresses below ``/v1/callbacks``, and what they take and answer."""

from typing import Any, Final

from tasks_app.api.openapi import examples
from tasks_app.api.openapi.operations import (
    _EVERYWHERE,
    _KEYED_WRITE,
    _MOMENT,
    _body,
    _link,
    _operation,
)
from tasks_app.api.openapi.pieces import (
    UUID_PATTERN,
    Node,
    answer,
    listed,
    nullable,
    parameter,
    query,
    refusals,
    schema,
)
from tasks_app.api.openapi.schemas import address, moment, number, record, text
from tasks_app.api.wishes import MAX_PAGE
from tasks_app.lifecycle import DELIVERY_SENTENCES, CallbackEvent, CallbackState, Delivery

_ID: Final[Node] = {"type": "string", "format": "uuid", "pattern": UUID_PATTERN}
_TIME: Final[Node] = {"type": "string", "format": "date-time"}
_STATES: Final = {
    CallbackState.PENDING: "it is delivered at `next_attempt_at`, or right now",
    CallbackState.DELIVERED: "the receiver answered 2xx",
    CallbackState.EXHAUSTED: "no attempt succeeded; deliver it again by hand",
    CallbackState.DISABLED: "the address answered 410 (Gone), to this or to an earlier one",
}
_WRITES: Final = (403, 408, 413, 415, 422)
_SEEN: Final = ("Cache-Control",)


def _lines(said: dict[Any, str]) -> str:
    return "\n".join(f"- `{name}`: {sentence}" for name, sentence in said.items())


# --- what is answered ----------------------------------------------------------------------


def _outcome() -> dict[str, Node]:
    return {
        "outcome": schema("Delivery"),
        "http_status": nullable("integer", "What the receiver answered, if it did."),
        "message": text("What that means, for people."),
    }


def _members() -> dict[str, Node]:
    return {
        "callback_id": _ID | {"description": "The `webhook-id`: the same at every attempt."},
        "type": text("What is told.", enum=[event.value for event in CallbackEvent]),
        "task_id": nullable("string", "The task that it is about.", format="uuid"),
        "url": text("Where it goes."),
        "status": schema("CallbackState"),
        "attempts": number("integer", "How many there were, the one that goes on included."),
        "last_attempt": {
            "anyOf": [
                record("What came of the last attempt.", (), at=_TIME, **_outcome()),
                {"type": "null"},
            ]
        },
        "created_at": _TIME,
        "next_attempt_at": moment("When it is tried next; null once it has ended."),
        "ended_at": moment("When it was delivered or given up."),
        "links": record(
            "Addresses.",
            self={"type": "string", "format": "uri-reference"},
            redeliver={"type": "string", "format": "uri-reference"},
        ),
    }


def schemas() -> Node:
    """Return the schemas of callbacks."""
    attempt = record(
        "One attempt.",
        (),
        number=number("integer", "Which one.", 1),
        at=_TIME,
        seconds=number("number", "How long it took."),
        **_outcome(),
        answer=text("The beginning of the answer's body."),
    )
    return {
        "CallbackState": text(
            "How far a callback is.\n\n"
            + _lines({one.value: _STATES[one] for one in CallbackState}),
            enum=[one.value for one in CallbackState],
        ),
        "Delivery": text(
            "What came of an attempt.\n\n"
            + _lines({one.value: DELIVERY_SENTENCES[one] for one in Delivery}),
            enum=[one.value for one in Delivery],
        ),
        "CallbackSummary": record("A callback.", (), **_members()),
        "Callback": record(
            "A callback, what is sent and what came back.",
            (),
            **_members(),
            payload={
                "type": "object",
                "description": "What is sent: `type`, `timestamp`, and the task in `data`.",
            },
            log={"type": "array", "description": "The newest first.", "items": attempt},
        ),
        "CallbackPage": record(
            "A page of callbacks.",
            items={"type": "array", "items": schema("CallbackSummary")},
            next_cursor=nullable("string", "The cursor of the next page.", format="uuid"),
        ),
        "CallbackSettings": record(
            "Where callbacks go whose task names no address.",
            url=nullable("string", "The default address."),
            running=_running(),
            secret_created_at=moment("Since when there is the secret of now."),
            disabled={
                "type": "array",
                "description": "Addresses that answered 410 (Gone): nothing is sent there until "
                "they are set as the default again, or a redelivery succeeds.",
                "items": record("An address.", url=text("Which."), disabled_at=_TIME),
            },
        ),
        "CallbackSettingsRequest": {
            "type": "object",
            "description": "The default address.",
            "required": ["url"],
            "additionalProperties": False,
            "properties": {
                "url": address("Where to tell; null: nowhere."),
                "running": _running() | {"default": False},
            },
        },
        "CallbackTest": {
            "type": "object",
            "description": "Where to.",
            "additionalProperties": False,
            "properties": {"url": address("Null: the default address.")},
        },
        "RedeliverFailed": {
            "type": "object",
            "description": "Since when.",
            "required": ["since"],
            "additionalProperties": False,
            "properties": {"since": _MOMENT | {"description": "Of events at this time or later."}},
        },
        "Redelivered": record(
            "What is delivered again.",
            redelivered=number("integer", "How many."),
            more={"type": "boolean", "description": "Whether to ask once more, for the rest."},
        ),
        "Nothing": {
            "type": "object",
            "description": "An empty object.",
            "additionalProperties": False,
            "properties": {},
        },
        "CallbackSecret": record(
            "A secret; it is shown this once.",
            secret=text("What signatures are made with.", pattern="^whsec_[A-Za-z0-9+/]{43}=$"),
        ),
    }


def _running() -> Node:
    return {"type": "boolean", "description": "Whether it is also told that tasks start."}


# --- addresses -----------------------------------------------------------------------------

_OWN_ID: Final = "$response.body#/callback_id"


def _links(*leave_out: str) -> Node:
    every = {
        "read": _link("getCallback", "Read it again.", callback_id=_OWN_ID),
        "redeliver": _link("redeliverCallback", "Deliver it again.", callback_id=_OWN_ID),
    }
    return {name: link for name, link in every.items() if name not in leave_out}


def _one(description: str, *leave_out: str) -> Node:
    return answer(
        description,
        schema("Callback"),
        named=_SEEN,
        examples={"callback": examples.CALLBACK},
        links=_links(*leave_out),
    )


def _list() -> Node:
    states: Node = {"type": "array", "items": schema("CallbackState")}
    first = "$response.body#/items/0/callback_id"
    return _operation(
        "listCallbacks",
        "Callbacks",
        "List own callbacks",
        "Newest first, in pages. They are kept for 30 days.",
        {
            "200": answer(
                "Callbacks.",
                schema("CallbackPage"),
                named=_SEEN,
                examples={"page": examples.CALLBACK_PAGE},
                links={
                    "first": _link("getCallback", "Read the first one.", callback_id=first),
                    "next": _link("listCallbacks", "Go on.", cursor="$response.body#/next_cursor"),
                },
            ),
            **refusals(*_EVERYWHERE, 422),
        },
        parameters=(
            listed("status", "States.", states),
            query("task_id", "Those about one task.", _ID),
            query("cursor", "`next_cursor` of the page before.", _ID),
            query(
                "limit",
                "How many.",
                {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 20},
            ),
        ),
    )


def _get() -> Node:
    return _operation(
        "getCallback",
        "Callbacks",
        "Read a callback",
        "What is sent, and what came back from each attempt.",
        {
            "200": _one("It.", "read"),
            **refusals(*_EVERYWHERE, 404),
        },
    )


def _redeliver() -> Node:
    return _operation(
        "redeliverCallback",
        "Callbacks",
        "Deliver a callback again",
        "The same id and bytes, with all retries. One that is about to be delivered anyway, or "
        "was asked for a moment ago, stays as it is.",
        {
            "202": _one("It.", "redeliver"),
            **refusals(*_EVERYWHERE, 404, *_WRITES),
        },
        body=_body(schema("Nothing"), "May be left out.", {}, required=False),
        security=_KEYED_WRITE,
    )


def _redeliver_failed() -> Node:
    return _operation(
        "redeliverFailed",
        "Callbacks",
        "Deliver again all that failed",
        "Those that are `exhausted` or `disabled`, of events since a time, 500 at once.",
        {
            "202": answer("How many.", schema("Redelivered"), named=_SEEN),
            **refusals(*_EVERYWHERE, *_WRITES),
        },
        body=_body(
            schema("RedeliverFailed"),
            "Since when.",
            {"since": "2026-11-29T00:00:00Z"},
            required=True,
        ),
        security=_KEYED_WRITE,
    )


def _test() -> Node:
    return _operation(
        "testCallback",
        "Callbacks",
        "Send a test",
        "Signed like any callback, to the default address or another one; tried once. Read it "
        "again a second later to see what came back. Five a minute.",
        {
            "202": answer(
                "The test, on its way.",
                schema("Callback"),
                named=("Cache-Control", "Location", "Retry-After"),
                examples={"callback": examples.CALLBACK},
                links=_links(),
            ),
            **refusals(*_EVERYWHERE, *_WRITES, 429),
        },
        body=_body(schema("CallbackTest"), "May be left out.", {"url": None}, required=False),
        security=_KEYED_WRITE,
    )


def _settings() -> Node:
    shown = answer("The settings.", schema("CallbackSettings"), named=_SEEN)
    return {
        "get": _operation(
            "getCallbackSettings",
            "Callbacks",
            "Read the default address",
            "And which addresses are disabled.",
            {"200": shown, **refusals(*_EVERYWHERE)},
        ),
        "put": _operation(
            "setCallbackSettings",
            "Callbacks",
            "Set the default address",
            "Where callbacks go whose task names no address.",
            {"200": shown, **refusals(*_EVERYWHERE, *_WRITES)},
            body=_body(
                schema("CallbackSettingsRequest"),
                "The address.",
                {"url": "https://shop.example/hook", "running": False},
                required=True,
            ),
            security=_KEYED_WRITE,
        ),
    }


def _secret() -> Node:
    return _operation(
        "newCallbackSecret",
        "Callbacks",
        "Make a new secret",
        "It is in this answer and nowhere else. The one before signs beside it for 24 hours.",
        {
            "201": answer("The secret.", schema("CallbackSecret"), named=_SEEN),
            **refusals(*_EVERYWHERE, *_WRITES),
        },
        body=_body(schema("Nothing"), "May be left out.", {}, required=False),
        security=_KEYED_WRITE,
    )


def paths() -> Node:
    """Return the addresses."""
    own = [parameter("CallbackId")]
    return {
        "/v1/callbacks": {"get": _list()},
        "/v1/callbacks/redeliver": {"post": _redeliver_failed()},
        "/v1/callbacks/test": {"post": _test()},
        "/v1/callbacks/settings": _settings(),
        "/v1/callbacks/secret": {"post": _secret()},
        "/v1/callbacks/{callback_id}": {"parameters": own, "get": _get()},
        "/v1/callbacks/{callback_id}/redeliver": {"parameters": own, "post": _redeliver()},
    }
