"""torch.distributed: every process counts its part, and all get the merged state."""

from __future__ import annotations

import io
from typing import Any, TypeVar

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.old.core.state import State

AnyState = TypeVar("AnyState", bound=State)


def merged(state: AnyState, group: Any = None) -> AnyState:
    """The states of all processes of a group as one, the same in each of them; a collective call.

    States are sent in their file format, without pickle, and merged in the order of ranks, so that all
    processes have the same bits. The state of each process is unchanged, and it can go on counting.

    States that were counted on GPUs are merged in the same way. With NCCL they are sent from the GPU of the process:
    the `device_id` of its group, or the one of `torch.cuda.set_device`. More than one GPU has not been tried yet.

    A sampler that repeats items to give every process the same number (`DistributedSampler` without `drop_last`)
    makes them count twice; shard without padding.

    Parameters
    ----------
    state
        The state of this process.
    group
        A process group; by default all processes.

    Returns
    -------
    State
        A new state of the same class.

    Raises
    ------
    InputError
        If torch.distributed is not running, or a part was counted in two processes.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> from graphgauge.core.errors import InputError
    >>> from graphgauge.old.engines import distributed
    >>> state = ranking.rank_topk([[3, 1]], targets=[1], n_items=5)
    >>> try:
    ...     distributed.merged(state)
    ... except InputError as error:
    ...     print(error)
    torch.distributed is not running. Call init_process_group() first, or start torchrun.
    """
    torch = need("torch", "merging over torch.distributed")
    distributed = torch.distributed
    if not (distributed.is_available() and distributed.is_initialized()):
        raise InputError("torch.distributed is not running", fix="Call init_process_group() first, or start torchrun.")
    buffer = io.BytesIO()
    state.save(buffer)
    device = _device(distributed, group)
    own = torch.from_numpy(np.frombuffer(buffer.getvalue(), np.uint8).copy()).to(device)
    sizes = torch.cat(_gathered(torch.tensor([len(own)], device=device), group)).tolist()
    parts = _gathered(torch.nn.functional.pad(own, (0, max(sizes) - len(own))), group)
    loaded = [
        type(state).load(io.BytesIO(part[:size].cpu().numpy().tobytes()))
        for part, size in zip(parts, sizes, strict=True)
    ]
    for other in loaded[1:]:
        loaded[0].merge(other)
    return loaded[0]


def _device(distributed: Any, group: Any) -> Any:
    """Where tensors are sent from: NCCL sends only those of a GPU, that of the group or else the current one."""
    backend = str(distributed.get_backend(group)).lower()
    if backend not in ("nccl", "cuda:nccl"):
        return "cpu"
    bound = getattr(distributed.group.WORLD if group is None else group, "bound_device_id", None)
    return "cuda" if bound is None else bound


def _gathered(tensor: Any, group: Any) -> list[Any]:
    distributed = need("torch.distributed", "merging over torch.distributed")
    parts = [tensor.new_empty(tensor.shape) for _ in range(distributed.get_world_size(group))]
    distributed.all_gather(parts, tensor.contiguous(), group=group)
    return parts
