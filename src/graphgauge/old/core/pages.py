"""Self-contained HTML pages that make no network requests: a template, the common style, and charts as Vega-Lite."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.old.core.files import atomic_path
from graphgauge.old.core.schema import file_part

_COMMON = Path(__file__).parent / "templates"
# Characters that could end a script element or begin a comment in one, with their JSON escapes.
_IN_SCRIPT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
# The last characters of the script of charts.
_END = "\n// graphgauge: end of the chart library\n"
SHAPES = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right"]
# Colours are variables of the page, so that charts follow dark mode and print without being drawn again.
_CONFIG = {
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--ink)",
        "titleColor": "var(--ink)",
        "domainColor": "var(--rule)",
        "tickColor": "var(--rule)",
        "gridColor": "var(--rule)",
        "gridOpacity": 0.6,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "labelLimit": 200,
    },
    "tooltipFormat": {"numberFormat": ".6~g"},
    "legend": {"labelColor": "var(--ink)", "titleColor": "var(--ink)", "labelFontSize": 12, "labelLimit": 220},
}


@dataclass(frozen=True)
class Chart:
    """A chart, its description, and its rows: its own, or a named part of the page's data."""

    id: str
    title: str
    caption: str
    spec: dict[str, Any]
    columns: Sequence[str]
    rows: Sequence[dict[str, Any]] | None = None
    family: str = ""
    more: dict[str, Sequence[dict[str, Any]]] = field(default_factory=dict)

    def content(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "spec": self.spec,
            "columns": self.columns,
            "rows": self.rows,
            "family": self.family,
            "more": self.more,
        }


def finished(alt: Any, chart: Any, height: Any) -> dict[str, Any]:
    whole = chart.properties(width="container", height=height).configure(**_CONFIG)
    # The charts are the same for all data, so the tests validate them once.
    spec: dict[str, Any] = whole.to_dict(validate=False)
    # The page contains no URL, not even of a schema.
    spec.pop("$schema")
    return spec


def rendered(template: Path, data: Any, **content: Any) -> str:
    """The page of a template, `{template}.html.j2` with `{template}.js`, in the common style; scripts read `data`."""
    jinja2 = need("jinja2", "the HTML report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([template.parent, _COMMON]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    trusted = need("markupsafe", "the HTML report").Markup
    scripts = (_runtime(), template.with_suffix(".js").read_text(encoding="utf-8"))
    text: str = environment.get_template(f"{template.name}.html.j2").render(
        **content,
        style=trusted((_COMMON / "page.css").read_text(encoding="utf-8")),
        scripts=[trusted(script) for script in scripts],
        script_hashes=[_csp_hash(script) for script in scripts],
        data=trusted(script_json(data)),
    )
    return text


def script_json(content: Any) -> str:
    """JSON that is safe inside a script element."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, spelled in _IN_SCRIPT.items():
        text = text.replace(character, spelled)
    return text


def _csp_hash(script: str) -> str:
    """Only scripts with these hashes run, even if data were not escaped correctly."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _runtime() -> str:
    """Vega, Vega-Lite and Vega-Embed, as one script that needs no network.

    To put them together takes a second, so the script is kept where Python keeps the compiled form of this module.
    """
    converter = need("vl_convert", "the HTML report")
    kept = Path(__file__).parent / "__pycache__" / f"vega-{file_part(version('vl-convert-python'))}.js"
    with suppress(OSError, UnicodeDecodeError):
        found = kept.read_text(encoding="utf-8")
        if found.endswith(_END):  # otherwise it was cut short
            return found
    bundle: str = converter.javascript_bundle()
    script = bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--").replace("\r\n", "\n") + _END
    if not sys.dont_write_bytecode:
        with suppress(OSError, InputError), atomic_path(kept) as temporary:
            temporary.write_text(script, encoding="utf-8", newline="\n")
    return script
