"""Videos: what makes an MP4 file good enough to keep.

The bytes come from upstreams and from operators' models, so they are not trusted: the boxes of
the file are walked before FFmpeg sees it, only the decoders of browsers are let in, and a few
frames are decoded, in one thread, within limits of pixels and packets.
"""

import io
import itertools
import struct
from collections.abc import Iterator
from typing import Final

import av
import numpy as np
from av.container import InputContainer
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from PIL import Image

from tasks_app.results.checked import Checked, unusable

MEDIA_TYPE: Final = "video/mp4"
MAX_PIXELS: Final = 4096 * 2304
MAX_SECONDS: Final = 600.0
MAX_STREAMS: Final = 4
CODECS: Final = frozenset({"h264", "av1", "vp9"})
"""What browsers play."""

_DECODERS: Final = "h264,libdav1d,av1,vp9,libvpx-vp9"
_MOMENTS: Final = (0.3, 0.6)
"""Where frames are looked at besides the first, in parts of the whole."""
_MOST_PACKETS: Final = 400
"""Read at most in search of a frame: more than any sane distance between key frames."""


def check(content: bytes) -> Checked:
    """Decode a few frames and measure. Raises ``GeneratorError`` (``result_unusable``)."""
    _walk(content)
    try:
        with av.open(io.BytesIO(content), "r", format="mp4", options=_options()) as container:
            stream = _stream(container)
            seconds = _seconds(stream)
            posters = list(_looks(container, stream, seconds))
    except (av.FFmpegError, ValueError, OverflowError, MemoryError, LookupError) as error:
        raise unusable("The file is not a readable MP4 video.") from error
    width, height = posters[0].size
    return Checked(width, height, max(posters, key=_interest), seconds)


def _options() -> dict[str, str]:
    return {
        "codec_whitelist": _DECODERS,
        "max_streams": str(MAX_STREAMS),
        "max_pixels": str(MAX_PIXELS),
        "threads": "1",
    }


def _walk(content: bytes) -> None:
    """Walk the outer boxes: they begin with ``ftyp``, fill the file exactly, and are complete."""
    kinds: list[bytes] = []
    at = 0
    while at < len(content):
        size, kind = _box(content, at)
        kinds.append(kind)
        if size < 8 or size > len(content) - at or len(kinds) > 100_000:
            raise unusable("The file is not a complete MP4 file.")
        at += size
    if kinds[:1] != [b"ftyp"] or b"moov" not in kinds or b"mdat" not in kinds:
        raise unusable("The file is not an MP4 file.")


def _box(content: bytes, at: int) -> tuple[int, bytes]:
    """Return a box's size with its header, 0 for none that could be, and its name."""
    if len(content) - at < 8:
        return 0, b""
    size, kind = struct.unpack_from(">I4s", content, at)
    if size == 1:
        size = struct.unpack_from(">Q", content, at + 8)[0] if len(content) - at >= 16 else 0
    elif size == 0:
        size = len(content) - at
    return size, kind


def _stream(container: InputContainer) -> VideoStream:
    """Return the one video stream of a container that holds nothing odd."""
    if not 1 <= len(container.streams) <= MAX_STREAMS:
        raise unusable("The video has too many streams.")
    if len(container.streams.video) != 1 or len(container.streams.audio) > 1:
        raise unusable("The file must hold one video stream, and one of sound at most.")
    stream = container.streams.video[0]
    context: VideoCodecContext | None = stream.codec_context  # None: FFmpeg knows no decoder
    if context is None:
        raise unusable("The video's coding is unknown.")
    if context.codec.canonical_name not in CODECS:
        raise unusable(f"Videos in {context.codec.canonical_name} are not accepted.")
    if context.width * context.height > MAX_PIXELS:
        raise unusable("The video has too many pixels.")
    return stream


def _seconds(stream: VideoStream) -> float:
    """Return how long the video is."""
    if stream.duration is None or stream.time_base is None:
        raise unusable("The video does not say how long it is.")
    seconds = float(stream.duration * stream.time_base)
    if not 0.0 < seconds <= MAX_SECONDS:
        raise unusable(f"The video must last between 0 and {MAX_SECONDS:.0f} seconds.")
    return round(seconds, 3)


def _looks(container: InputContainer, stream: VideoStream, seconds: float) -> Iterator[Image.Image]:
    """Yield the first frame, which must be there, and others that can be reached."""
    first = _frame(container, stream, -1.0)
    if first is None:
        raise unusable("The video has no frame.")
    size = (first.width, first.height)
    yield _picture(first)
    for share in _MOMENTS:
        container.seek(int(share * seconds * av.time_base))
        found = _frame(container, stream, share * seconds)
        if found is not None:
            if (found.width, found.height) != size:
                raise unusable("The video changes its size.")
            yield _picture(found)


def _frame(container: InputContainer, stream: VideoStream, after: float) -> VideoFrame | None:
    """Return the first frame from ``after`` seconds on, else the last one before."""
    found: VideoFrame | None = None
    for packet in itertools.islice(container.demux(stream), _MOST_PACKETS):
        for frame in packet.decode():
            assert isinstance(frame, VideoFrame)
            if frame.width * frame.height > MAX_PIXELS:
                raise unusable("The video has too many pixels.")
            found = frame
            if frame.time is None or frame.time >= after:
                return found
    return found


def _picture(frame: VideoFrame) -> Image.Image:
    return Image.fromarray(frame.to_ndarray(format="rgb24"))


def _interest(picture: Image.Image) -> float:
    """Return how much there is to see: a fade from black makes a poor poster."""
    return float(np.asarray(picture.convert("L").reduce(4), dtype=np.float32).std())
