"""Bodies without a length are bounded, and not read before anybody asks for them."""

import io
from typing import Any

import pytest

from aigc_site.chunked import MOST, bounded

CHUNKED = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True}


def sent(environ: dict[str, Any]) -> dict[str, Any]:
    """Return what the application is given."""
    seen: dict[str, Any] = {}

    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        seen.update(environ)
        return []

    list(bounded(application)(dict(environ), None))
    return seen


def test_a_chunked_body_may_be_read_and_has_not_been() -> None:
    stream = io.BytesIO(b"abc")
    seen = sent(CHUNKED | {"wsgi.input": stream})
    assert seen["CONTENT_LENGTH"] == str(MOST)
    assert stream.tell() == 0


def test_a_length_next_to_chunks_is_not_believed() -> None:
    assert sent(CHUNKED | {"CONTENT_LENGTH": "1"})["CONTENT_LENGTH"] == str(MOST)


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"CONTENT_LENGTH": "3"},
        {"wsgi.input_terminated": True, "CONTENT_LENGTH": "3"},
        {"HTTP_TRANSFER_ENCODING": "chunked"},  # reading it to its end might never end
    ],
)
def test_other_bodies_are_left_alone(environ: dict[str, Any]) -> None:
    assert sent(environ) == environ
