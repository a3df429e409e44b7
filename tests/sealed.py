"""Result files that tests write by hand, with the root that their content has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphgauge.core.sealed import root_of


def write_sealed(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps({**content, "root": root_of(content)}), encoding="utf-8")
