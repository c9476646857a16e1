import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_app.generators.errors import GeneratorError
from tasks_app.lifecycle import ErrorCode
from tasks_app.results import video
from tests.unit.results.clips import clip, sound_only

GOOD = clip()


def refused(content: bytes) -> str:
    with pytest.raises(GeneratorError) as caught:
        video.check(content)
    assert caught.value.code == ErrorCode.RESULT_UNUSABLE
    assert not caught.value.retryable
    return caught.value.detail


def test_a_video_is_measured() -> None:
    checked = video.check(GOOD)
    assert (checked.width, checked.height, checked.seconds) == (64, 48, 1.0)
    assert checked.poster.size == (64, 48)


@pytest.mark.parametrize("codec", ["libx264", "libvpx-vp9", "libsvtav1"])
def test_what_browsers_play_is_kept(codec: str) -> None:
    assert video.check(clip(128, 96, 6, codec=codec)).seconds == 0.5


def test_sound_may_come_along() -> None:
    assert video.check(clip(sound=True)).width == 64


def test_the_poster_is_not_the_black_that_a_video_fades_from() -> None:
    poster = video.check(clip(dark_until=3)).poster
    assert np.asarray(poster).max() > 100


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0",
        b"<!doctype html><title>502 Bad Gateway</title>",
        b"\x89PNG\r\n\x1a\n" + bytes(64),
        struct.pack(">I4s4sI", 16, b"ftyp", b"isom", 0),
        struct.pack(">I4s4sIQ", 16, b"ftyp", b"isom", 0, 8 << 32),
        struct.pack(">I4sQ", 1, b"ftyp", 2**63),
        b"\0\0\0\x08ftyp\0\0\0\x08moov\0\0\0\x08mdat",
        b"\0\0\0\x08ftyp\0\0\0\x08moov\0\0\0\0mdat",
    ],
)
def test_what_is_no_video_is_refused(content: bytes) -> None:
    refused(content)


def test_another_container_is_refused() -> None:
    refused(clip(container="matroska"))
    refused(clip(container="avi"))


def test_another_codec_is_refused() -> None:
    refused(clip(codec="mpeg4"))


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9, 0.999])
def test_a_truncated_video_is_refused(share: float) -> None:
    refused(GOOD[: int(len(GOOD) * share)])


def test_a_video_without_frames_is_refused() -> None:
    refused(clip(frames=0))


def test_sound_alone_is_refused() -> None:
    assert "one video stream" in refused(sound_only())


def test_huge_dimensions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(video, "MAX_PIXELS", 64 * 48 - 1)
    refused(GOOD)


def test_a_header_that_claims_more_pixels_than_there_are_is_refused_or_measured() -> None:
    entry = GOOD.index(b"avc1", GOOD.index(b"stsd"))
    forged = bytearray(GOOD)
    forged[entry + 28 : entry + 32] = struct.pack(">HH", 65535, 65535)
    try:
        assert video.check(bytes(forged)).width == 64
    except GeneratorError as error:
        assert error.code == ErrorCode.RESULT_UNUSABLE


def test_a_video_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(video, "MAX_SECONDS", 0.9)
    assert "seconds" in refused(GOOD)


@settings(max_examples=150)
@given(st.integers(0, len(GOOD) - 1), st.binary(min_size=1, max_size=12))
def test_damaged_bytes_never_raise_anything_else(at: int, noise: bytes) -> None:
    damaged = GOOD[:at] + noise + GOOD[at + len(noise) :]
    try:
        video.check(damaged)
    except GeneratorError as error:
        assert error.code == ErrorCode.RESULT_UNUSABLE
