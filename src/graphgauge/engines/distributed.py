"""torch.distributed: every process counts its part, and all get the merged state."""

from __future__ import annotations

from typing import Any, TypeVar

from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.core.state import State
from graphgauge.core.state import merged as as_one

AnyState = TypeVar("AnyState", bound=State)


def merged(state: AnyState, group: Any = None) -> AnyState:
    """The states of all processes of a group as one, the same in each of them; a collective call.

    They are merged in the order of ranks. The state of each process is unchanged, and it can go on counting. A sampler
    that repeats items to give every process the same number (`DistributedSampler` without `drop_last`) makes them count
    twice: shard without padding.

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
        If torch.distributed is not running, or an item was counted in two processes.

    Examples
    --------
    >>> from graphgauge.core.errors import InputError
    >>> from graphgauge.engines import distributed
    >>> try:
    ...     distributed.merged(None)
    ... except InputError as error:
    ...     print(error)
    torch.distributed is not running. Call init_process_group() first, or start torchrun.
    """
    distributed = need("torch.distributed", "merging over torch.distributed")
    if not (distributed.is_available() and distributed.is_initialized()):
        raise InputError("torch.distributed is not running", fix="Call init_process_group() first, or start torchrun.")
    states: list[Any] = [None] * distributed.get_world_size(group)
    distributed.all_gather_object(states, state, group=group)
    whole: AnyState = as_one(states)  # type: ignore[assignment]
    return whole
