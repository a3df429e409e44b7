"""A seed decides what torch draws, on one thread, and leaves no trace."""

from __future__ import annotations

import pytest
import torch

from graphgauge.zoo.seeding import seeded


def test_a_seed_decides_and_nothing_else_changes() -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        torch.manual_seed(5)
        expected = torch.rand(3)
        torch.manual_seed(5)
        drawn = []
        for _ in range(2):
            with seeded(1):
                assert torch.get_num_threads() == 1
                drawn.append(torch.rand(3))
        with pytest.raises(RuntimeError), seeded(1):
            raise RuntimeError
        assert torch.equal(drawn[0], drawn[1])
        assert torch.equal(torch.rand(3), expected)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
