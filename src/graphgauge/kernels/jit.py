"""Loops that numba compiles when there is enough work, each with a NumPy twin that gives the same answers.

numba is not imported for small work unless the program has already imported it. The twin runs instead if
`GRAPHGAUGE_NUMBA=0` is set, if numba is not installed or refuses this NumPy, or if compiled code has no
cache directory: compiling in every process would cost more than it saves.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from threading import Lock, Thread
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

# Elements of work from which numba pays off: the twins take a quarter of a second for it, and importing numba and
# loading compiled code nearly a second, from which later calls profit.
IMPORT_PAYS_FROM = 1 << 26
_work_so_far = 0
# Elements of work per second of the twins, seconds that reading compiled code from numba's cache takes at most, and
# seconds that compiling takes at least: 5 to 16 s for the longer loops.
_TWIN_RATE = 1 << 28
_READING = 0.5
_COMPILING = 4.0
# Seconds of compiling after which a message says so; none if `quiet`.
ANNOUNCED_AFTER = 1.0
quiet = False


@cache
def numba_enabled() -> bool:
    """Whether compiled loops may run in this process; the environment is read once."""
    return os.environ.get("GRAPHGAUGE_NUMBA", "1") != "0" and find_spec("numba") is not None


class Kernel(Generic[P, R]):
    """A loop and its NumPy twin: `implementation(work)` is the one that is faster for that much work."""

    def __init__(self, loop: Callable[P, R], twin: Callable[P, R]) -> None:
        self.loop = loop
        self.twin = twin
        self._chosen: Callable[P, R] | Loop[P, R] | None = None

    def implementation(self, work: int) -> Callable[P, R]:
        """The compiled loop if numba is loaded or the work of this process so far justifies it; else the twin.

        `work` is the twin's work now, in comparisons of two scores or operations of similar cost.
        """
        if self._chosen is None and _numba_pays(work):
            # Two threads may both get here: at worst the loop is compiled twice.
            compiled = _compiled(self.loop)
            self._chosen = self.twin if compiled is None else Loop(compiled, self.twin)
        if isinstance(self._chosen, Loop):
            return self._chosen.call(work)
        return self._chosen or self.twin


class Loop(Generic[P, R]):
    """A loop that numba compiles for each combination of types, in another thread: Ctrl-C interrupts the wait."""

    def __init__(self, dispatcher: Any, twin: Callable[P, R]) -> None:
        self.dispatcher, self.twin = dispatcher, twin
        self.ready: set[Any] = set()
        self._started: dict[Any, Thread] = {}
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"<Loop {self.dispatcher!r}>"

    def call(self, work: int) -> Callable[P, R]:
        return _Call(self, work)

    def compiling(self, types: Any, args: tuple[Any, ...]) -> Thread:
        """The thread that compiles for these types."""
        with self._lock:
            if types not in self._started:
                self._started[types] = thread = Thread(target=self._compile, args=(types, args), daemon=True)
                _compiling.append(thread)
                thread.start()
            return self._started[types]

    def _compile(self, types: Any, args: tuple[Any, ...]) -> None:
        # If this fails, calling the loop raises the error.
        with suppress(Exception):
            self.dispatcher.compile(tuple(map(self.dispatcher.typeof_pyval, args)))
        self.ready.add(types)


class _Call(Generic[P, R]):
    """One use of a loop, for all of its blocks: compiled, or the twin if that takes less time than compiling."""

    def __init__(self, loop: Loop[P, R], work: int) -> None:
        self._loop, self._seconds = loop, work / _TWIN_RATE
        self._chosen: Callable[P, R] | None = None
        self._lock, self._interrupted = Lock(), False

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self._chosen is None:
            types = tuple(map(_type_of, args))
            if types in self._loop.ready:
                self._chosen = self._loop.dispatcher
            else:
                try:
                    with self._lock:
                        self._chosen = self._chosen or self._decide(types, args)
                except KeyboardInterrupt:
                    self._interrupted = True  # for other threads, which no signal reaches
                    raise
        return self._chosen(*args, **kwargs)

    def _decide(self, types: Any, args: tuple[Any, ...]) -> Callable[P, R]:
        if _locked:
            return self._loop.twin
        thread = self._loop.compiling(types, args)
        thread.join(_READING)
        while types not in self._loop.ready:
            if self._seconds < _COMPILING or not thread.is_alive():
                return self._loop.twin
            if self._interrupted:
                raise InterruptedError("interrupted while compiling")
            thread.join(0.1)
        return self._loop.dispatcher  # type: ignore[no-any-return]


def _type_of(value: Any) -> Any:
    """What the compiled code of an argument depends on."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        return value.dtype.str, value.ndim, flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned
    return tuple(map(_type_of, value)) if isinstance(value, tuple) else type(value)


_compiling: list[Thread] = []


def _finish() -> None:
    """At the end of the process, wait for what is being compiled, unless the process was interrupted."""
    if not any(thread.is_alive() for thread in _compiling):
        return
    if getattr(sys, "last_type", None) is KeyboardInterrupt:
        leave(130)
    for thread in _compiling:
        thread.join()


def settle() -> None:
    """Wait for what is being compiled; until then calls use the twins."""
    for thread in list(_compiling):
        thread.join()


def leave(status: int) -> None:
    """End the process now if something is being compiled, which would delay its end."""
    if any(thread.is_alive() for thread in _compiling):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(status)


def _before_fork() -> None:
    global _was_compiling
    _was_compiling = any(thread.is_alive() for thread in _compiling)


def _after_fork() -> None:
    """A child process has the locks of a thread that was compiling, but not the thread: it uses the twins."""
    global _locked
    _locked |= _was_compiling
    _compiling.clear()


_was_compiling = _locked = False
atexit.register(_finish)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)


def _numba_pays(work: int) -> bool:
    global _work_so_far
    # Concurrent threads may lose an addition, which only delays the import.
    _work_so_far += work
    return _work_so_far >= IMPORT_PAYS_FROM or "numba" in sys.modules


def expect(work: int) -> None:
    """Announce the total work of several parts, so that the first part is compiled if the total justifies it."""
    global _work_so_far
    if _work_so_far + work >= IMPORT_PAYS_FROM:
        _work_so_far = IMPORT_PAYS_FROM


def kernel(twin: Callable[P, R]) -> Callable[[Callable[P, R]], Kernel[P, R]]:
    """Decorate a loop in numba's subset of Python with its NumPy twin."""
    return lambda loop: Kernel(loop, twin)


def _announce() -> None:
    global quiet
    if not quiet:
        quiet = True
        print(
            "graphgauge compiles loops for this machine, which can take 20 s; the next start reads them from numba's "
            "cache. GRAPHGAUGE_NUMBA=0 does without.",
            file=sys.stderr,
            flush=True,
        )


@cache
def _listen() -> None:
    """Have numba report when it compiles; reading compiled code from its cache is not reported."""
    try:
        events: Any = import_module("numba.core.event")
        timers: list[threading.Timer] = []

        class Announcer(events.Listener):  # type: ignore[misc]
            def on_start(self, event: Any) -> None:
                if not quiet:
                    timers.append(threading.Timer(ANNOUNCED_AFTER, _announce))
                    timers[-1].daemon = True
                    timers[-1].start()

            def on_end(self, event: Any) -> None:
                if timers:
                    timers.pop().cancel()

        events.register("numba:compile", Announcer())
    except (ImportError, AttributeError):  # a numba without events
        return


def _compiled(loop: Callable[P, R]) -> Callable[P, R] | None:
    if not numba_enabled():
        return None
    try:
        numba: Any = import_module("numba")
    except ImportError:  # numba refuses a NumPy newer than it knows with an ImportError
        return None
    if numba.config.DISABLE_JIT:
        return None
    _listen()
    # nogil lets blocks run in threads; numba's own parallel loops abort when two Python threads enter them.
    try:
        compiled: Callable[P, R] = numba.njit(nogil=True, cache=True)(loop)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        return None
    return compiled
