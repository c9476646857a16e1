"""What the parser takes, PostgreSQL keeps, and every answer can be written with it again."""

import json
from typing import Any

import orjson
import pytest
from django.db import connection
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tasks_app.api.parsing import check
from tasks_app.core.errors import Invalid

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.django_db
@settings(
    max_examples=200,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(values)
@example([1e18, -1e18, float(2**62), 5e-324, -0.0, 2**63 - 1, -(2**63)])
@example([1e20])
@example(-1e300)
@example(-(2.0**63))
@example({"\U0001f3de": "\ufeff\u2028\x7f\x01"})
def test_what_is_accepted_comes_back_as_it_was(value: Any) -> None:
    try:
        orjson.dumps(value)
        check(value)
    except (Invalid, TypeError):
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::jsonb::text", [json.dumps(value)])
        (stored,) = cursor.fetchone()
    # As readers whose only number is a double see it: 1e18 may come back as 1000000000000000000.
    assert json.loads(stored, parse_int=float) == json.loads(json.dumps(value), parse_int=float)
    orjson.dumps(json.loads(stored))
