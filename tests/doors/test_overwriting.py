"""No output is written in the place of an input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphgauge.cli.app import cli
from graphgauge.core.errors import OptionError

OUTPUTS = ("--output", "--flat", "--figure", "--save-state", "--per-query")


@pytest.mark.parametrize(
    ("command", "output"), [*((["ranking"], output) for output in OUTPUTS), (["audit", "ranking"], "--output")]
)
@pytest.mark.parametrize("name", ["pos.npy", "./pos.npy", "neg-1.npy", "link.npy", "groups.npy"])
def test_an_output_is_no_input(
    command: list[str], output: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.save("pos.npy", rng.normal(1, 1, 20))
    for part in (0, 1):
        np.save(f"neg-{part}.npy", rng.normal(0, 1, (10, 5)))
    np.save("groups.npy", np.arange(20) % 2)
    Path("link.npy").symlink_to("pos.npy")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    words = [*command, "--pos-scores=pos.npy", "--neg-scores=neg-*.npy", "--groups=g=groups.npy", f"{output}={name}"]
    with pytest.raises(OptionError, match=f"^{output} .* is also an input"):
        cli.main(words, standalone_mode=False)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
