"""What every outcome of the statistics offers: a mapping, a frame, LaTeX, Markdown, HTML and a figure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from graphgauge.core.errors import OptionError, UnknownNameError, one_of
from graphgauge.core.options import whole_number
from graphgauge.old.core.grids import Grid
from graphgauge.old.core.schema import write_product

if TYPE_CHECKING:
    import pandas

    from graphgauge.old.stats.comparison import Comparison

MARKS = ("tests", "ranks", "none")
_MOST_DIGITS = 15
T = TypeVar("T")


@dataclass(frozen=True)
class Style:
    """How tables are printed: digits after the point, times 100, which methods come first, and what is marked.

    `marks="tests"` marks the best and what does not differ significantly from it; `"ranks"` the best and the second
    best mean, as papers do, which says nothing about significance.
    """

    digits: int | None = None
    percent: bool = False
    order: tuple[str, ...] = ()
    marks: str = "tests"

    def __post_init__(self) -> None:
        one_of("marks", self.marks, MARKS)
        if self.digits is not None:
            whole_number("digits", self.digits, 0)
            if self.digits > _MOST_DIGITS:
                raise OptionError(f"digits is {self.digits}, above {_MOST_DIGITS}")
        order = (self.order,) if isinstance(self.order, str) else tuple(self.order)
        object.__setattr__(self, "order", order)
        for name in order:
            if order.count(name) > 1:
                raise OptionError(f"order names {name!r:.60} twice")

    @property
    def factor(self) -> float:
        return 100.0 if self.percent else 1.0

    def ordered(self, rows: Iterable[T], method: Callable[[T], str]) -> list[T]:
        """The rows of the named methods in their order, then the others as they were."""
        rows = list(rows)
        known = dict.fromkeys(method(row) for row in rows)
        for name in self.order:
            one_of("method", name, known)
        place = {name: number for number, name in enumerate(self.order)}
        return sorted(rows, key=lambda row: place.get(method(row), len(place)))


class Presented(Mapping[Any, Any]):
    """A mapping with a table: `grid` and `records` are all that a class adds to iteration, length and items."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def __getitem__(self, key: Any) -> Any:
        raise NotImplementedError

    # Outcomes are compared by identity: they contain arrays.
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def grid(self, style: Style | None = None) -> Grid:
        raise NotImplementedError

    def records(self) -> list[dict[str, Any]]:
        """One dictionary per row, with numbers in full."""
        raise NotImplementedError

    def render(self, form: str, style: Style | None = None) -> str:
        raise NotImplementedError

    def __contains__(self, key: object) -> bool:
        try:
            self[key]
        except (UnknownNameError, TypeError):
            return False
        except OptionError:
            return False
        except ValueError:  # several rows match: the key is there
            return True
        return True

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key, or the default if it is not there."""
        try:
            return self[key]
        except UnknownNameError:
            return default

    def to_frame(self) -> pandas.DataFrame:
        """The rows as a pandas data frame, with numbers in full."""
        from graphgauge.core.extras import need

        return need("pandas", "a data frame").DataFrame(self.records())

    def to_latex(
        self, *, digits: int | None = None, percent: bool = False, order: Sequence[str] = (), marks: str = "tests"
    ) -> str:
        """The table in LaTeX, for booktabs; see `Style` for the options."""
        return self.grid(Style(digits, percent, tuple_of(order), marks)).latex()

    def to_markdown(
        self, *, digits: int | None = None, percent: bool = False, order: Sequence[str] = (), marks: str = "tests"
    ) -> str:
        """The table in Markdown; see `Style` for the options."""
        return self.grid(Style(digits, percent, tuple_of(order), marks)).markdown()

    def to_html(
        self, *, digits: int | None = None, percent: bool = False, order: Sequence[str] = (), marks: str = "tests"
    ) -> str:
        """The table in HTML; see `Style` for the options."""
        return self.grid(Style(digits, percent, tuple_of(order), marks)).html()

    def _repr_html_(self) -> str:
        return self.to_html()

    def plot(self, path: str | Path | None = None, kind: str | None = None, *, ax: Any = None) -> Any:
        """Draw a figure.

        Parameters
        ----------
        path
            A .svg, .png or .pdf file to write, too.
        kind
            For a comparison `ranks` or `differences`; for an aggregate `intervals`.
        ax
            Matplotlib axes to draw on, or to take the place of, instead of a new figure.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook shows.
        """
        from graphgauge.old.core.figures import drawn
        from graphgauge.old.stats import figures

        kinds = figures.KINDS.get(type(self).__name__, ())
        if not kinds:
            raise OptionError(f"there is no figure of {type(self).__name__}", fix="Use to_frame() and draw it.")
        draw = getattr(figures, f"draw_{one_of('kind of figure', kind or kinds[0], kinds)}")
        return drawn(lambda target: draw(self, target), path, ax)

    def save(self, path: str | Path) -> Path:
        """Write a .json, .csv, .md, .tex, .html or .txt file, as its ending says, and return its path."""
        target = Path(path)
        forms = {".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex", ".txt": "table"}
        ending = target.suffix.lower()
        if ending not in (*forms, ".html"):
            raise OptionError(
                f"{target.name!r:.60} has no known ending",
                fix=f"Use {', '.join(forms)} or .html; plot() draws figures.",
            )
        write_product(target, self._repr_html_() if ending == ".html" else self.render(forms[ending]))
        return target

    def _ipython_key_completions_(self) -> list[Any]:
        """The keys that a notebook completes."""
        return list(self)


def tuple_of(names: Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def standing_or_test(comparison: Comparison, key: Any) -> Any:
    """The standing of a method, or the test of a pair, named in either order."""
    names = (key,) if isinstance(key, str) else tuple(key)
    for name in names:
        one_of("method", name, comparison.methods)
    if len(names) == 1:
        return next(standing for standing in comparison.standings if standing.method == names[0])
    tests = [test for test in comparison.tests if set(test.names) == set(names) and len(names) == 2]
    if not tests:
        raise UnknownNameError("pair", " vs ".join(names), [" vs ".join(test.names) for test in comparison.tests])
    return tests[0]


def comparison_marks(comparison: Comparison, marks: str) -> dict[str, str]:
    """The marks of methods: the best, and those that do not differ significantly from it, or from the baseline."""
    if marks == "none":
        return {}
    if marks == "ranks":
        sign = -1 if comparison.better == "higher" and comparison.target is None else 1
        target = comparison.target
        bad = {s.method: sign * s.mean if target is None else abs(s.mean - target) for s in comparison.standings}
        others = sorted((value, name) for name, value in bad.items() if name != comparison.best)
        return {comparison.best: "best", others[0][1]: "second"}
    reference = comparison.best if comparison.baseline is None else comparison.baseline
    apart = {frozenset(test.names) for test in comparison.tests if test.significant}
    close = [name for name in comparison.methods if name != reference and frozenset((name, reference)) not in apart]
    best = "best close" if comparison.best in close else "best"
    return {**dict.fromkeys(close, "close"), comparison.best: best}


def times(interval: Iterable[float] | None, factor: float) -> tuple[float, ...] | None:
    return None if interval is None else tuple(factor * end for end in interval)
