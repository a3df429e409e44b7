"""The simulated device has the manners of a CUDA device on which a mistake in this package would show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from graphgauge.core.arrays import is_cuda


def test_tensors_are_there_and_stay_there(simulated: Any) -> None:
    made = [
        torch.zeros(2, 3, device="cuda"),
        simulated.put(np.ones((2, 3))),
        torch.as_tensor([1], device="cuda"),
        torch.ones(3).to("cuda"),
        torch.ones(3).cuda(),
    ]
    made += [made[0] + 1, made[0][1], made[0].new_tensor([2.0]), torch.empty_like(made[0]), made[0].sum(0)]
    assert all(map(is_cuda, made))
    assert {each.device.type for each in made} == {"cuda"}
    assert simulated.copied == 0
    assert not is_cuda(torch.ones(3))


def test_numpy_cannot_read_them(simulated: Any) -> None:
    for read in (np.asarray, torch.Tensor.numpy):
        with pytest.raises(TypeError, match="device type tensor to numpy"):
            read(simulated.put([1.0]))


def test_they_do_not_mix_with_the_hosts(simulated: Any) -> None:
    with pytest.raises(RuntimeError, match="two devices"):
        simulated.put([1.0, 2.0]) + torch.ones(2)
    assert (simulated.put([1.0, 2.0]) * torch.tensor(3.0)).tolist() == [3.0, 6.0]  # a number may be anywhere


def test_copies_are_counted(simulated: Any) -> None:
    there = simulated.put(np.arange(6.0))
    assert there.cpu().numpy().tolist() == [0, 1, 2, 3, 4, 5]
    assert (simulated.copied, simulated.largest, simulated.waits) == (48, 48, 1)
    assert float(there.sum()) == 15
    assert (simulated.copied, simulated.largest, simulated.waits) == (56, 48, 2)


def test_views_and_functions_in_place_change_the_same_memory(simulated: Any) -> None:
    there = simulated.put(np.zeros((2, 2)))
    there[0] += 1
    there[:, 1].mul_(5)
    torch.add(there, there, out=there)
    assert there.cpu().tolist() == [[2, 10], [0, 0]]
    copy = there.cpu()
    copy += 1
    assert there.cpu().tolist() == [[2, 10], [0, 0]]
