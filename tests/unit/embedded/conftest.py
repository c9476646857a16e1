import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def data() -> Iterator[Path]:
    """A folder that PostgreSQL's user can pass when the tests run as root. tmp_path is closed."""
    folder = Path(tempfile.mkdtemp(prefix="darkroom's embedded "))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)
