"""Whether results follow from their study: it is run again in an empty folder, and everything is compared."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from graphgauge.core.content import ResultFile, versions
from graphgauge.core.disk import read_json
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.files import is_result, save
from graphgauge.core.gate import Gate
from graphgauge.core.number import plural
from graphgauge.core.sealed import read, root_of
from graphgauge.io.request import Request
from graphgauge.study.model import Study
from graphgauge.study.parse import read_study
from graphgauge.study.pool import Done
from graphgauge.study.runner import Plan, run
from graphgauge.study.same import Difference, Tree, differences


class Verdict(Struct, frozen=True, kw_only=True):
    """What `verify` found; true if nothing differs.

    `hash` is that of the study file or result. `versions` says which libraries are other ones than those that computed
    the results.
    """

    subject: str
    hash: str
    files: int
    differences: tuple[Difference, ...] = ()
    versions: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return not self.differences

    def __str__(self) -> str:
        count = plural(self.files, "file")
        if self:
            return (
                f"holds: {count} follow from {self.subject} (SHA-256 {self.hash[:16]}…) and these inputs, in this "
                "environment."
            )
        different = len({each.file for each in self.differences})
        return (
            f"does not hold: {different:,} of {count} do not follow from {self.subject} (SHA-256 {self.hash[:16]}…) "
            "and these inputs."
        )


def verify(
    path: str | Path,
    *,
    jobs: int | None = None,
    trust_code: bool = False,
    on_plan: Callable[[Study, Plan], bool] = lambda study, plan: True,
    on_done: Callable[[Done], None] = lambda done: None,
) -> Verdict:
    """Run a study again in an empty folder, and compare every file of its results; or compute one result again.

    Parameters
    ----------
    path
        A study, or a result file of a single command.
    jobs
        Number of worker processes.
    trust_code
        Whether code that the study names may be imported. It runs with all your rights.
    on_plan, on_done
        As for `run`.

    Returns
    -------
    Verdict
        True if nothing differs.

    Raises
    ------
    InputError
        If there is nothing to verify, or code would be imported without consent.

    Examples
    --------
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from graphgauge import study
    >>> np.save("pos.npy", [0.9, 0.4])
    >>> np.save("neg.npy", [[0.7, 0.1], [0.8, 0.3]])
    >>> lines = [
    ...     'schema = 1', 'name = "Toy"', 'results = "results"', '[[evaluate]]', 'family = "ranking"',
    ...     'dataset = "toy"', 'methods = ["ours"]', 'seeds = [0]', 'pos_scores = "pos.npy"', 'neg_scores = "neg.npy"',
    ... ]
    >>> _ = Path("study.toml").write_text(chr(10).join(lines))
    >>> _ = study.run("study.toml", jobs=1)
    >>> bool(study.verify("study.toml", jobs=1))
    True
    """
    target = Path(path)
    if target.is_dir():
        fix = "Name the study that made these results, such as study.toml."
        raise InputError("is a folder: results are verified by their study", where=str(path), fix=fix)
    if target.suffix.lower() == ".json":
        return _of_result(target, trust_code)
    study = read_study(target)
    _require_trust(study.code, trust_code)
    if not study.results.is_dir():
        raise InputError("no such folder", where=str(study.results), fix=f"Run `graphgauge run {path}` first.")
    with tempfile.TemporaryDirectory(prefix="graphgauge-verify-") as folder:
        again = replace(study, results=Path(folder))
        run(again, jobs=jobs, on_plan=on_plan, on_done=on_done)
        return _compared(target.name, study.hash, Tree(study.results), Tree(again.results))


def _of_result(path: Path, trust_code: bool) -> Verdict:
    """A result file of a single command, whose inputs are named from the folder that it was run in."""
    fields = read_json(path)
    if not is_result(fields):
        raise InputError("is no result file", where=str(path), fix="Name a study, or a result file.")
    if fields.get("root") != root_of(fields):
        edited = Difference(path.name, "", "its root does not match its content: it was edited or damaged")
        return Verdict(subject=path.name, hash=str(fields.get("root")), files=1, differences=(edited,))
    content = read(path, ResultFile)
    made = content.receipt.get("request")
    if content.status == "failed" or not isinstance(made, dict):
        raise InputError("does not say how it was computed", where=str(path), fix="Evaluate again, and keep it.")
    asked = {"family": str(made.get("family")), "door": str(made.get("door", "")), "fields": made.get("fields", {})}
    request = Request(**asked, run=content.run).checked()
    _require_trust(request.code(), trust_code)
    evaluation = request.evaluate(trust_code=True)
    if not any(side.role == "items" for side in content.side_files):
        evaluation.per_item = None
    evaluation.gates = tuple(Gate.parse(each.gate).check(evaluation) for each in content.gates)
    with tempfile.TemporaryDirectory(prefix="graphgauge-verify-") as folder:
        save(evaluation, Path(folder) / path.name)
        old, new = Tree(path.parent), Tree(Path(folder))
        own = {path.name, *(side.name for side in content.side_files)}
        old.files = {name: each for name, each in old.files.items() if name in own}
        return _compared(path.name, content.root, old, new)


def _compared(subject: str, digest: str, old: Tree, new: Tree) -> Verdict:
    found = tuple(differences(old, new))
    return Verdict(subject=subject, hash=digest, files=len(old.files), differences=found, versions=_others(old))


def _require_trust(code: tuple[str, ...], trust_code: bool) -> None:
    if code and not trust_code:
        what = f"it names code that would be imported: {', '.join(code)}"
        raise OptionError(what, fix="Read it first; then pass --trust-code: it runs with all your rights.")


def _others(old: Tree) -> tuple[str, ...]:
    """The versions that results were computed with, where they are not those of now."""
    now = versions()
    found: dict[str, None] = {}
    for name in old.files:
        with suppress(InputError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            stated = dict(old.json(name)["receipt"]["versions"]) if name.endswith(".json") else {}
            for library, version in stated.items() - now.items():
                found[f"{library} {version}, and now {now.get(library, 'none')}"] = None
    return tuple(found)
