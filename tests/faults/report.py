"""What each scenario counted and how each test ended, a line each, if a file for it is named."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

REPORT: Final = "DARKROOM_FAULTS_REPORT"
"""Names the file; see ``rounds``."""
COLUMNS: Final = ("tasks", "calls", "attempts", "polls", "refused", "faults")
"""Tasks in the tables; calls of the generator; attempts; polls that were answered; submissions
that had to be sent again; broken promises."""


def add(line: Mapping[str, str | int]) -> None:
    """Append one line."""
    path = os.environ.get(REPORT)
    if path:
        with Path(path).open("a") as file:
            file.write(json.dumps(line) + "\n")
