"""The tables of a study: their keys, declared as the options of doors are; `compare` and `gate` have the same."""

from __future__ import annotations

from typing import Literal

from graphgauge.core.door import CONFIDENCE, REQUIRED, Door, Option, Texts

_ABOUT = (
    Option("family", Texts, (), "The families that it is about; all if left out."),
    Option("method", Texts, (), "The methods."),
    Option("dataset", Texts, (), "The datasets."),
)
ABOUT = tuple(each.name for each in _ABOUT)
_METRIC = Option("metric", str, REQUIRED, "The metric.", shown="KEY")

# Options that the command `compare` has, too.
COMPARISONS = (
    Option("baseline", str | None, None, "Compare the others with this one, not all pairs.", shown="METHOD"),
    Option("over", Literal["seeds", "items"], "seeds", "Seeds, or the queries, events or time steps of single runs."),
    Option("design", Literal["auto", "paired", "unpaired"], "auto", "Whether runs belong together by seed."),
    Option("datasets", Literal["drawn", "these"], "drawn", "A claim about datasets like these, or about these."),
    Option("test", Literal["mean", "ranks"], "mean", "Test means, or ranks (Wilcoxon)."),
    Option("margin", float | None, None, "A difference that does not matter: are methods equivalent?", 0, inside=True),
    CONFIDENCE,
)
MISSING = Option(
    "missing", Literal["raise", "omit", "worst"], "raise", "Without a value: an error, left out, or worst."
)
TRUTHS = Option("truths", Literal["same", "any"], "same", "Refuse results measured against different truths, or not.")
# Options that the command `gate` has, too.
REGRESSIONS = (
    Option("over", Literal["auto", "items", "seeds", "intervals"], "auto", "Compare runs, their items or intervals."),
    Option("undecided", Literal["fail", "pass"], "fail", "Whether an undecided test fails."),
    Option("confidence", float, 0.95, "Confidence with which a larger loss is excluded.", 0, 1, inside=True),
)


def _table(name: str, example: str, *options: Option) -> Door:
    return Door(name, "", "", (), options, example=example, common=())


TOP = _table(
    "study",
    "schema = 1",
    Option("schema", int | None, None, "The edition of the file."),
    Option("name", str | None, None, "The study's name."),
    Option("results", str, "results", "The folder of results."),
)
EVALUATE = _table(
    "evaluate",
    'family = "ranking"',
    Option("family", str, REQUIRED, "The family."),
    Option("door", str, "", "Another way into it than its first."),
    Option("dataset", str | None, None, "The dataset."),
    Option("datasets", Texts, (), "Several."),
    Option("method", str | None, None, "The method."),
    Option("methods", Texts, (), "Several."),
    Option("run_seed", int | None, None, "The seed that the run was trained with."),
    Option("seeds", tuple[int, ...], (), "Several."),
    Option("tags", dict[str, str | int | float | bool] | None, None, "What else is to be known of the run."),
    Option("keep_items", bool, False, "Keep the values of single items beside the result."),
)
COMPARE = _table("compare", 'metric = "mrr"', _METRIC, *COMPARISONS, MISSING, TRUTHS, *_ABOUT)
REQUIRE = _table(
    "gate",
    'require = "mrr.low >= 0.7", or against = "main/results" with metric and margin',
    Option("require", str, REQUIRED, "What must hold."),
    *_ABOUT,
)
AGAINST = _table(
    "gate",
    'metric = "mrr" and margin = 0.005',
    Option("against", str, REQUIRED, "Results of an earlier version."),
    _METRIC,
    Option("margin", float, REQUIRED, "The loss that does not matter.", 0, inside=True),
    *REGRESSIONS,
    *_ABOUT,
)
