"""Files inside of answers: base64, bare or as data URLs."""

import base64
import binascii

from tasks_app.generators.base import Output
from tasks_app.generators.errors import GeneratorError
from tasks_app.generators.signatures import media_type_of
from tasks_app.lifecycle import ErrorCode


def output_of(text: str, seed: int | None = None) -> Output:
    """Return the file in a data URL or in base64; its type is what its first bytes say.

    Raises ``GeneratorError`` (``result_unusable``).
    """
    coded = text.partition(",")[2] if text.startswith("data:") else text
    try:
        content = base64.b64decode(coded, validate=True)
    except (binascii.Error, ValueError) as error:
        detail = "The result's file is not readable base64."
        raise GeneratorError(ErrorCode.RESULT_UNUSABLE, detail) from error
    found = media_type_of(content)
    if found is None:
        detail = "The file of the result is no PNG, JPEG, WebP or MP4 file."
        raise GeneratorError(ErrorCode.RESULT_UNUSABLE, detail)
    return Output(content, found, seed)
