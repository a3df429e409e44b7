"""What a long evaluation reports while it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


class Progress:
    """Receives progress and notes; this one is silent."""

    def stage(self, name: str, done: int, total: int, detail: str = "") -> None:
        """A stage has done this much of its total; `detail` says what it has found so far."""

    def say(self, text: str) -> None:
        """A note for the user."""

    def over(self, blocks: Iterable[tuple[slice, T]], total: int) -> Iterator[tuple[slice, T]]:
        """The blocks with what was read for them, reported one by one."""
        for block, read in blocks:
            self.stage("counting", block.start, total)
            yield block, read
            del read  # not kept until the next one is there
            self.stage("counting", block.stop, total)


SILENT = Progress()
