"""Result files that tests write by hand, with the root that their content has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphgauge.old.core.schema import sealed

__all__ = ["sealed", "write_sealed"]


def write_sealed(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(sealed(content)), encoding="utf-8")
