"""Studies: one file says what to evaluate, compare and require; a run can be resumed, and its results verified."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphgauge.study.parse import read_study
    from graphgauge.study.runner import run
    from graphgauge.study.verifier import verify

__all__ = ["read_study", "run", "verify"]
_HOMES = {"read_study": "parse", "run": "runner", "verify": "verifier"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
