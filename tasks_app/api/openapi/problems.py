"""The closed lists of codes: of problem documents, by status, and of errors in one field."""

from collections.abc import Mapping
from typing import Final

CODES: Final[Mapping[int, Mapping[str, str]]] = {
    400: {
        "bad_request": "The request cannot be read.",
        "malformed": "The body is not JSON.",
        "invalid_key": "The idempotency key is not 1 to 255 visible ASCII characters.",
        "idempotency_keys_differ": "Header and body hold different idempotency keys.",
    },
    401: {"not_authenticated": "There is no API key, or it is not valid."},
    403: {"forbidden": "A session sent no valid CSRF token, or may not do this."},
    404: {"not_found": "There is no such thing, or it is not yours."},
    405: {"method_not_allowed": "The address takes other methods; `Allow` names them."},
    408: {"too_slow": "The body did not come in time."},
    410: {"result_expired": "The file was here and has been removed."},
    413: {"too_large": "The body is larger than the service reads."},
    415: {"unsupported_media_type": "The body is not `application/json`."},
    416: {"range_not_satisfiable": "The file has no such range of bytes."},
    422: {
        "invalid": "Something does not fit; `errors` says what.",
        "idempotency_key_reused": "The idempotency key stands for a different request.",
        "not_finished": "Only a task that has ended can be retried.",
        "no_result": "The task has no result.",
    },
    429: {
        "submit_rate": "Tasks are submitted too fast.",
        "callback_tests": "Too many tests of callbacks within a minute.",
        "too_many_open_tasks": "Too many tasks are pending or running.",
        "day_limit": "The tasks of the day are used.",
        "month_limit": "The tasks of the month are used.",
    },
    500: {"internal": "A mistake of the service. Nothing was lost."},
    503: {
        "unavailable": "A database is away at the moment.",
        "generator_unavailable": "The generator is not set up correctly.",
    },
}

FIELD_CODES: Final[Mapping[str, str]] = {
    "required": "It is missing.",
    "wrong_type": "It has the wrong type.",
    "unknown_field": "There is no such field or parameter.",
    "repeated": "It is given more than once.",
    "not_a_choice": "It is not one of the choices.",
    "out_of_range": "It is outside of its bounds.",
    "too_small": "It is less than the least.",
    "too_large": "It is more than the most.",
    "not_a_multiple": "It is not a multiple of the step.",
    "too_short": "It has too few characters.",
    "too_long": "It has too many characters or bytes.",
    "too_few": "It has too few items.",
    "too_many": "It has too many items.",
    "wrong_pattern": "It does not match the pattern.",
    "number_too_large": "The number does not fit into 64 bits.",
    "nul_character": "It contains a NUL character.",
    "too_deep": "It is nested too deeply.",
    "invalid_key": "It is not 1 to 255 visible ASCII characters.",
    "not_an_id": "It is not an id.",
    "not_a_cursor": "It is not a cursor of an earlier answer.",
    "not_a_time": "It is not a time with a zone (RFC 3339).",
    "not_an_address": "It is not an address that callbacks can go to.",
    "address_forbidden": "It leads where callbacks may not go.",
    "unknown_generator": "There is no such generator, or the plan does not allow it.",
    "above_plan": "It is more than the plan allows.",
    "idempotency_key_reused": "The key stands for a different request.",
    "not_finished": "The task has not ended.",
    "invalid": "It does not fit the schema in another way.",
}
