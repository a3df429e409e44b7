"""Run a study: plan, evaluate what is not up to date, then check gates and compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.kernels.threads import available_threads
from graphgauge.old.core.cluster import ENGINES
from graphgauge.old.io.hashing import HashIndex
from graphgauge.old.stats.text import several
from graphgauge.study.claims import Claims
from graphgauge.study.judge import Judgement, judge
from graphgauge.study.model import BaselineRequest, Item, Study
from graphgauge.study.parse import read_study
from graphgauge.study.plan import Plan, plan
from graphgauge.study.pool import answered, task
from graphgauge.study.spread import answered_on_cluster
from graphgauge.study.store import hashes_file, sole_writer, sweep, write_failure

# More processes at once need more memory than most machines have.
_DEFAULT_JOBS = 4


@dataclass(frozen=True)
class Done:
    """One item evaluated in this run; `hashing` is the time in seconds to hash its inputs."""

    item: Item
    path: Path
    status: str
    error: str | None
    seconds: float
    hashing: float


@dataclass(frozen=True)
class Share:
    """How the cores are divided: processes × threads ≤ cores; on a cluster every thread of a worker has an item."""

    jobs: int
    threads: int
    scheduler: str | None = None

    def __str__(self) -> str:
        if self.scheduler is not None:
            return f"on the cluster of {self.scheduler}"
        return f"{self.jobs} × {several(self.threads, 'thread')}"

    @classmethod
    def of(cls, items: int, jobs: int | None, scheduler: str | None = None) -> Share:
        if scheduler is not None:
            if jobs is not None:
                raise OptionError("jobs does not go with scheduler", fix="The cluster has its own workers.").about(
                    "jobs"
                )
            return cls(items, 1, scheduler)
        if jobs is not None and (not isinstance(jobs, int) or jobs < 1):
            raise OptionError(f"jobs is {jobs!r:.60}", fix="Pass a positive whole number, or None for at most 4.")
        cores = available_threads()
        processes = max(1, min(jobs or _DEFAULT_JOBS, cores, items))
        return cls(processes, cores // processes)


@dataclass(frozen=True)
class Outcome:
    """Everything that one run did. `judgement` is None if `--only` left out results that are not up to date."""

    study: Study
    plan: Plan
    share: Share
    done: tuple[Done, ...]
    judgement: Judgement | None

    @property
    def failed(self) -> list[Done]:
        return [done for done in self.done if done.status == "failed"]

    @property
    def exit_code(self) -> int:
        if self.failed or (self.judgement is not None and self.judgement.incomplete):
            return 4
        return 1 if self.judgement is not None and not self.judgement.passed else 0


def run(
    path: str | Path,
    *,
    jobs: int | None = None,
    only: str | None = None,
    rehash: bool = False,
    debug: bool = False,
    engine: str = ENGINES[0],
    scheduler: str | None = None,
    on_plan: Callable[[Study, Plan, Share], None] = lambda study, plan, share: None,
    on_done: Callable[[Done], None] = lambda done: None,
) -> Outcome:
    r"""Bring all results of a study up to date in worker processes, and judge them.

    `only` is a pattern of evaluations to run; `rehash` reads every input again instead of trusting size and time.
    `on_plan` is called before anything is evaluated or imported, `on_done` after each evaluation.

    Parameters
    ----------
    path
        The study, a TOML file.
    jobs
        Number of worker processes; by default one per core.
    only
        A pattern of evaluations, such as `ranking/*`.
    rehash
        Whether to read every input again.
    debug
        Whether failures are reported with their tracebacks.
    engine
        Where items are evaluated: `local`, in processes of this run, or `dask`, on a Dask cluster.
    scheduler
        With the engine `dask`, the address of a scheduler, whose workers see the study under the same path. By default
        a cluster of `jobs` processes runs for as long as the study.
    on_plan, on_done
        Functions to call.

    Returns
    -------
    Outcome
        What was evaluated, what failed, and the judgement of all comparisons and gates.

    Raises
    ------
    InputError
        If the study is wrong.

    Examples
    --------
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from graphgauge import stats, study
    >>> np.save("pos.npy", [0.9, 0.4])
    >>> np.save("neg.npy", [[0.7, 0.1], [0.8, 0.3]])
    >>> lines = [
    ...     'schema = 1', 'name = "Toy"', 'results = "results"', '[[evaluate]]', 'family = "ranking"',
    ...     'dataset = "toy"', 'methods = ["ours"]', 'seeds = [0]', 'pos_scores = "pos.npy"', 'neg_scores = "neg.npy"',
    ... ]
    >>> _ = Path("study.toml").write_text("\n".join(lines))
    >>> outcome = study.run("study.toml", jobs=1)
    >>> outcome.failed, stats.read_runs("results").methods
    ([], ['ours'])
    """
    one_of("engine", engine, ENGINES)
    if scheduler is not None and engine != "dask":
        raise OptionError("scheduler needs engine dask", fix="Give both, or neither.").about("scheduler")
    study = read_study(path)
    for request in study.gates:
        if isinstance(request.gate, BaselineRequest) and not request.gate.against.exists():
            raise InputError(
                "no such file or folder", where=str(request.gate.against), fix="A gate names it as against."
            )
    with sole_writer(study.results):
        claims = Claims(study)
        claims.refuse_foreign()
        sweep(study)
        kept = hashes_file(study.results)
        index = HashIndex(study.folder) if rehash else HashIndex.load(study.folder, kept)
        planned = plan(study, index, only)
        index.save(kept)
        share = Share.of(len(planned.to_run), jobs, scheduler)
        on_plan(study, planned, share)
        done = []
        claims.make()
        if planned.to_run:  # remove outdated comparisons and gates
            claims.forget_judged()
        try:
            for entry in _evaluated(study, planned, share, index, debug, engine):
                done.append(entry)
                on_done(entry)
        finally:
            index.save(kept)
        for entry in done:
            if entry.status == "failed" and not entry.path.exists():  # not even the failure could be written
                raise InputError(f"{entry.item}: {entry.error}".removesuffix("."), fix="Run the study again.")
        judgement = None if planned.left_out else judge(study)
    return Outcome(study, planned, share, tuple(done), judgement)


def _evaluated(study: Study, planned: Plan, share: Share, index: HashIndex, debug: bool, engine: str) -> Iterator[Done]:
    steps, kept = planned.to_run, hashes_file(study.results)
    tasks = [
        task(step.item, study.folder, step.path, threads=share.threads, hashes=kept, file=study.path.name, debug=debug)
        for step in steps
    ]
    spread = partial(answered_on_cluster, scheduler=share.scheduler) if engine == "dask" and tasks else answered
    for place, answer in spread(tasks, jobs=share.jobs, threads=share.threads):
        step = steps[place]
        status = answer["status"]
        if status == "lost":  # the process can no longer report it
            status = "failed"
            write_failure(step.item, step.path, answer["error"], {})
        index.add(answer["hashes"])
        yield Done(step.item, step.path, status, answer["error"], answer["seconds"], answer["hashing"])
