"""What the scripts and templates must never contain."""

import re
from pathlib import Path

import pytest
from django.conf import settings

STATIC = Path(settings.BASE_DIR) / "tasks_app" / "static" / "web"
TEMPLATES = Path(settings.BASE_DIR) / "templates"
SCRIPTS = sorted(STATIC.glob("*.js"))

_MARKUP = re.compile(
    r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|srcdoc)"
)
_IMPORT = re.compile(r'from "([^"]+)"')


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_build_no_markup_from_strings_and_load_only_neighbours(path: Path) -> None:
    text = path.read_text()
    assert not _MARKUP.search(text)
    for name in _IMPORT.findall(text):
        assert name.startswith("./")
        assert (STATIC / name).is_file()
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text
    assert "randomUUID(" not in text  # missing on plain http


def test_icons_that_scripts_name_exist() -> None:
    sprite = (TEMPLATES / "web" / "icons.html").read_text()
    known = set(re.findall(r'id="i-([a-z]+)"', sprite))
    text = "\n".join(path.read_text() for path in SCRIPTS)
    named = set(re.findall(r'\bicon\("([a-z]+)"', text)) | set(
        re.findall(r'icon: "([a-z]+)"', text)
    )
    assert named
    assert named <= known
    used = set(
        re.findall(r"#i-([a-z]+)", "".join(p.read_text() for p in TEMPLATES.rglob("*.html")))
    )
    assert used <= known


def test_the_style_sheet_loads_nothing() -> None:
    text = (STATIC / "app.css").read_text()
    assert "@import" not in text
    assert "url(" not in text
