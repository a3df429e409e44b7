"""What a command says while it works: one line on a terminal, and the plan of a study."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import click

from graphgauge.core.markup import clean
from graphgauge.core.progress import Progress

if TYPE_CHECKING:
    from graphgauge.study.model import Study
    from graphgauge.study.pool import Done
    from graphgauge.study.runner import Plan

# The most lines of one kind on a terminal; the files and the report have all.
MOST = 8
# A terminal shows progress of what takes longer than this, in seconds.
_PATIENCE = 2.0


class Bar(Progress):
    """Progress as one line of a terminal's stderr, with the time that is left."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self._name, self._begun, self._line = "", time.perf_counter(), False

    def stage(self, name: str, done: int, total: int, detail: str = "") -> None:
        if name != self._name:
            self._name, self._begun = name, time.perf_counter()
        spent = time.perf_counter() - self._begun
        if done >= total:
            self.clear()
        elif not self.quiet and sys.stderr.isatty() and spent > _PATIENCE:
            left = f", about {duration(spent / done * (total - done))} left" if done else ""
            text = f"{100 * done // total:3d} %  {name}{left}{f' · {detail}' if detail else ''}"
            click.echo(f"\r\x1b[2K{clean(text, 100)}", err=True, nl=False)
            self._line = True

    def clear(self) -> None:
        """Remove the line."""
        if self._line:
            click.echo("\r\x1b[2K", err=True, nl=False)
        self._line = False

    def say(self, text: str) -> None:
        if not self.quiet:
            click.echo(clean(text), err=True)


class Watch(Bar):
    """What to show of a study while it runs, in this block."""

    def __init__(self, quiet: bool = False, dry: bool = False) -> None:
        super().__init__(quiet)
        self._dry, self._total, self._done, self._failed = dry, 0, 0, 0
        self._started = time.perf_counter()

    def planned(self, study: Study, plan: Plan) -> bool:
        """Say what there is to do; whether to do it. Code that is imported is always named."""
        from graphgauge.study.runner import missing_files

        self._total, self._started = len(plan.to_run), time.perf_counter()
        waiting = [item for item, _ in plan.to_run]
        lines = [f"imports {name}" for name in dict.fromkeys(name for item in waiting for name in item.request.code())]
        if self._dry or not self.quiet:
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
        """Say how far it is."""
        self._done += 1
        self._failed += done.status == "failed"
        failed = f"{self._failed:,} failed, " if self._failed else ""
        self.stage(f"{self._total:,} evaluations", self._done, self._total, f"{failed}{done.item.label}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.clear()
        if self._done:
            self.say(f"{self._done:,} evaluated in {duration(time.perf_counter() - self._started)}")


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
