"""A small model for cog: it makes a picture, slowly, or fails in the way that its prompt names.

Each prediction appends lines to the file that ``COG_LOG`` names.
"""

import os
import struct
import tempfile
import time
import zlib
from pathlib import Path as File

from cog import BasePredictor, Input, Path  # type: ignore[import-not-found]


def note(what: str, prompt: str) -> None:
    with File(os.environ["COG_LOG"]).open("a") as file:
        file.write(f"{what}\t{prompt}\n")


def chunk(kind: bytes, data: bytes) -> bytes:
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def png() -> bytes:
    rows = b"".join(b"\0" + b"\xb4\x28\x1e" * 32 for _ in range(32))
    head = struct.pack(">IIBBBBB", 32, 32, 8, 2, 0, 0, 0)
    pieces = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + pieces


class Predictor(BasePredictor):  # type: ignore[misc]
    def predict(self, prompt: str = Input(), seconds: float = Input(default=0.0)) -> Path:
        note("begin", prompt)
        begun = time.monotonic()
        try:
            while (elapsed := time.monotonic() - begun) < seconds:
                print(f"{int(100 * elapsed / seconds)}%", flush=True)
                time.sleep(0.05)
        except BaseException as error:
            note(f"stopped by {type(error).__name__}", prompt)
            raise
        if prompt.startswith("fail"):
            raise ValueError("no such colour")
        if prompt.startswith("crash"):
            os._exit(3)
        note("done", prompt)
        made = File(tempfile.mkdtemp()) / "picture.png"
        made.write_bytes(png())
        return Path(made)
