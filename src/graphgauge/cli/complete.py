"""What shells complete: files, and keys of metrics."""

from __future__ import annotations

from collections.abc import Callable

import click
from click.shell_completion import CompletionItem

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Files and folders, by the shell's own rules."""
    return [CompletionItem(incomplete, type="file")]


def keys(family: str | None = None, *, several: bool = False) -> Complete:
    """Keys of a family's metrics, or of all; `several` are separated by commas."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from graphgauge.core.registry import metrics
        from graphgauge.old.core.metric import metrics as old_metrics

        before, comma, begun = incomplete.rpartition(",") if several else ("", "", incomplete)
        known = dict.fromkeys(entry.key_of(**entry.params) for entry in metrics(family))
        known |= {} if family else dict.fromkeys(entry.key_of(**entry.params) for entry in old_metrics())
        return [CompletionItem(f"{before}{comma}{key}") for key in known if key.startswith(begun)]

    return complete
