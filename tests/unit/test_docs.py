"""Documents that cannot drift: what exists is described, what is described exists."""

import re
from pathlib import Path

from django.core.management import get_commands

from tasks_app.lifecycle import ErrorCode, State, Wait

ROOT = Path(__file__).resolve().parents[2]
_NAME = re.compile(r'"((?:DARKROOM_[A-Z_]+)|DATABASE_URL|REDIS_URL)"')
_WRITTEN_NOT_READ = {
    "DARKROOM_URL",
    "DARKROOM_ADMIN_USER",
    "DARKROOM_ADMIN_PASSWORD",
    "DARKROOM_USER",
    "DARKROOM_PASSWORD",
    "DARKROOM_API_KEY",
}


def read(*names: str) -> str:
    return "\n".join((ROOT / name).read_text() for name in names)


def test_every_setting_is_documented_and_every_documented_one_exists() -> None:
    used = set(_NAME.findall(read("aigc_site/settings.py")))
    described = set(re.findall(r"^\| `([A-Z_]+)` \|", read("docs/settings.md"), re.MULTILINE))
    assert described == used
    assert all(name in read("docs/settings.md") for name in _WRITTEN_NOT_READ)


def test_every_error_code_state_and_reason_is_documented() -> None:
    text = read("docs/api.md")
    missing = [word for word in (*ErrorCode, *State, *Wait) if f"`{word}`" not in text]
    assert missing == []


def test_every_command_is_documented() -> None:
    own = [name for name, app in get_commands().items() if app == "tasks_app"]
    text = read("README.md", "CONTRIBUTING.md", "docs/settings.md", "docs/commands.md")
    assert [name for name in own if f"manage.py {name}" not in text] == []


def test_links_between_documents_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} -> {target}"
