"""No output is written in the place of an input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphgauge.cli.app import cli
from graphgauge.core.errors import OptionError
from graphgauge.ranking import RankingState

OUTPUTS = ("--output", "--flat", "--figure", "--state")


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", ["pos.npy", "./pos.npy", "neg-1.npy", "link.npy", "groups.npy"])
def test_an_output_is_no_input(output: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.save("pos.npy", rng.normal(1, 1, 20))
    for part in (0, 1):
        np.save(f"neg-{part}.npy", rng.normal(0, 1, (10, 5)))
    np.save("groups.npy", np.arange(20) % 2)
    Path("link.npy").symlink_to("pos.npy")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    words = ["ranking", "--pos-scores=pos.npy", "--neg-scores=neg-*.npy", "--groups=g=groups.npy", f"{output}={name}"]
    with pytest.raises(OptionError, match=rf"^{Path(name).resolve().name} is also an input"):
        cli.main(words, standalone_mode=False)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def saved_inputs(folder: Path) -> dict[str, bytes]:
    rng = np.random.default_rng(0)
    np.save(folder / "pos.npy", rng.normal(1, 1, 20))
    np.save(folder / "neg.npy", rng.normal(0, 1, (20, 5)))
    np.save(folder / "bits.npy", rng.integers(0, 2, (20, 6)))
    RankingState().update(rng.normal(1, 1, 9), rng.normal(0, 1, (9, 5))).save(folder / "state.npz")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("output", ["--output", "--flat", "--save"])
def test_merging_does_not_overwrite_a_state(output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = saved_inputs(tmp_path)
    with pytest.raises(OptionError, match=r"^state\.npz is also an input"):
        cli.main(["merge", "state.npz", f"{output}=state.npz"], standalone_mode=False)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
