"""`write_report`: one self-contained HTML file that makes no network requests."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from graphgauge.core.extras import need
from graphgauge.core.files import write_text
from graphgauge.report.asked import asked
from graphgauge.report.collect import Source, collect, parts_of
from graphgauge.report.page import page
from graphgauge.report.scrub import clean

_TEMPLATES = Path(__file__).parent / "templates"
# Characters that could end a script element or begin a comment in one, with their JSON escapes.
_IN_SCRIPT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def write_report(source: Source, path: str | Path, *, title: str | None = None) -> Path:
    """Write the report of a folder of results, or of some result files, and return its path.

    The default title is the study's name, if there is one.
    """
    target, parts = Path(path), parts_of(source)
    found = page(
        collect(parts), asked(part for part in parts if part.is_dir()), None if title is None else clean(str(title))
    )
    write_text(target, rendered("page", found.data, page=found))
    return target


def rendered(name: str, data: Any, **content: Any) -> str:
    """The page of a template, `{name}.html.j2` with `{name}.js`, in the common style; scripts read `data` from it."""
    jinja2 = need("jinja2", "the HTML report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    trusted = need("markupsafe", "the HTML report").Markup
    scripts = (_runtime(), (_TEMPLATES / f"{name}.js").read_text(encoding="utf-8"))
    text: str = environment.get_template(f"{name}.html.j2").render(
        **content,
        style=trusted((_TEMPLATES / "page.css").read_text(encoding="utf-8")),
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
    """Vega, Vega-Lite and Vega-Embed, as one script that needs no network."""
    bundle: str = need("vl_convert", "the HTML report").javascript_bundle()
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--").replace("\r\n", "\n")
