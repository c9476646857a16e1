"""What schemathesis does beside its own checks, and what it cannot know.

It runs in a process of its own, without Django.
"""

import json
import os
from pathlib import Path
from typing import Any

import schemathesis
from schemathesis import HookContext, Response
from schemathesis.core.parameters import ParameterLocation

from tests import openapi

# A schema speaks of one request at a time and of each parameter alone. These refusals depend on
# earlier requests, on the state of a task, or on two places at once; docs/api.md tells of them.
EXCUSES = {
    "idempotency_key_reused",
    "idempotency_keys_differ",
    "not_finished",
    "no_result",
    "callback_tests",
    "range_not_satisfiable",
}


KNOWN = {
    "artifact_id": os.environ["DARKROOM_TEST_ARTIFACT"],
    "token": os.environ["DARKROOM_TEST_TOKEN"],
    "callback_id": os.environ["DARKROOM_TEST_CALLBACK"],
}
"""What exists from the beginning: an id that is made up opens nothing."""


@schemathesis.hook
def map_case(context: HookContext, case: Any) -> Any:
    """Put what exists in the place of about half of what is made up and well-formed."""
    if case.meta is not None and case.meta.is_negative_at(ParameterLocation.PATH):
        return case
    found = case.path_parameters or {}
    for name in KNOWN.keys() & found.keys():
        if sum(str(found[name]).encode()) % 2:
            case.path_parameters[name] = KNOWN[name]
    return case


@schemathesis.hook
def filter_failure(context: HookContext, failure: Any, case: Any, response: Response) -> bool:
    """Drop refusals of good data that no schema can tell of."""
    if type(failure).__name__ != "RejectedPositiveData":
        return True
    problem = _problem(response)
    if problem.get("code") in EXCUSES:
        return False
    said = {(one["pointer"].split("/")[1], one["code"]) for one in problem.get("errors", [])}
    excused = {("metadata", "too_long"), ("metadata", "too_deep")}
    # Which hosts may be told, and that there is a default address, is in no schema.
    for name in ("callback_url", "url"):
        excused |= {(name, "not_an_address"), (name, "address_forbidden"), (name, "required")}
    if case.query and "ids" in case.query:
        excused |= {(name, "unknown_field") for name in case.query}
    return not said or not said <= excused


def _problem(response: Response) -> dict[str, Any]:
    try:
        found = json.loads(response.content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) and "code" in found else {}


@schemathesis.check
def as_described(ctx: Any, response: Response, case: Any) -> None:
    """Fail for headers and members that the document does not describe; note what was asked."""
    status, method, path = response.status_code, case.method.upper(), case.operation.path
    if case.operation.method.upper() != method:
        return
    with Path(os.environ["DARKROOM_TEST_ASKED"]).open("a") as file:
        file.write(f"{method} {path} {status}\n")
    headers = {name: values[0] for name, values in response.headers.items()}
    answer = openapi.Answer(status, headers, response.content or b"")
    document = case.operation.schema.raw_schema
    found = openapi.complaints(document, method, path, answer)
    assert not found, "\n".join(found)
