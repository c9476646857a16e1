"""Files behind signed links: parts of them, as players ask."""

from pathlib import Path
from typing import Any

import pytest

from tasks_app.core import documents
from tasks_app.generators.base import Output
from tasks_app.models import Artifact, Generator
from tasks_app.results import links, store
from tasks_app.results.links import Link
from tests.integration.api.caller import Caller, finished, problem
from tests.unit.results.clips import clip


@pytest.fixture
def link(alice: Any, sleeper: Generator, open_slots: None) -> str:
    """Return a link to a stored file."""
    artifact = Artifact.objects.get(task=finished(alice))
    return f"/files/{links.sign(Link(artifact.pk, False, False))}"


def fetch(link: str, **headers: str) -> tuple[Any, bytes]:
    """Return the answer and its whole body."""
    answer = Caller().get(link, **headers)
    content = b"".join(answer.streaming_content)
    return answer, content


def test_a_part_of_a_file(link: str) -> None:
    _, whole = fetch(link)
    answer, part = fetch(link, Range="bytes=10-19")
    assert answer.status_code == 206
    assert answer["Content-Range"] == f"bytes 10-19/{len(whole)}"
    assert answer["Content-Length"] == "10"
    assert answer["Content-Type"] == "image/png"
    assert part == whole[10:20]


@pytest.mark.parametrize(
    ("asked", "part"), [("bytes=-5", slice(-5, None)), ("bytes=7-", slice(7, None))]
)
def test_open_parts(link: str, asked: str, part: slice) -> None:
    _, whole = fetch(link)
    answer, found = fetch(link, Range=asked)
    assert answer.status_code == 206
    assert found == whole[part]


def test_the_whole_file_says_that_parts_may_be_asked_for(link: str) -> None:
    answer, whole = fetch(link)
    assert (answer.status_code, answer["Accept-Ranges"]) == (200, "bytes")
    assert int(answer["Content-Length"]) == len(whole)


@pytest.mark.parametrize("odd", ["bytes=5-2", "bytes=0-1,4-5", "lines=1-2", "bytes=x"])
def test_an_odd_range_is_the_whole_file(link: str, odd: str) -> None:
    answer, whole = fetch(link, Range=odd)
    assert (answer.status_code, len(whole)) == (200, int(answer["Content-Length"]))


def test_a_range_with_a_condition_that_cannot_hold_is_the_whole_file(link: str) -> None:
    answer, _ = fetch(link, Range="bytes=0-1", If_Range='"another"')
    assert answer.status_code == 200


def test_outside_the_file_is_416_with_its_size(link: str) -> None:
    _, whole = fetch(link)
    answer = Caller().get(link, Range=f"bytes={len(whole)}-")
    problem(answer, 416, "range_not_satisfiable")
    assert answer["Content-Range"] == f"bytes */{len(whole)}"


def test_head_has_the_headers_of_the_whole_and_no_body(link: str) -> None:
    _, whole = fetch(link)
    answer = Caller()("HEAD", link, Range="bytes=0-1")
    assert b"".join(answer.streaming_content) == b""
    assert answer.status_code == 200
    assert (answer["Content-Length"], answer["Accept-Ranges"]) == (str(len(whole)), "bytes")


def test_a_video_is_stored_with_its_length_and_a_poster(
    alice: Any, sleeper: Generator, open_slots: None
) -> None:
    task = finished(alice)
    stored = store.save(task.pk, 1, 1, Output(clip(), "video/mp4"))
    stored.save()
    assert (stored.width, stored.height, stored.duration_seconds) == (64, 48, 1.0)
    assert documents.artifact(stored)["duration_seconds"] == 1.0
    answer, part = fetch(f"/files/{links.sign(Link(stored.pk, False, True))}", Range="bytes=4-7")
    assert (answer.status_code, answer["Content-Type"], part) == (206, "video/mp4", b"ftyp")
    assert answer["Content-Disposition"].endswith('.mp4"')
    answer, poster = fetch(f"/files/{links.sign(Link(stored.pk, True, False))}")
    assert (answer["Content-Type"], poster[8:12]) == ("image/webp", b"WEBP")


def test_a_file_that_cannot_be_read_is_503(link: str) -> None:
    path = Path(store.storage().path(Artifact.objects.get().storage_key))
    path.unlink()
    path.mkdir()
    answer = Caller().get(link)
    problem(answer, 503, "unavailable")
    assert int(answer["Retry-After"]) >= 1
    path.rmdir()
    problem(Caller().get(link), 410, "result_expired")
