"""What a long evaluation reports while it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


class Progress:
    """Receives progress and notes; this one is silent."""

    def stage(self, name: str, done: int, total: int, detail: str = "") -> None:
        """A stage has done this much of its total; `detail` says what it has found so far."""

    def say(self, text: str) -> None:
        """A note for the user."""

    def over(self, blocks: Iterable[slice], total: int) -> Iterator[slice]:
        """The blocks, reported one by one."""
        for block in blocks:
            self.stage("counting", block.start, total)
            yield block
            self.stage("counting", block.stop, total)


SILENT = Progress()
