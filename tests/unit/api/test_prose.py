"""What stands between backticks is code, and nothing is markup."""

import pytest

from tasks_app.templatetags.prose import prose

TEXTS = [
    ("plain", "plain"),
    ("send `If-None-Match` again", "send <code>If-None-Match</code> again"),
    ("`a` and `b`", "<code>a</code> and <code>b</code>"),
    ("<b> & `<i>`", "&lt;b&gt; &amp; <code>&lt;i&gt;</code>"),
    ("one ` alone {0} {}", "one ` alone {0} {}"),
    ("`{}` {x}", "<code>{}</code> {x}"),
    ("", ""),
]


@pytest.mark.parametrize(("text", "markup"), TEXTS)
def test_prose(text: str, markup: str) -> None:
    assert prose(text) == markup
