"""What an operator might point the ``python`` generator at."""

import io
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from PIL import Image

from tasks_app.generators.base import Output

Report = Callable[[float], None]
NOT_CALLABLE = 3


def encoded(kind: str) -> bytes:
    target = io.BytesIO()
    Image.new("RGB", (8, 8), "teal").save(target, kind)
    return target.getvalue()


def image(params: dict[str, Any], report: Report) -> Image.Image:
    report(0.5)
    return Image.new("RGB", (params["width"], params["height"]), "navy")


def cmyk(params: dict[str, Any], report: Report) -> Image.Image:
    return Image.new("CMYK", (8, 8))


def array(params: dict[str, Any], report: Report) -> Any:
    return np.zeros((6, 5, 3), dtype=np.uint8)


def png(params: dict[str, Any], report: Report) -> bytes:
    return encoded("PNG")


def jpeg(params: dict[str, Any], report: Report) -> bytearray:
    return bytearray(encoded("JPEG"))


def webp(params: dict[str, Any], report: Report) -> bytes:
    return encoded("WEBP")


def pair(params: dict[str, Any], report: Report) -> tuple[bytes, str]:
    return b"not looked at", "video/mp4"


def output(params: dict[str, Any], report: Report) -> Output:
    return Output(encoded("PNG"), "image/png", 99)


def several(params: dict[str, Any], report: Report) -> list[Any]:
    return [image(params, report), png(params, report), pair(params, report)]


def one_by_one(params: dict[str, Any], report: Report) -> Iterator[Image.Image]:
    for index in range(params["n"]):
        report(index / params["n"])
        yield Image.new("L", (8, 8))


def overshoots(params: dict[str, Any], report: Report) -> bytes:
    report(-1)
    report(7)
    return encoded("PNG")


def greedy(params: dict[str, Any], report: Report) -> bytes:
    try:
        report(0.5)
    except Exception:
        return b"swallowed"
    return encoded("PNG")


def changes(params: dict[str, Any], report: Report) -> bytes:
    params["prompt"] = "changed"
    return encoded("PNG")


def breaks(params: dict[str, Any], report: Report) -> bytes:
    raise ZeroDivisionError


def returns(params: dict[str, Any], report: Report) -> Any:
    return UNUSABLE[params["prompt"]]


UNUSABLE: dict[str, Any] = {
    "none": None,
    "text": "a string",
    "mapping": {"image": b""},
    "number": 5,
    "empty list": [],
    "empty bytes": b"",
    "empty pair": (b"", "image/png"),
    "foreign bytes": b"GIF89a......",
    "list of numbers": [1, 2],
    "floats": np.zeros((4, 4, 3)),
    "flat": np.zeros((4, 4), dtype=np.uint8),
    "no rows": np.zeros((0, 4, 3), dtype=np.uint8),
    "empty image": Image.new("RGB", (0, 0)),
}


class Warm:
    """Counts how often it was made and called."""

    made: ClassVar[int] = 0

    def __init__(self) -> None:
        type(self).made += 1
        self.calls = 0

    def __call__(self, params: dict[str, Any], report: Report) -> Image.Image:
        self.calls += 1
        return Image.new("RGB", (self.calls, 1))


class Cold:
    """A class that cannot be called per task."""
