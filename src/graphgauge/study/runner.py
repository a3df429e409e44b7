"""Run a study: evaluate what is not up to date, then compare and check its gates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.threads import available_threads
from graphgauge.io.hashing import HashIndex, using
from graphgauge.io.places import is_url, split_member
from graphgauge.study.judge import Judgement, judge
from graphgauge.study.model import Baseline, Item, Study
from graphgauge.study.parse import read_study
from graphgauge.study.pool import Done, Task, evaluated
from graphgauge.study.store import forget, hashes_file, refuse_foreign, sole_writer, sweep, why_outdated

# More processes at once need more memory than most machines have.
_MOST_JOBS = 4


@dataclass(frozen=True)
class Plan:
    """What a run does: evaluations with the reason why they are not up to date, and those that are, or are left out."""

    to_run: tuple[tuple[Item, str], ...]
    current: tuple[Item, ...]
    left_out: tuple[Item, ...]
    jobs: int
    threads: int


@dataclass(frozen=True)
class Outcome:
    """What a run has done; `judgement` is None if `only` left out results that are not up to date."""

    study: Study
    plan: Plan
    done: tuple[Done, ...] = ()
    judgement: Judgement | None = None
    failed: tuple[Done, ...] = field(default=())

    @property
    def exit_code(self) -> int:
        """0, 1 if a gate has not passed, 4 if an evaluation or a comparison failed."""
        if self.failed or (self.judgement is not None and self.judgement.is_incomplete):
            return 4
        return 0 if self.judgement is None or all(each.passed for each in self.judgement.gates) else 1


def run(
    path: str | Path | Study,
    *,
    only: str | None = None,
    jobs: int | None = None,
    debug: bool = False,
    on_plan: Callable[[Study, Plan], bool] = lambda study, plan: True,
    on_done: Callable[[Done], None] = lambda done: None,
) -> Outcome:
    r"""Bring all results of a study up to date in worker processes, compare them, and check the gates.

    Parameters
    ----------
    path
        The study, a TOML file, or what `read_study` made of one.
    only
        A pattern of evaluations, such as `ranking/*`.
    jobs
        Number of worker processes; by default one per core, and at most 4.
    debug
        Whether failures print their tracebacks.
    on_plan
        Called before anything is evaluated or imported; nothing is if it returns False.
    on_done
        Called after each evaluation.

    Returns
    -------
    Outcome
        What was evaluated, what failed, and what comparisons and gates say.

    Raises
    ------
    InputError
        If the study is wrong.

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
    >>> _ = Path("study.toml").write_text("\n".join(lines))
    >>> outcome = study.run("study.toml", jobs=1)
    >>> outcome.failed, outcome.exit_code
    ((), 0)
    """
    study = path if isinstance(path, Study) else read_study(path)
    _require_baselines(study)
    with sole_writer(study.results):
        refuse_foreign(study)
        sweep(study)
        kept = hashes_file(study.results)
        index = HashIndex.load(study.folder, kept)
        with using(index):
            plan = planned(study, only, jobs)
        index.save(kept)
        if not on_plan(study, plan):
            return Outcome(study, plan)
        if plan.to_run:
            forget(study)
        done = []
        for each in evaluated([_task(item, study, debug) for item, _ in plan.to_run], plan.jobs, plan.threads):
            done.append(each)
            on_done(each)
        failed = tuple(each for each in done if each.status == "failed")
        complete = not plan.left_out or all(why_outdated(item, study) is None for item in plan.left_out)
        return Outcome(study, plan, tuple(done), judge(study) if complete else None, failed)


def planned(study: Study, only: str | None, jobs: int | None) -> Plan:
    """What there is to do."""
    if jobs is not None and (not isinstance(jobs, int) or jobs < 1):
        raise OptionError(f"jobs is {jobs!r:.60}", fix="Pass a positive whole number, or None for at most 4.")
    chosen = [item for item in study.items if only is None or _matches(item, only)]
    if not chosen:
        examples = ", ".join(item.label for item in study.items[:3])
        raise OptionError(f"no evaluation matches {only!r:.80}", fix=f"There are {examples} …")
    reasons = [(item, why_outdated(item, study)) for item in chosen]
    to_run = tuple((item, why) for item, why in reasons if why is not None)
    current = tuple(item for item, why in reasons if why is None)
    left_out = tuple(item for item in study.items if only is not None and not _matches(item, only))
    cores = available_threads()
    processes = max(1, min(jobs or _MOST_JOBS, max(cores, jobs or 1), len(to_run)))
    return Plan(to_run, current, left_out, processes, max(1, cores // processes))


def missing_files(study: Study, items: Iterable[Item]) -> list[str]:
    """The inputs that are not there."""
    missing: dict[str, None] = {}
    for item in items:
        try:
            names = [split_member(text)[0] for _, text in item.request.files(study.folder) if not is_url(text)]
        except InputError as error:
            missing[error.where or str(error)] = None
            continue
        missing |= {name: None for name in names if not (study.folder / name).exists()}
    return list(missing)


def _task(item: Item, study: Study, debug: bool) -> Task:
    return Task(
        item=item,
        folder=study.folder,
        path=item.path(study.results),
        hashes=hashes_file(study.results),
        ignore=tuple(study.ignore),
        debug=debug,
    )


def _matches(item: Item, pattern: str) -> bool:
    """Whether a pattern is that of the label, or of its beginning."""
    return fnmatchcase(item.label, pattern) or fnmatchcase(item.label, f"{pattern.rstrip('/')}/*")


def _require_baselines(study: Study) -> None:
    for table in study.gates:
        if isinstance(table.gate, Baseline) and not (study.folder / table.gate.against).exists():
            where = str(study.folder / table.gate.against)
            raise InputError("no such file or folder", where=where, fix="A gate names it as against.")
