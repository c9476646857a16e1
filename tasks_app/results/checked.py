"""What checking a file finds out, and how it says no."""

from dataclasses import dataclass

from PIL import Image

from tasks_app.generators.errors import GeneratorError
from tasks_app.lifecycle import ErrorCode


@dataclass(frozen=True, slots=True)
class Checked:
    """A file that is what it claims to be; ``poster`` is the picture that stands for it."""

    width: int
    height: int
    poster: Image.Image
    seconds: float | None = None


def unusable(detail: str) -> GeneratorError:
    """Return the error for a file that is not what it claims to be."""
    return GeneratorError(ErrorCode.RESULT_UNUSABLE, detail)
