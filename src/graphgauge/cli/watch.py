"""The plan and the progress of a study on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from graphgauge.core.scrub import clean

if TYPE_CHECKING:
    from graphgauge.study.model import Study
    from graphgauge.study.pool import Done
    from graphgauge.study.runner import Plan

# The most lines of one kind on a terminal; the files and the report have all.
MOST = 8
# A terminal shows progress of what takes longer than this, in seconds.
_PATIENCE = 2.0


class Watch:
    """What to show of a run while it goes on."""

    def __init__(self, quiet: bool, dry: bool) -> None:
        self._quiet, self._dry = quiet, dry
        self._total, self._done, self._failed = 0, 0, 0
        self._begun, self._line = time.perf_counter(), False

    def planned(self, study: Study, plan: Plan) -> bool:
        """Say what there is to do; whether to do it. Code that is imported is always named."""
        from graphgauge.study.runner import missing_files

        self._total, self._begun = len(plan.to_run), time.perf_counter()
        waiting = [item for item, _ in plan.to_run]
        lines = [f"imports {name}" for name in dict.fromkeys(name for item in waiting for name in item.request.code())]
        if self._dry or not self._quiet:
            left = f", {len(plan.left_out):,} left out" if plan.left_out else ""
            share = f" ({plan.jobs} processes, {plan.threads} threads each)" if waiting else ""
            lines.append(f"{study.name}: {len(plan.current):,} up to date, {len(waiting):,} to run{left}{share}")
        if self._dry:
            lines += first([f"  {item.label}: {why}" for item, why in plan.to_run], "evaluations")
        lines += first([f"missing: {name}" for name in missing_files(study, waiting)], "missing files")
        for line in lines:
            click.echo(clean(line), err=True)
        return not self._dry

    def finished(self, done: Done) -> None:
        """Say how far it is, on a terminal, once it has taken a while."""
        self._done += 1
        self._failed += done.status == "failed"
        spent = time.perf_counter() - self._begun
        if self._quiet or not sys.stderr.isatty() or spent < _PATIENCE:
            return
        left = spent / self._done * (self._total - self._done)
        failed = f", {self._failed:,} failed" if self._failed else ""
        text = f"{self._done:,} of {self._total:,}{failed}, about {duration(left)} left · {clean(done.item.label, 60)}"
        click.echo(f"\r\x1b[2K{text}", err=True, nl=False)
        self._line = True

    def close(self) -> None:
        if self._line:
            click.echo("\r\x1b[2K", err=True, nl=False)
        if self._done and not self._quiet:
            click.echo(f"{self._done:,} evaluated in {duration(time.perf_counter() - self._begun)}", err=True)


@contextmanager
def watching(quiet: bool = False, dry: bool = False) -> Iterator[Watch]:
    """What to show while a study runs."""
    watch = Watch(quiet, dry)
    try:
        yield watch
    finally:
        watch.close()


def first(lines: Sequence[str], what: str, most: int = MOST) -> list[str]:
    """The first lines of one kind, and how many more there are."""
    more = [f"… and {len(lines) - most:,} more {what}"] if len(lines) > most else []
    return [*lines[:most], *more]


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 100:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
