"""Draws docs/_static/why.svg, the first picture of the README, from the answers of several evaluators in why.py.

The results of the other libraries are measured by `python -m tests.peers.why`; `make peers` does both.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

from why import NEGATIVES, QUERIES, Answer, Case, compared

PICTURE = Path(__file__).with_name("_static") / "why.svg"

WIDTH, MARGIN, NAMES = 800, 16, 176
# Heights: a row of the matrix, the extra space for graphgauge's interval, and the column heads.
ROW, OWN, HEAD = 48, 22, 84
INK, GREY, RULE = "#1f2430", "#5b6472", "#d5dae1"
OURS, FIELD = "#0b5fa5", "#e8f1fa"
ORDER, NOTHING = "#a65a00", "#b3261e"
# Readable on a phone, which shows the picture at half its size.
LARGE, NORMAL, SMALL = 22, 19, 17

Rows = list[tuple[Case, list[Answer]]]


def picture(rows: Rows) -> str:
    ranks = [row for row in rows if row[0].question == "mrr"]
    distances = [row for row in rows if row[0].question == "shd"]
    first = 64 + HEAD + ROW * len(ranks[0][1]) + OWN
    second = first + 104
    height = second + HEAD - 26 + 44 * len(distances) + 20
    body = [
        _text(MARGIN, 30, "One set of scores, seven evaluators: mean reciprocal rank", LARGE, weight=700),
        _text(MARGIN, 54, f"{QUERIES} queries, {NEGATIVES} negatives each", SMALL, fill=GREY),
        *_matrix(ranks, 64),
        *_legend(first + 26),
        _text(MARGIN, second - 24, "One mistake in a graph, six evaluators: SHD", LARGE, weight=700),
        *_distances(distances, second),
    ]
    drawn = "\n".join(body)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-labelledby="title" font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, '
        f'sans-serif">\n<title id="title">{escape(_spoken(rows))}</title>\n'
        f'<rect width="{WIDTH}" height="{height}" rx="10" fill="#ffffff"/>\n{drawn}\n</svg>\n'
    )


def _matrix(rows: Rows, top: int) -> Iterator[str]:
    """A column for each case and a line for each evaluator; every cell is a scale from 0 to 1."""
    column = (WIDTH - 2 * MARGIN - NAMES) // len(rows)
    names = [one.evaluator for one in rows[0][1]]
    for place, (case, _) in enumerate(rows):
        x = MARGIN + NAMES + place * column + 8
        for line, part in enumerate(_wrapped(case.name, 11)):
            yield _text(x, top + 24 + 21 * line, part, NORMAL, weight=700)
        yield _text(x, top + HEAD - 22, case.remark, 15, fill=GREY)
    for place, name in enumerate(names):
        y = top + HEAD - 8 + place * ROW
        ours = place == len(names) - 1
        if ours:
            yield f'<rect x="8" y="{y}" width="{WIDTH - 16}" height="{ROW + OWN}" fill="{FIELD}"/>'
        else:
            yield _line(MARGIN, y + ROW, WIDTH - MARGIN, y + ROW, RULE)
        yield _name(MARGIN, y + 30, name, ours)
        for number, (_, answers) in enumerate(rows):
            x = MARGIN + NAMES + number * column + 8
            yield from _cell(answers[place], answers[-1].chance, x, y, column - 24, ours)


def _cell(one: Answer, chance: float | None, x: int, y: int, width: int, ours: bool) -> Iterator[str]:
    by_order = one.low is not None and one.high is not None and one.high - one.low > 5e-4
    chances = chance is not None
    colour = OURS if ours else NOTHING if not chances and one.low is not None else ORDER if by_order else INK
    yield _text(x, y + 22, one.text, NORMAL, fill=colour, weight=700 if ours or colour != INK else 400)
    if one.low is None or one.high is None:
        return
    if ours and one.interval:
        yield _text(x, y + 44, f"[{one.interval[0]:.3f}, {one.interval[1]:.3f}]", 15, fill=OURS)
    axis = y + 35 + (OWN if ours else 0)
    yield _line(x, axis, x + width, axis, RULE, 2)
    if chance is not None:
        yield _line(x + chance * width, axis - 7, x + chance * width, axis + 7, GREY, 2, "2 2")
    if ours and one.interval:
        low, high = (x + bound * width for bound in one.interval)
        yield _line(low, axis, high, axis, OURS, 7, opacity=0.35)
    low, high = (x + min(value, 1.0) * width for value in (one.low, one.high))
    if by_order:
        yield _line(low, axis, high, axis, colour, 3)
    for place in sorted({low, high}):
        yield f'<circle cx="{place:.1f}" cy="{axis}" r="{3 if ours else 5.5}" fill="{colour}"/>'
    if one.high > 1:
        yield f'<path d="M{x + width + 6:.1f} {axis - 6} l9 6 l-9 6 z" fill="{colour}"/>'


def _legend(y: int) -> Iterator[str]:
    yield _line(MARGIN + 4, y - 12, MARGIN + 4, y + 2, GREY, 2, "2 2")
    yield _text(MARGIN + 14, y, "chance", SMALL, fill=GREY)
    yield _line(MARGIN + 90, y - 5, MARGIN + 112, y - 5, OURS, 7, opacity=0.35)
    yield _text(MARGIN + 120, y, "95 % interval", SMALL, fill=GREY)
    yield _text(MARGIN + 250, y, "depends on input order", SMALL, fill=ORDER, weight=700)
    yield _text(MARGIN + 520, y, "a score for nothing", SMALL, fill=NOTHING, weight=700)


def _distances(rows: Rows, top: int) -> Iterator[str]:
    """A line for each case and a column for each evaluator."""
    names = [one.evaluator for one in rows[0][1]]
    start = MARGIN + 200
    column = (WIDTH - MARGIN - start) // len(names)
    bottom = top + HEAD - 26 + 44 * len(rows)
    x = start + (len(names) - 1) * column
    yield f'<rect x="{x}" y="{top - 10}" width="{column}" height="{bottom - top + 14}" fill="{FIELD}"/>'
    for place, name in enumerate(names):
        package, _, number = name.rpartition(" ")
        middle, ours = start + place * column + column / 2, place == len(names) - 1
        yield _text(middle, top + 14, package, 16, OURS if ours else INK, 700 if ours else 400, "middle")
        yield _text(middle, top + 34, number, 14, GREY, anchor="middle")
    for line, (case, answers) in enumerate(rows):
        y = top + HEAD - 26 + 44 * line
        yield _line(MARGIN, y - 12, WIDTH - MARGIN, y - 12, RULE)
        yield _text(MARGIN, y + 18, case.name, NORMAL, weight=700)
        common = max({one.text for one in answers}, key=[one.text for one in answers].count)
        for place, one in enumerate(answers):
            middle, ours = start + place * column + column / 2, place == len(answers) - 1
            colour = OURS if ours else INK if one.text == common else ORDER
            yield _text(middle, y + 18, one.text, NORMAL, colour, 700 if colour != INK else 400, "middle")


def _name(x: float, y: float, name: str, ours: bool) -> str:
    package, _, number = name.rpartition(" ")
    colour, weight = (OURS, 700) if ours else (INK, 400)
    return (
        f'<text x="{x}" y="{y}" font-size="{NORMAL}" fill="{colour}" font-weight="{weight}">{escape(package)} '
        f'<tspan font-size="14" fill="{GREY}" font-weight="400">{escape(number)}</tspan></text>'
    )


def _text(x: float, y: float, text: str, size: int, fill: str = INK, weight: int = 400, anchor: str = "start") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}" font-weight="{weight}" '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )


def _line(
    x1: float, y1: float, x2: float, y2: float, colour: str, width: int = 1, dashes: str = "", opacity: float = 1
) -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    faint = f' stroke-opacity="{opacity}"' if opacity < 1 else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{width}"{dashed}{faint}/>'
    )


def _wrapped(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}".strip()
        if len(joined) > width and lines[-1]:
            lines.append(word)
        else:
            lines[-1] = joined
    return lines


def _spoken(rows: Rows) -> str:
    """The picture as text, for screen readers."""
    return " ".join(
        f"{case.name}: " + ", ".join(f"{one.evaluator} {one.text}" for one in answers) + "." for case, answers in rows
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(list(compared())), encoding="utf-8")
