"""From frames to the bytes of an MP4 file that every browser plays, the same ones every time."""

import io
from collections.abc import Iterable
from fractions import Fraction
from typing import Final

import av
from av.video.frame import VideoFrame
from av.video.reformatter import ColorPrimaries, ColorRange, Colorspace, ColorTrc

from tasks_app.generators.sketch_video.film import Levels

MEDIA_TYPE: Final = "video/mp4"

# One thread and no lookahead threads, so that nothing depends on the machine's cores.
_OPTIONS: Final = {
    "preset": "medium",
    "crf": "19",
    "tune": "animation",
    "threads": "1",
    "x264-params": "bframes=0:lookahead-threads=1:sliced-threads=0",
}


def encode(frames: Iterable[Levels], count: int, size: tuple[int, int], fps: int) -> bytes:
    """Return an MP4: H.264, 4:2:0, index in front, no dates or names of software in it.

    The room for the index of ``count`` frames is left free in front and filled at the end:
    moving it there afterwards (``faststart``) would need a file on disk.
    """
    target = io.BytesIO()
    container_options = {"moov_size": str(4096 + 32 * count), "fflags": "+bitexact"}
    with av.open(target, "w", format="mp4", container_options=container_options) as container:
        stream = container.add_stream("libx264", rate=fps, options=dict(_OPTIONS))
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        context = stream.codec_context
        context.flags |= av.codec.context.Flags.bitexact
        context.time_base = Fraction(1, fps)
        context.color_range = ColorRange.MPEG
        context.colorspace = Colorspace.ITU709
        context.color_primaries = ColorPrimaries.BT709
        context.color_trc = ColorTrc.BT709
        for index, levels in enumerate(frames):
            frame = VideoFrame.from_ndarray(levels, format="rgb24").reformat(
                format="yuv420p",
                dst_colorspace=Colorspace.ITU709,
                dst_color_range=ColorRange.MPEG,
            )
            frame.pts = index
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return target.getvalue()
