"""Patterns of file names take no longer than their length allows."""

from __future__ import annotations

import time

from graphgauge.old.core.files import matching


def test_a_long_pattern_matches_nothing_and_takes_no_time(tmp_path):
    (tmp_path / "neg-0.npy").touch()
    begin = time.process_time()
    assert matching("neg-*." + "[" * 50_000, tmp_path) == []
    assert time.process_time() - begin < 1
    assert matching("neg-*.npy", tmp_path) == ["neg-0.npy"]
