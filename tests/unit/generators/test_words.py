import pytest

from tasks_app.generators.sketch.lexicon import OPPOSITES, TERMS
from tasks_app.generators.sketch.words import read


@pytest.mark.parametrize(
    ("text", "concepts"),
    [
        ("Red Mountains", ["colour.red", "subject.mountain"]),
        ("berries, cities, and daisies", ["subject.city", "subject.flower"]),
        ("golden hour", ["time.gold"]),
        ("a golden sea", ["colour.gold", "subject.sea"]),
        ("stained glass", ["material.glass"]),
        ("infrared scarecrow", []),
        ("红色的山", ["colour.red", "subject.mountain"]),
        ("日落", ["time.dusk"]),
        ("白天", ["time.noon"]),
        ("白云", ["weather.cloud"]),
        ("雨林", ["subject.forest"]),
        ("雪山", ["subject.mountain"]),
        ("水墨画", ["material.ink"]),
        ("星雲", ["subject.space"]),
        ("夜city", ["time.night", "subject.city"]),
        ("火山", ["subject.fire"]),
        ("", []),
        ("🙂 ???", []),
    ],
)
def test_reading(text: str, concepts: list[str]) -> None:
    assert list(read(text).wanted) == concepts


def test_earlier_and_repeated_words_weigh_more() -> None:
    wanted = read("sea mountain").wanted
    assert wanted["subject.sea"] > wanted["subject.mountain"]
    assert read("sea sea").wanted["subject.sea"] > read("sea").wanted["subject.sea"]


def test_negative_prompt_takes_away() -> None:
    reading = read("red sea, moon", "moon, RED")
    assert list(reading.wanted) == ["subject.sea"]
    assert not reading.allows("subject.moon")
    assert reading.avoided_in("colour") == ["red"]


@pytest.mark.parametrize(
    "text",
    ["sea without a moon", "sea, no moons", "大海 没有月亮", "海 无月", "sea without any moon"],
)
def test_negation_inside_the_prompt(text: str) -> None:
    reading = read(text)
    assert list(reading.wanted) == ["subject.sea"]
    assert not reading.allows("subject.moon")


def test_negation_ends_with_its_word() -> None:
    assert read("no moon but stars").has("subject.stars")
    assert read("no clouds. moon").has("subject.moon")


def test_avoiding_night_avoids_its_lights_unless_asked_for() -> None:
    assert not read("sea", "night").allows("subject.stars")
    assert read("sea with stars", "night").allows("subject.stars")


def test_groups_keep_the_order_of_mention() -> None:
    assert read("blue and red, then gold").group("colour") == ["blue", "red", "gold"]


def test_lexicon_is_sound() -> None:
    for concept, (english, chinese) in TERMS.items():
        assert concept.count(".") == 1
        assert english == english.lower()
        assert all(ord(c) > 0x3400 for c in chinese.replace(" ", ""))
        for word in english.replace("-", " ").replace("_", " ").split():
            assert word.isalpha()
    for concept, brought in OPPOSITES.items():
        assert {concept, *brought} <= set(TERMS)
