"""Verdicts as JSON, and as a page for the maintainer of a benchmark and its readers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from graphgauge._version import __version__
from graphgauge.core.family import family, family_names
from graphgauge.core.schema import number_from_json
from graphgauge.core.scrub import clean, scrub
from graphgauge.stats.text import several
from graphgauge.study.claim import Verdict
from graphgauge.study.confine import protections
from graphgauge.study.proof import EXPLAINED

SCHEMA = "graphgauge/verdicts/1"
# The most values of a result on the page; the JSON has all.
_VALUES = 4
_STYLE = """
body { font: 16px/1.45 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #1c1c1c; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid #ddd; }
td { overflow-wrap: anywhere; } td.values { font-variant-numeric: tabular-nums; }
.equal { color: #17633a; } .drifted, .failed, .damaged { color: #a3241c; } .unchecked { color: #8a5a00; }
.wide { overflow-x: auto; }
"""


def verdicts_to_dict(found: Mapping[Path, Sequence[Verdict]]) -> dict[str, Any]:
    """Every verdict, by folder, with what is proved of it field by field."""
    every = [verdict for verdicts in found.values() for verdict in verdicts]
    return {
        "schema": SCHEMA,
        "graphgauge": __version__,
        "passed": not any(verdict.mismatch for verdict in every),
        "outcomes": dict(Counter(verdict.status for verdict in every)),
        "protections": list(protections()),
        "folders": [
            {"folder": str(root), "verdicts": [scrub(verdict.to_dict(root)) for verdict in verdicts]}
            for root, verdicts in found.items()
        ],
        "note": EXPLAINED,
    }


def verdicts_page(found: Mapping[Path, Sequence[Verdict]], truths: Iterable[str] = ()) -> str:
    """One HTML page without scripts; equal results come first, the best of each dataset on top."""
    every = [(root, verdict) for root, verdicts in found.items() for verdict in verdicts]
    counts = Counter(verdict.status for _, verdict in every)
    head = f"{several(len(every), 'result')}: " + ", ".join(f"{count} {status}" for status, count in counts.items())
    proofs = dict.fromkeys(verdict.proof.kinds for _, verdict in every if verdict.proof and not verdict.mismatch)
    given = [f"<li><code>{_text(truth)}</code></li>" for truth in truths]
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Verified results</title><style>{_STYLE}</style></head><body>",
        "<h1>Verified results</h1>",
        f"<p>{_text(head)}. Recomputed by graphgauge {_text(__version__)}.</p>",
        *(["<p>Truth:</p><ul>", *given, "</ul>"] if given else []),
        *_table("Recomputed and equal", [row for row in every if not row[1].mismatch], len(found) > 1),
        *(f"<p>{_text(line)}</p>" for line in unlike(verdict for _, verdict in every)),
        *_table("Not accepted", [row for row in every if row[1].mismatch], len(found) > 1),
        *(line for proof in proofs for line in ["<p>Equal means:</p><ul>", *_listed(proof.lines()), "</ul>"]),
        f"<p>{_text(EXPLAINED)}</p>",
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def unlike(verdicts: Iterable[Verdict]) -> list[str]:
    """Datasets on which equal results were computed with different options: their values may not be comparable."""
    by_dataset: dict[tuple[str, str], dict[str, list[Verdict]]] = {}
    for verdict in verdicts:
        if not verdict.mismatch:
            place = str(verdict.run.get("family")), str(verdict.run.get("dataset"))
            options = ", ".join(f"{name} {value}" for name, value in verdict.options.items()) or "none"
            by_dataset.setdefault(place, {}).setdefault(options, []).append(verdict)
    return [
        f"On {dataset} ({name}), the options differ, so values may not be comparable: "
        + "; ".join(f"{options} in {several(len(own), 'result')}" for options, own in groups.items())
        for (name, dataset), groups in by_dataset.items()
        if len(groups) > 1
    ]


def _table(title: str, rows: Sequence[tuple[Path, Verdict]], several_folders: bool) -> list[str]:
    if not rows:
        return []
    ordered = sorted(rows, key=lambda row: _order(row[1]))
    head = "<tr><th>outcome</th><th>method</th><th>dataset</th><th>seed</th><th>values</th><th>file</th></tr>"
    return [
        f"<h2>{_text(title)}</h2>",
        '<div class="wide"><table>',
        f"<thead>{head}</thead><tbody>",
        *(_row(root, verdict, several_folders) for root, verdict in ordered),
        "</tbody></table></div>",
    ]


def _row(root: Path, verdict: Verdict, several_folders: bool) -> str:
    run = verdict.run
    why = "" if not verdict.detail else f"<br><small>{_text(verdict.detail)}</small>"
    cells = [
        f'<td class="{verdict.status}"><strong>{verdict.status}</strong>{why}</td>',
        *(f"<td>{_text(run.get(name))}</td>" for name in ("method", "dataset", "seed")),
        f'<td class="values">{"<br>".join(map(_text, _values(verdict)))}</td>',
        f"<td>{_text(verdict.name(root, several=several_folders))}</td>",
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _values(verdict: Verdict) -> list[str]:
    """The headline values that were recomputed, and nothing that is only claimed."""
    lines = []
    for key in _headlines(verdict):
        entry = verdict.values[key]
        interval = entry["interval"]
        bounds = (
            ""
            if interval is None
            else " [{:.4g}, {:.4g}]".format(number_from_json(interval["low"]), number_from_json(interval["high"]))
        )
        lines.append(f"{key} {number_from_json(entry['value']):.4g}{bounds}")
    return lines


def _headlines(verdict: Verdict) -> list[str]:
    name = verdict.run.get("family")
    first = [key for key in family(name).headlines if key in verdict.values] if name in family_names() else []
    return (first or list(verdict.values))[:_VALUES]


def _order(verdict: Verdict) -> tuple[Any, ...]:
    """By dataset, then by the first headline value in the direction of its metric."""
    keys = _headlines(verdict)
    value = number_from_json(verdict.values[keys[0]]["value"]) if keys else float("nan")
    sign = -1.0 if not keys or verdict.values[keys[0]].get("direction") != "lower" else 1.0
    return str(verdict.run.get("dataset")), value != value, sign * value, str(verdict.path)


def _listed(lines: Iterable[str]) -> list[str]:
    return [f"<li>{_text(line.strip())}</li>" for line in lines]


def _text(value: object) -> str:
    return "" if value is None else escape(clean(str(value)))
