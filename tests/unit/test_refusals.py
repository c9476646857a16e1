"""Insecure set-ups do not start, each with a sentence; the production one passes every check."""

import os
import runpy
import secrets
from pathlib import Path
from typing import Any

import pytest

from aigc_site import refusals
from aigc_site.env import BadSetting

SETTINGS = Path(refusals.__file__).with_name("settings.py")
PUBLIC = "https://pictures.example.org"
KEY = secrets.token_urlsafe(48)


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns a function that reads the settings with these variables and no others of ours."""
    for name in [*os.environ]:
        if name.startswith("DARKROOM_"):
            monkeypatch.delenv(name)

    def read(**variables: str) -> dict[str, Any]:
        given = {
            "DATABASE_URL": "postgresql://darkroom:pw@127.0.0.1/darkroom",
            "REDIS_URL": "redis://:pw@127.0.0.1/0",
            "DARKROOM_SECRET_KEY": KEY,
            "DARKROOM_PUBLIC_URL": PUBLIC,
        }
        for name, value in (given | variables).items():
            monkeypatch.setenv(name, value)
        return runpy.run_path(str(SETTINGS))

    return read


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"DARKROOM_SECRET_KEY": ""}, "DARKROOM_SECRET_KEY is not set"),
        ({"DARKROOM_SECRET_KEY": "a8Fk3Pz0"}, "too short"),
        ({"DARKROOM_SECRET_KEY": secrets.token_urlsafe(48)[:40]}, "fewer than 50"),
        ({"DARKROOM_SECRET_KEY": "django-insecure-" + KEY}, "can be guessed"),
        ({"DARKROOM_SECRET_KEY": "only-an-example-" + KEY}, "can be guessed"),
        ({"DARKROOM_SECRET_KEY": "my-secret-key-" + KEY}, "can be guessed"),
        ({"DARKROOM_SECRET_KEY": "x" * 64}, "can be guessed"),
        ({"DARKROOM_SECRET_KEY": "0123456789abcdef" * 4}, "can be guessed"),
        ({"DARKROOM_SECRET_KEY": "CHANGE-ME" + KEY}, "DARKROOM_SECRET_KEY still holds"),
        ({"DATABASE_URL": "postgresql://d:CHANGE-ME@127.0.0.1/d"}, "DATABASE_URL still holds"),
        ({"REDIS_URL": "redis://:CHANGE-ME@127.0.0.1/0"}, "REDIS_URL still holds"),
        ({"DATABASE_URL": ""}, "DATABASE_URL is not set"),
        ({"DATABASE_URL": "sqlite:///x"}, "PostgreSQL is the only database"),
        ({"REDIS_URL": ""}, "REDIS_URL is not set"),
        ({"DARKROOM_DEBUG": "1"}, "DARKROOM_DEBUG shows"),
        (
            {
                "DARKROOM_DEBUG": "1",
                "DARKROOM_PUBLIC_URL": "http://pictures.example.org",
                "DARKROOM_INSECURE_HTTP": "1",
            },
            "DARKROOM_DEBUG shows",
        ),
        ({"DARKROOM_PUBLIC_URL": "http://pictures.example.org"}, "is not https"),
        ({"DARKROOM_PUBLIC_URL": "https://pictures.example.org/darkroom"}, "scheme and host"),
        ({"DARKROOM_PUBLIC_URL": "https://user:pw@pictures.example.org"}, "scheme and host"),
        ({"DARKROOM_ALLOWED_HOSTS": "*"}, "allows every name"),
        ({"DARKROOM_ALLOWED_HOSTS": "pictures.example.org,*"}, "allows every name"),
        ({"DARKROOM_BEHIND_PROXY": "perhaps"}, "set it to 1"),
    ],
)
def test_an_insecure_setup_is_refused(load: Any, variables: dict[str, str], sentence: str) -> None:
    with pytest.raises(BadSetting, match=sentence) as refusal:
        load(**variables)
    assert str(refusal.value).count("\n") == 0
    assert KEY not in str(refusal.value)


def test_what_is_good_enough_on_loopback(load: Any) -> None:
    short = secrets.token_hex(16)
    found = load(
        DARKROOM_SECRET_KEY=short, DARKROOM_PUBLIC_URL="http://[::1]:8000", DARKROOM_DEBUG="1"
    )
    assert found["DEBUG"] and not found["SESSION_COOKIE_SECURE"]


@pytest.mark.parametrize("number", range(50))
def test_random_keys_are_never_refused(number: int) -> None:
    for key in (secrets.token_urlsafe(48), secrets.token_hex(32), secrets.token_hex(25)):
        refusals.weak_key(key, PUBLIC)


def test_without_allowed_hosts_only_the_public_name_and_loopback_are_let_in(load: Any) -> None:
    assert load()["ALLOWED_HOSTS"] == ["pictures.example.org", "127.0.0.1", "localhost", "[::1]"]
    six = load(DARKROOM_PUBLIC_URL="https://[2001:db8::7]:8443")
    assert six["ALLOWED_HOSTS"][0] == "[2001:db8::7]"
    assert load(DARKROOM_ALLOWED_HOSTS="a.example,.b.example")["ALLOWED_HOSTS"] == [
        "a.example",
        ".b.example",
    ]


def test_public_https_keeps_cookies_to_itself(load: Any) -> None:
    found = load(DARKROOM_BEHIND_PROXY="1", DARKROOM_HSTS_SECONDS="31536000")
    assert found["SESSION_COOKIE_SECURE"] and found["CSRF_COOKIE_SECURE"]
    assert found["SECURE_SSL_REDIRECT"] and found["SECURE_HSTS_SECONDS"] == 31_536_000
    assert found["MIDDLEWARE"][0] == "aigc_site.proxy.ClientAddressMiddleware"
    alone = load(DARKROOM_BEHIND_PROXY="0")
    assert not alone["SECURE_SSL_REDIRECT"] and alone["SECURE_PROXY_SSL_HEADER"] is None


def test_an_old_key_is_believed_while_the_key_is_changed(load: Any) -> None:
    assert load()["SECRET_KEY_FALLBACKS"] == []
    assert load(DARKROOM_OLD_SECRET_KEY="o" * 50)["SECRET_KEY_FALLBACKS"] == ["o" * 50]
