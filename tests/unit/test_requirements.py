"""requirements/*.txt are what `make lock` made from pyproject.toml. Offline.

The annotations of uv ("# via darkroom (pyproject.toml)") tell which packages were direct
dependencies when the files were made; that set must be the one of pyproject.toml.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)(?: ; (?P<marker>.+?))? \\$")
_HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}( \\)?$")
_DIRECT = re.compile(r"^    #\s+(?:via )?darkroom \(pyproject\.toml(?::dev)?\)$")


@dataclass
class Pin:
    """One locked package."""

    version: str
    hashes: int = 0
    direct: bool = False


def read_lock(text: str) -> dict[str, list[Pin]]:
    """The pins by canonical name (several when markers split them). Refuses unknown lines."""
    pins: dict[str, list[Pin]] = {}
    current = Pin("")
    for line in text.splitlines():
        if found := _PIN.match(line):
            current = Pin(found["version"])
            pins.setdefault(canonicalize_name(found["name"]), []).append(current)
        elif _HASH.match(line):
            current.hashes += 1
        elif _DIRECT.match(line):
            current.direct = True
        elif not re.match(r"^\s*#", line):
            raise ValueError(f"not a line of a hashed lock file: {line!r}")
    return pins


def drift(wanted: list[str], text: str) -> list[str]:
    """What differs between direct dependencies and a lock file, one sentence each."""
    pins = read_lock(text)
    requirements = [Requirement(line) for line in wanted]
    names = {canonicalize_name(requirement.name) for requirement in requirements}
    direct = {name for name, found in pins.items() if any(pin.direct for pin in found)}
    said = [f"{name} is not locked as a direct dependency" for name in sorted(names - direct)]
    said += [f"{name} is no direct dependency any more" for name in sorted(direct - names)]
    for requirement in requirements:
        for pin in pins.get(canonicalize_name(requirement.name), []):
            if not requirement.specifier.contains(pin.version, prereleases=True):
                said.append(f"{requirement} is locked at {pin.version}")
    unhashed = [name for name, found in pins.items() if not all(pin.hashes for pin in found)]
    return said + [f"{name} has no hash" for name in unhashed]


def wanted_by_pyproject(*groups: str) -> list[str]:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    found: list[str] = list(document["project"]["dependencies"])
    for group in groups:
        found += document["dependency-groups"][group]
    return found


def lock_text(name: str) -> str:
    return (ROOT / "requirements" / f"{name}.txt").read_text()


@pytest.mark.parametrize(("name", "groups"), [("base", ()), ("dev", ("dev",))])
def test_a_lock_file_is_what_pyproject_asks_for(name: str, groups: tuple[str, ...]) -> None:
    assert drift(wanted_by_pyproject(*groups), lock_text(name)) == [], "run `make lock`"


def test_both_lock_files_pin_the_same_versions() -> None:
    base, dev = read_lock(lock_text("base")), read_lock(lock_text("dev"))
    pinned = {name: [pin.version for pin in found] for name, found in base.items()}
    assert pinned == {name: [pin.version for pin in dev.get(name, [])] for name in base}


@pytest.mark.parametrize("name", ["base", "dev"])
def test_a_lock_file_names_no_index(name: str) -> None:
    assert not re.search(r"://|--(extra-)?index|--find-links", lock_text(name))


LOCK = f"""# a header
alpha==1.5 \\
    --hash=sha256:{"0" * 64}
    # via darkroom (pyproject.toml)
beta==2.0 ; python_full_version < '3.12' \\
    --hash=sha256:{"1" * 64} \\
    --hash=sha256:{"2" * 64}
    # via
    #   alpha
    #   darkroom (pyproject.toml:dev)
"""


@pytest.mark.parametrize(
    ("wanted", "text", "said"),
    [
        (["alpha>=1,<2", "beta[extra]>=2"], LOCK, []),
        (["alpha>=1,<2"], LOCK, ["beta is no direct dependency any more"]),
        (["alpha>=2", "beta"], LOCK, ["alpha>=2 is locked at 1.5"]),
        (["alpha", "beta", "gamma"], LOCK, ["gamma is not locked as a direct dependency"]),
        (
            ["alpha", "beta"],
            LOCK.replace(f"    --hash=sha256:{'0' * 64}\n", ""),
            ["alpha has no hash"],
        ),
        (
            ["alpha", "beta"],
            LOCK.replace("    # via darkroom (pyproject.toml)\n", "    # via beta\n"),
            ["alpha is not locked as a direct dependency"],
        ),
    ],
)
def test_drift_is_noticed(wanted: list[str], text: str, said: list[str]) -> None:
    assert drift(wanted, text) == said


def test_an_unpinned_line_is_refused() -> None:
    with pytest.raises(ValueError, match="not a line"):
        read_lock("alpha>=1.5\n")
