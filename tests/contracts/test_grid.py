"""The one table: what it shows, what it keeps, and that nothing in it is markup or a command."""

from __future__ import annotations

import html.parser
import json
import math
import re
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphgauge import Grid
from graphgauge.core.errors import InputError, UnknownNameError
from graphgauge.core.grid import FORMS, column

texts = st.text(max_size=12)
numbers = st.floats(allow_nan=True, allow_infinity=True)
cells = st.one_of(texts, numbers, st.integers(-(2**63), 2**63 - 1), st.booleans(), st.none())


@st.composite
def grids(draw):
    names = draw(st.lists(texts, min_size=1, max_size=4, unique=True))
    rows = draw(st.integers(0, 5))
    kinds = [draw(st.sampled_from([texts, numbers, cells])) for _ in names]
    columns = {
        name: column(draw(st.lists(kind, min_size=rows, max_size=rows)))
        for name, kind in zip(names, kinds, strict=True)
    }
    several = st.sampled_from(["best", "second", "close", "best close"])
    marks = {(row, names[-1]): draw(several) for row in range(rows)}
    return Grid(columns, marks=marks, notes=tuple(draw(st.lists(texts, max_size=2))))


def test_numbers_are_shown_with_what_they_mean():
    grid = Grid.of(method=["a", "b"], mrr=[0.08, 0.0], n=[3659720, 5], share=[math.nan, -0.00001])
    assert str(grid).splitlines()[2:] == ["a       0.0800  3,659,720       –", "b            0          5  -1e-05"]


def test_a_zero_has_no_sign_and_an_integer_no_decimals():
    grid = Grid.of(x=[-0.0], n=[7])
    assert "-0" not in str(grid)
    assert str(grid).splitlines()[-1].split() == ["0", "7"]


def test_ids_that_name_the_rows_are_not_grouped():
    assert str(Grid.of(node=[12345], n=[12345])).splitlines()[-1] == "12345  12,345"


def test_text_keeps_its_digits():
    assert "0.080" in str(Grid.of(method=["0.080"]))


def test_csv_has_all_digits_and_no_formula():
    grid = Grid.of(name=["=1+1", "-3", "@x"], value=[1 / 3, math.inf, math.nan])
    assert grid.to_csv().splitlines()[1:] == ["'=1+1,0.3333333333333333", "-3,inf", "'@x,"]


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(UnknownNameError, match="mrr"):
        Grid.of(method=["a"], mrr=[0.5])["mr"]


def test_a_grid_is_its_columns_as_a_data_frame_is():
    grid = Grid.of(method=["ours", "theirs"], mrr=[0.25, 0.08])
    assert list(grid) == ["method", "mrr"]
    assert all(name in grid for name in grid)


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(InputError, match="differ in length"):
        Grid.of(a=[1], b=[1, 2])


def test_marks_are_explained_below():
    grid = Grid.of(method=["a", "b"], mrr=[0.5, 0.4])
    marked = Grid(grid.columns, marks={(0, "mrr"): "best", (1, "mrr"): "close"}, notes=("Two runs.",))
    assert str(marked).splitlines()[2:] == [
        "a       0.5000 *",
        "b       0.4000 ~",
        "*: best, ~: not significantly different from the best.",
        "Two runs.",
    ]
    assert "**0.5000**" in marked.to_markdown()
    assert r"\textbf{0.5000}" in marked.to_latex()
    assert "<b>0.5000</b>" in marked.to_html()


def test_long_tables_are_cut_where_people_read_them():
    grid = Grid.of(row=range(100), x=np.arange(100.0))
    assert "60 more rows" in str(grid)
    assert "60 more rows" in grid._repr_html_()
    assert len(grid.to_csv().splitlines()) == 101


@given(grids())
def test_every_form_takes_every_table(grid):
    for form in FORMS:
        assert isinstance(grid.render(form), str)
    assert grid == grid
    json.loads(grid.to_json())


class _Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.names = set()

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)


@given(grids())
def test_nothing_in_html_is_markup_and_readers_hear_what_a_cell_is(grid):
    page = grid.to_html()
    tags = _Tags()
    tags.feed(page)
    assert tags.names <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "p", "b", "u", "i"}
    assert page.count("<caption>") == 1
    assert page.count('scope="col"') == len(grid.columns)
    assert page.count('scope="row"') == len(grid)


@given(texts)
def test_nothing_in_markdown_is_html_or_a_link(text):
    row = Grid.of(name=[text]).to_markdown().splitlines()[2]
    assert not re.search(r"(?<!\\)[<`\[*_]", row[2:-2])


@given(st.lists(texts, max_size=4))
def test_a_row_of_latex_has_no_character_that_latex_does_not_have(values):
    for character in Grid.of(name=values).to_latex():
        assert character.isascii() or "À" <= character <= "ž"


HARD = [
    "a_b & 50 % of $x$",
    r"\input{/etc/passwd}",
    "{}[]*^~#|<>\"'",
    "α Ω β ξ R² ½ ﬁ",
    "mrr ↑ ± – — … ≥ ≤ ≠ ≈ ∞ ◎ →",
    "Zoë Łukasz Čapek",
    "方法",
    "[0.1, 0.2]",
    "* starred",
    "\x00\x07 control",
    "emoji 🙂",
    "",
]


@pytest.mark.slow
def test_latex_sets_every_table(tmp_path):
    """With all of what the tests above draw in one document."""
    tex = shutil.which("pdflatex")
    if tex is None:
        pytest.fail("this test needs pdflatex (Debian: texlive-latex-base, texlive-latex-recommended)")
    every = [chr(code) for code in range(0x20, 0x2600) if chr(code).isprintable()]
    tables = [Grid.of(name=HARD, value=np.linspace(-1, 1, len(HARD))), Grid.of(name=every)]
    tables += [Grid(tables[0].columns, marks={(0, "value"): "best", (1, "value"): "second close"}, notes=tuple(HARD))]
    body = "\n\n".join(table.to_latex().replace("tabular", "longtable") for table in tables)
    head = r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage[utf8]{inputenc}"
    head += r"\usepackage{booktabs,longtable,amssymb}"
    (tmp_path / "tables.tex").write_text(f"{head}\n\\begin{{document}}\n{body}\n\\end{{document}}\n", encoding="utf-8")
    done = subprocess.run(
        [tex, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "tables.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "passwd" not in [path.name for path in tmp_path.iterdir()]
