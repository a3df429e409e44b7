from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from graphgauge.kernels import threads
from graphgauge.kernels.threads import even_blocks, map_blocks, row_blocks, sum_blocks


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_answers_come_in_order(count: int) -> None:
    assert map_blocks(lambda block: block * block, range(50), threads=count) == [i * i for i in range(50)]


def test_threads_must_be_positive() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        map_blocks(abs, [1, 2], threads=0)


@pytest.mark.parametrize("rows", [0, 1, 7, 100])
@pytest.mark.parametrize("count", [0, 1, 3, 100])
def test_blocks_cover_every_row_once(rows: int, count: int) -> None:
    blocks = even_blocks(rows, count)
    assert [row for block in blocks for row in range(rows)[block]] == list(range(rows))
    assert len(blocks) == max(1, min(rows, count))


def test_small_work_is_one_block() -> None:
    assert row_blocks(1000, threads.BLOCK_WORK) == [slice(0, 1000)]
    assert len(row_blocks(1000, threads.BLOCK_WORK + 1)) == 2


def test_an_error_in_a_block_comes_out_and_no_block_runs_on() -> None:
    running = threading.Semaphore(0)

    def fail(block: int) -> None:
        running.release()
        raise KeyError(block)

    with pytest.raises(KeyError):
        map_blocks(fail, range(1000), threads=4)
    started = sum(running.acquire(blocking=False) for _ in range(1000))
    assert started <= 4


def test_eight_callers_and_calls_from_inside_a_block_do_not_wait_for_each_other() -> None:
    def nested(block: int) -> int:
        return sum(map_blocks(lambda inner: inner * block, range(5), threads=4))

    with ThreadPoolExecutor(8) as callers:
        answers = list(callers.map(lambda _: map_blocks(nested, range(20), threads=4), range(40), timeout=20))
    assert answers == [[10 * block for block in range(20)]] * 40


@pytest.mark.parametrize("count", [1, 2])
def test_sum_blocks_adds_every_block(count: int) -> None:
    def add(block: slice, table: NDArray[np.int64]) -> int:
        table[block] += 1
        table[0] += 1
        return int(block.start)

    table, starts = sum_blocks(add, even_blocks(10, 5), 10, threads=count)
    assert table.tolist() == [6, *[1] * 9]
    assert starts == [0, 2, 4, 6, 8]


def test_a_forked_child_makes_its_own_threads() -> None:
    code = """
        import os, warnings
        import numpy as np
        from graphgauge.kernels import threads
        warnings.simplefilter("ignore")  # newer Pythons warn of any fork once threads exist, which is the point here
        ask = lambda: threads.map_blocks(lambda block: block + 1, range(8), threads=2)
        expected = ask()
        threads._lock.acquire()
        child = os.fork()
        if child == 0:
            os._exit(0 if ask() == expected else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={"PYTHONPATH": str(Path(threads.__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    assert done.stdout.strip() == "0", done.stderr
