"""Findings as lines for people and as JSON for programs. Needs no settings."""

import json
from typing import Final

from tasks_app.maintenance.doctor.finding import EXIT, Finding, Level

_COLOURS: Final = {Level.OK: 32, Level.WARNING: 33, Level.PROBLEM: 31, Level.UNKNOWN: 90}
_NAME_WIDTH: Final = 17


def line(name: str, found: Finding, *, colour: bool) -> str:
    """Return one line: level, name, what is, what to do."""
    level = f"{found.level:<7}"
    if colour:
        level = f"\x1b[{_COLOURS[found.level]}m{level}\x1b[0m"
    return f"{level}  {name:<{_NAME_WIDTH}}  {found.text} {found.cure}".rstrip()


def document(findings: list[tuple[str, Finding]]) -> str:
    """Return all findings as one JSON document."""
    checks = [
        {"check": name, "level": found.level, "text": found.text, "cure": found.cure}
        for name, found in findings
    ]
    return json.dumps({"exit": status(findings), "checks": checks}, indent=1, ensure_ascii=False)


def status(findings: list[tuple[str, Finding]]) -> int:
    """Return the exit status: 0 all is well, 1 warnings, 2 problems."""
    return max((EXIT[found.level] for _, found in findings), default=0)


def unreadable_settings(sentence: str, *, as_json: bool) -> str:
    """Return the report when the settings could not even be read."""
    found = Finding(Level.PROBLEM, sentence, "Nothing else can be looked at until then.")
    if as_json:
        return document([("settings", found)])
    return line("settings", found, colour=False)
