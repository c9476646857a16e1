"""What the studio suggests to somebody without pictures is what the default generator draws."""

import re
from typing import Final

import numpy as np
import numpy.typing as npt
import pytest
from django.utils.translation.trans_real import DjangoTranslation

from tasks_app.generators.sketch.compositions import COMPOSITIONS
from tasks_app.generators.sketch.painting import Wish, picture, plan
from tasks_app.generators.sketch.progress import Progress
from tests.unit.web.test_sources import STATIC

# What each suggestion is of, in the order of the page: a concept, and how it is composed.
EXPECTED: Final = (
    ("subject.lighthouse", "sea"),
    ("weather.aurora", "mountains"),
    ("weather.fog", "inkwash"),
    ("subject.flower", "flowers"),
)


def ideas(language: str) -> list[str]:
    """Read the suggestions from the script, in a language."""
    source = (STATIC / "gallery.js").read_text()
    listed = re.search(r"const ideas = \[(.*?)\];", source, re.DOTALL)
    assert listed
    english = re.findall(r'gettext\("(.*?)"\)', listed[1])
    catalogue = DjangoTranslation(language, domain="djangojs")
    return [catalogue.gettext(one) for one in english]


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_suggestions_are_drawn(language: str) -> None:
    found = ideas(language)
    assert len(found) == len(EXPECTED)
    for idea, (concept, composition) in zip(found, EXPECTED, strict=True):
        for seed in range(8):
            made = plan(Wish(idea, "", seed, 256, 256))
            assert made.reading.has(concept), idea
            assert made.composition is COMPOSITIONS[composition], (idea, seed)


def test_a_lighthouse_stands_and_shines() -> None:
    def painted(avoided: str) -> npt.NDArray[np.float64]:
        wish = Wish("a lighthouse by the sea at night", avoided, 3, 256, 256, "sea", "draft")
        return np.asarray(picture(wish, Progress(lambda _: None)).convert("L"), dtype=float)

    change = painted("") - painted("lighthouse")
    assert (change > 60).sum() > 20  # the lamp
    assert (change < -25).sum() > 50  # the tower before the sky
