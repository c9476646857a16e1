"""Small videos, sound files and other things to check."""

import io
from typing import Any

import av
import numpy as np


def clip(
    width: int = 64,
    height: int = 48,
    frames: int = 12,
    *,
    codec: str = "libx264",
    container: str = "mp4",
    sound: bool = False,
    dark_until: int = 0,
) -> bytes:
    """Return a video at 12 frames per second, black before frame ``dark_until``."""
    target = io.BytesIO()
    with av.open(target, "w", format=container) as file:
        stream: Any = file.add_stream(codec, rate=12)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        if sound:
            noise: Any = file.add_stream("aac", rate=44100)
            silence = av.AudioFrame(format="fltp", layout="mono", samples=1024)
            silence.sample_rate = 44100
            for plane in silence.planes:
                plane.update(bytes(plane.buffer_size))
            file.mux(noise.encode(silence))
            file.mux(noise.encode(None))
        for index in range(frames):
            levels = np.zeros((height, width, 3), dtype=np.uint8)
            if index >= dark_until:
                levels[:, : width // 2] = 200
                levels[: height // 2] += 40
            file.mux(stream.encode(av.VideoFrame.from_ndarray(levels, format="rgb24")))
        file.mux(stream.encode(None))
    return target.getvalue()


def sound_only() -> bytes:
    """Return an MP4 file without pictures."""
    target = io.BytesIO()
    with av.open(target, "w", format="mp4") as file:
        stream: Any = file.add_stream("aac", rate=44100)
        frame = av.AudioFrame(format="fltp", layout="mono", samples=1024)
        frame.sample_rate = 44100
        for plane in frame.planes:
            plane.update(bytes(plane.buffer_size))
        file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return target.getvalue()
