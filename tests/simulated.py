"""A CUDA device that is simulated on the host, so that everything for devices runs, and is tested, everywhere.

Its tensors are computed by the host. They behave as those of a device where a mistake would show: `is_cuda` is true,
NumPy cannot read them, they do not mix with the host's tensors, and what is copied to the host is counted.

>>> with Simulated() as device:
...     total = device.put([1.0, 2.0]).sum()
...     total.is_cuda, float(total), device.copied, device.waits
(True, 3.0, 4, 1)
"""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

CUDA = torch.device("cuda", 0)
_NUMBERS = {"item", "tolist", "__float__", "__int__", "__bool__", "__index__"}
# Functions that take tensors of the host beside those of a device.
_MIXED = {"copy_", "__getitem__", "__setitem__", "index_put_", "to"}


class There(torch.Tensor):
    """A tensor on the simulated device."""

    host: torch.Tensor

    @staticmethod
    def __new__(cls, host: torch.Tensor) -> There:
        found = torch.Tensor._make_wrapper_subclass(
            cls, host.size(), strides=host.stride(), storage_offset=host.storage_offset(), dtype=host.dtype, device=CUDA
        )
        found.host = host
        return found

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        mode = Simulated.running[-1] if Simulated.running else Simulated()
        return mode.call(func, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise AssertionError(f"{func} was called without the interface of torch")

    def __repr__(self) -> str:  # type: ignore[override]
        return f"There({self.host!r})"


class Simulated(TorchFunctionMode):
    """While it is entered, tensors can be on a simulated CUDA device.

    `copied` is the number of bytes that were copied to the host, `largest` that of the largest copy, and `waits` the
    number of copies, each of which waits for the device.
    """

    running: list[Simulated] = []  # noqa: RUF012 (one list for all)

    def __init__(self) -> None:
        self.copied = self.largest = self.waits = 0

    def __enter__(self) -> Simulated:
        Simulated.running.append(self)
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        Simulated.running.pop()

    def put(self, values: Any) -> Any:
        """The values as a tensor on the device."""
        return There(torch.as_tensor(values).clone())

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.call(func, args, kwargs or {})

    def call(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        name = getattr(func, "__name__", "")
        tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
        there = [each for each in tensors if isinstance(each, There)]
        if name == "__get__" and there:
            known = {"is_cuda": True, "is_cpu": False, "device": CUDA}
            prop = getattr(func.__self__, "__name__", "")
            if prop in known:
                return known[prop]
        if name in ("numpy", "__array__") and there:
            raise TypeError(f"can't convert {CUDA} device type tensor to numpy. Use Tensor.cpu() first.")
        if name == "cuda":
            name, func, args = "to", torch.Tensor.to, (args[0], CUDA)
        if name == "cpu":
            name, func, args = "to", torch.Tensor.to, (args[0], torch.device("cpu"))
        place, args, kwargs = _destination(name, args, dict(kwargs))
        if there and not (name in _MIXED or place is not None):
            others = [each for each in tensors if not isinstance(each, There) and each.dim()]
            if others:
                raise RuntimeError(
                    f"Expected all tensors to be on the same device, but found at least two devices, {CUDA} and cpu! "
                    f"({name})"
                )
        if there and (name in _NUMBERS or (place == "cpu" and isinstance(args[0], There))):
            self._copied(args[0].host.nbytes)
        own, named = tree_map(lambda each: each.host if isinstance(each, There) else each, (args, kwargs))
        with torch._C.DisableTorchFunctionSubclass():
            found = func(*own, **named)
        if place is None and not there:
            return found
        moved = place is not None and name in ("to", "tensor", "as_tensor")
        return self._placed(found, there, place != "cpu", moved=moved)

    def _copied(self, size: int) -> None:
        self.copied, self.largest, self.waits = self.copied + size, max(self.largest, size), self.waits + 1

    def _placed(self, found: Any, there: list[There], on_device: bool, *, moved: bool) -> Any:
        """The tensors among the results where they belong; those given, which were changed in place, are themselves."""
        known = {id(each.host): each for each in there}

        def placed(each: Any) -> Any:
            if not isinstance(each, torch.Tensor):
                return each
            if not on_device:
                return each.clone() if moved and there else each
            return known[id(each)] if id(each) in known else There(each.clone() if moved and not there else each)

        return tree_map(placed, found)


def _destination(name: str, args: Any, kwargs: dict[str, Any]) -> tuple[str | None, Any, dict[str, Any]]:
    """Where a function is told to put its result, and its arguments for the host."""
    place = None
    if kwargs.get("device") is not None:
        place, kwargs["device"] = torch.device(kwargs["device"]).type, "cpu"
    elif name == "to" and len(args) > 1 and isinstance(args[1], str | torch.device):
        place, args = torch.device(args[1]).type, (args[0], torch.device("cpu"), *args[2:])
    elif name == "to" and len(args) > 1 and isinstance(args[1], torch.Tensor):
        place = "cuda" if isinstance(args[1], There) else "cpu"
    if kwargs.pop("pin_memory", False):
        place = place or "cpu"
    return place, args, kwargs
