"""The plan of a run: which results are up to date, which must be evaluated and why, and which code is imported."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from graphgauge._version import __version__
from graphgauge.core.errors import InputError, MissingExtraError, OptionError
from graphgauge.kernels.threads import available_threads
from graphgauge.old.core.family import family
from graphgauge.old.core.fields import named_paths, read_all
from graphgauge.old.core.files import files_named
from graphgauge.old.io.hashing import HashIndex, using
from graphgauge.study.model import Item, Study
from graphgauge.study.recipe import Recipe, factories
from graphgauge.study.store import whole

_PATTERNS = "Patterns are matched against FAMILY/METHOD/DATASET/SEED and each of the four."


@dataclass(frozen=True)
class Step:
    """An item, the path of its result, and why it must be evaluated: None if its result is up to date."""

    item: Item
    path: Path
    reason: str | None
    chosen: bool = True

    @property
    def runs(self) -> bool:
        return self.chosen and self.reason is not None


@dataclass(frozen=True)
class Plan:
    steps: tuple[Step, ...]
    code: tuple[str, ...]

    @property
    def to_run(self) -> list[Step]:
        return [step for step in self.steps if step.runs]

    @property
    def up_to_date(self) -> list[Step]:
        return [step for step in self.steps if step.reason is None]

    @property
    def left_out(self) -> list[Step]:
        """Not up to date, and not selected."""
        return [step for step in self.steps if step.reason is not None and not step.chosen]


def plan(study: Study, index: HashIndex, only: str | None = None) -> Plan:
    """Check every existing result; inputs are hashed only if a result may be up to date."""
    if not isinstance(only, str | None):
        raise OptionError(f"only is {only!r:.60}", fix=f"Pass one pattern as a text. {_PATTERNS}")

    def step(item: Item) -> Step:
        path = item.path(study.results)
        return Step(item, path, _reason(item, path, study.folder, index), _fits(item, only))

    with ThreadPoolExecutor(available_threads()) as threads:
        steps = tuple(threads.map(step, study.items))
    if not any(step.chosen for step in steps):
        raise OptionError(
            f"no evaluation matches --only {only!r}",
            fix=_PATTERNS,
        )
    code = dict.fromkeys(factory for step in steps if step.runs for factory in factories(step.item))
    return Plan(steps, tuple(code))


def missing_inputs(study: Study, planned: Plan) -> list[str]:
    """The files that evaluations to run name, and that are not there; patterns that match nothing."""
    found: dict[str, None] = {}
    for step in planned.to_run:
        declared = family(step.item.family)
        for text in named_paths(declared.fields, read_all(declared.fields, step.item.options)):
            if text not in found and not _is_there(text, study.folder):
                found[text] = None
    return list(found)


def input_size(study: Study, planned: Plan) -> tuple[int, int]:
    """The files that evaluations to run read, each counted once, and their bytes."""
    found: dict[str, int] = {}
    for step in planned.to_run:
        declared = family(step.item.family)
        for text in named_paths(declared.fields, read_all(declared.fields, step.item.options)):
            if _is_there(text, study.folder):
                for name in files_named(text, study.folder):
                    found[name] = (study.folder / name).stat().st_size
    return len(found), sum(found.values())


def _is_there(text: str, folder: Path) -> bool:
    try:
        return next(files_named(text, folder), None) is not None
    except (InputError, MissingExtraError):  # a URL that cannot be read
        return False


def _fits(item: Item, only: str | None) -> bool:
    if only is None:
        return True
    names = (item.label, item.family, str(item.method), str(item.dataset), str(item.seed))
    return any(fnmatchcase(name, only) for name in names)


def _reason(item: Item, path: Path, folder: Path, index: HashIndex) -> str | None:
    """Why the item must be evaluated, or None."""
    if not path.exists():
        return "new"
    with using(index):
        content = whole(path)
    if content is None:
        return "its result is damaged"
    if content["status"] == "failed":
        return "it failed before"
    try:
        recipe = Recipe.of(item, folder, index)
        if content["receipt"].get("key") == recipe.key:
            return _changed_input(content["receipt"], index)
        return _difference(content["receipt"], recipe, index)
    except (OSError, InputError, MissingExtraError) as error:  # the evaluation will report the same error
        return str(error)
    except (KeyError, TypeError, AttributeError):  # the receipt has no hash
        return "its receipt is damaged"


def _difference(receipt: Mapping[str, Any], recipe: Recipe, index: HashIndex) -> str:
    """Describe the change behind a different key."""
    study = receipt.get("study", {})
    if receipt["versions"].get("graphgauge") != __version__:
        return f"made by version {receipt['versions'].get('graphgauge')}"
    if study.get("options") != dict(recipe.item.options) or study.get("ignore") != dict(recipe.item.ignore):
        return "its options changed"
    if {entry["factory"]: entry["source_hash"] for entry in receipt["code"]} != recipe.code:
        return "its code changed"
    return _changed_input(receipt, index) or "its inputs changed"


def _changed_input(receipt: Mapping[str, Any], index: HashIndex) -> str | None:
    for entry in receipt["inputs"]:
        try:
            unchanged = index.hash(entry["path"]) == entry["hash"]
        except OSError:
            unchanged = False
        if not unchanged:
            return f"{entry['path']} changed"
    return None
