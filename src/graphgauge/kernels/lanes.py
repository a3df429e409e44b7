"""Vectors of eight numbers, for compiled loops over short rows.

numba's own vector code tests at the start of every loop whether the arrays overlap, and handles the last elements one
by one. In loops over a few hundred elements that takes most of the time; a loop over these vectors does neither.
Operators and `abs` apply to all eight numbers; a plain number stands for eight equal ones.
They are read from addresses of contiguous arrays of float32, float64, int64 or booleans, because numba counts the
references to arrays whenever they are passed. An array whose address is used must be an argument of the loop: one that
is made in it may be freed before.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

LANES = 8


class Instruction:
    """A function on vectors that compiled loops may call; numba is imported when a loop is compiled."""

    def __init__(self, name: str, on_numbers: Callable[..., Any] | None = None) -> None:
        self.name, self._on_numbers = name, on_numbers

    def __call__(self, *args: Any) -> Any:
        if self._on_numbers is None:
            raise TypeError(f"{self.name} is for compiled loops only")
        return self._on_numbers(*args)

    @property
    def _numba_type_(self) -> Any:
        """Called by numba when it compiles a loop that uses this instruction."""
        return getattr(import_module("graphgauge.kernels.lanes_llvm"), self.name)._numba_type_


# address(array): where it begins.
address: Any = Instruction("address")
# load(address, at): the eight numbers from `at` on, as float64 or int64, or as flags.
load: Any = Instruction("load")
# ahead(address, at): fetch what is there into a cache, to be read soon; it may be beyond the end.
ahead: Any = Instruction("ahead")
# load_some(address, at, count): the same if there are only `count` of them; the others are 0.
load_some: Any = Instruction("load_some")
# load_every(address, at, step, count): the same of every step-th number.
load_every: Any = Instruction("load_every")
# store(address, at, numbers) and store_some(address, at, numbers, count).
store: Any = Instruction("store")
store_some: Any = Instruction("store_some")
# fill(number): eight times the same.
fill: Any = Instruction("fill")
# first(count): flags that are set in the first lanes.
first: Any = Instruction("first")
# where(flags, numbers, others).
where: Any = Instruction("where")
# ones(flags): 1 where set, else 0, as integers.
ones: Any = Instruction("ones")
# some(flags): how many are set.
some: Any = Instruction("some")
# bits(numbers): their bits as integers; of_bits(integers): the numbers.
bits: Any = Instruction("bits")
of_bits: Any = Instruction("of_bits")
# root(numbers): square roots.
root: Any = Instruction("root")
# lane(numbers, place): one of them.
lane: Any = Instruction("lane")
# larger_first(one, other): the pair in descending order; a NaN stays in the pair.
larger_first: Any = Instruction("larger_first", lambda one, other: (one, other) if one > other else (other, one))
