"""Plots for the documentation: SVG by hand, readable in light and dark."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

_WIDTH: Final = 760
_LEFT, _RIGHT = 150, 150
_ROW: Final = 20
_GAP: Final = 14
_TOP: Final = 74
_TICKS: Final = (
    (1.0, "1 s"),
    (10.0, "10 s"),
    (60.0, "1 min"),
    (600.0, "10 min"),
    (3_600.0, "1 h"),
    (36_000.0, "10 h"),
)
_STYLE: Final = """
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.small { font-size: 11px; fill: #59636e; }
.title { font-size: 15px; font-weight: 600; }
.tick { stroke: #d1d9e0; }
.c0 { fill: #c2410c; } .c1 { fill: #7a8794; } .c2 { fill: #4f6db8; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f2f5; } .small { fill: #a6b0bb; } .tick { stroke: #3d444d; }
  .c0 { fill: #fb923c; } .c1 { fill: #8b97a3; } .c2 { fill: #8ea6e8; }
}
"""


@dataclass(frozen=True, slots=True)
class Band:
    """One bar: what it is of, its series, from where to where in seconds, and its words."""

    label: str
    series: str
    low: float
    high: float
    text: str


def draw(title: str, bands: Sequence[Band]) -> str:
    """Return bands, grouped by label, over one logarithmic scale of seconds."""
    series = list(dict.fromkeys(band.series for band in bands))
    highest = max(max(band.high for band in bands), 10.0)
    lines, y = [], _TOP
    label = ""
    for band in bands:
        if band.label != label:
            y += _GAP if label else 0
            label = band.label
            lines.append(_text(_LEFT - 12, y + 1.5 * _ROW, label, "end"))
        left, right = _x(band.low, highest), _x(band.high, highest)
        lines.append(
            f'<rect class="c{series.index(band.series)}" x="{left:.1f}" y="{y + 4}" rx="3" '
            f'width="{max(4.0, right - left):.1f}" height="{_ROW - 8}"/>'
        )
        lines.append(_text(max(right, left + 4) + 8, y + 14, band.text, "start", "small"))
        y += _ROW
    return "\n".join([*_head(title, series, y + 16), *_scale(highest, y), *lines, "</svg>\n"])


def _head(title: str, series: Sequence[str], height: float) -> list[str]:
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}" '
        f'role="img" aria-label="{escape(title)}">',
        f"<style>{_STYLE}</style>",
        _text(12, 22, title, "start", "title"),
    ]
    x = 12.0
    for number, name in enumerate(series):
        lines.append(f'<rect class="c{number}" x="{x:.0f}" y="36" width="12" height="12" rx="3"/>')
        lines.append(_text(x + 18, 47, name, "start"))
        x += 40 + 7.2 * len(name)
    return lines


def _scale(highest: float, bottom: float) -> list[str]:
    lines = []
    for seconds, words in _TICKS:
        if seconds <= highest:
            x = _x(seconds, highest)
            lines.append(
                f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 4}" y2="{bottom}"/>'
            )
            lines.append(_text(x, bottom + 13, words, "middle", "small"))
    return lines


def _x(seconds: float, highest: float) -> float:
    part = math.log(max(seconds, 1.0)) / math.log(highest)
    return _LEFT + part * (_WIDTH - _LEFT - _RIGHT)


def _text(x: float, y: float, words: str, anchor: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
