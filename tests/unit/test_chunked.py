"""Bodies without a length get one, and no more of them is read than the service would take."""

import io
from typing import Any

import pytest
from pytest_django import Settings

from aigc_site.chunked import measured

CHUNKED = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True}


class Trickle(io.BytesIO):
    """Returns fewer bytes than it is asked for, as sockets do."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(7 if size is None or size < 0 else min(7, size))


def sent(environ: dict[str, Any]) -> tuple[bytes, str | None]:
    """Return the body that the application would see, and its length."""
    seen: dict[str, Any] = {}

    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        seen.update(environ)
        return []

    list(measured(application)(environ, None))
    body = seen["wsgi.input"].read()
    return body, seen.get("CONTENT_LENGTH")


def test_a_chunked_body_is_measured() -> None:
    body = b"x" * 1_000
    assert sent(CHUNKED | {"wsgi.input": Trickle(body)}) == (body, "1000")
    assert sent(CHUNKED | {"wsgi.input": Trickle(b"")}) == (b"", "0")


def test_a_length_next_to_chunks_is_not_believed() -> None:
    environ = CHUNKED | {"wsgi.input": Trickle(b"abc"), "CONTENT_LENGTH": "1"}
    assert sent(environ) == (b"abc", "3")


def test_no_more_is_read_than_the_limit_and_a_byte(settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    stream = Trickle(b"x" * 1_000)
    body, length = sent(CHUNKED | {"wsgi.input": stream})
    assert (len(body), length) == (101, "101")
    assert stream.tell() == 101


@pytest.mark.parametrize(
    "environ",
    [
        {"CONTENT_LENGTH": "3"},
        {"wsgi.input_terminated": True, "CONTENT_LENGTH": "3"},
        {"HTTP_TRANSFER_ENCODING": "chunked"},  # reading it to its end might never end
    ],
)
def test_other_bodies_are_left_alone(environ: dict[str, Any]) -> None:
    stream = io.BytesIO(b"abc")
    assert sent(environ | {"wsgi.input": stream}) == (b"abc", environ.get("CONTENT_LENGTH"))
