"""The findings of all checks on the demo and on real data, for docs/audit/demo.md:

    graphgauge demo --output demo
    python docs/audit_real.py cora.npz demo/results

needs torch and the peer libraries, whose wheels contain the other data, and takes some minutes. Every finding is judged
in docs/audit/found/judged.toml; a missing or an outdated judgement is an error.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections import defaultdict
from collections.abc import Mapping

from audit_real_data import BESIDE, DOCS, SETS, Judging, Sources

from graphgauge import audit
from graphgauge.core.family import BUILT_IN as FAMILIES
from graphgauge.core.files import write_text

PLACE = DOCS / "audit" / "found"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cora")
    parser.add_argument("demo")
    parser.add_argument("--only", choices=SETS, help="one set of data")
    arguments = parser.parse_args()
    verdicts = tomllib.loads((PLACE / "judged.toml").read_text(encoding="utf-8"))
    wrong = []
    for name, judging in SETS.items():
        if arguments.only in (None, name):
            judged = list(judging(Sources(arguments.cora, arguments.demo)))
            text, found = table(judged, verdicts[name])
            if name in BESIDE:
                text += f"\n{BESIDE[name](judged)}\n"
            write_text(PLACE / f"{name}.inc", text)
            print(f"{name}\n{text}", flush=True)
            wrong += [f"{name}: {check}" for check in found ^ set(verdicts[name])]
    if wrong:
        sys.exit(f"found and not judged, or judged and not found: {', '.join(wrong)}")


def table(judged: list[Judging], verdicts: Mapping[str, str]) -> tuple[str, set[str]]:
    """The findings, each check once, with places and judgement; then the checks that found nothing."""
    messages: dict[str, str] = {}
    places: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    silent: set[str] = set()
    missing: dict[str, set[str]] = defaultdict(set)
    for each in judged if judged[0].evaluation.family in FAMILIES else []:
        findings = (
            audit.Findings(each.evaluation.findings) if each.stored else audit.run(each.evaluation, **each.materials)
        )
        for finding in findings:
            messages.setdefault(finding.check, finding.message)
            places[finding.check][each.data].append(each.method)
        silent |= set(findings.silent)
        for check, needs in findings.not_run.items():
            missing[check] |= set(needs)
    together = [item.name for item in audit.checks("runs")]
    findings = audit.run([each.evaluation for each in judged], only=together)
    for finding in findings:
        messages[finding.check] = finding.message
        places[finding.check] = {}
    rows = [
        f"| `{check}` | {_where(places[check], judged)} | {_cell(message)} | {verdicts.get(check, '**?**')} |"
        for check, message in messages.items()
    ]
    quiet = sorted((silent | set(findings.silent)) - set(messages))
    lines = ["| finding | where | message | judgement |", "|---|---|---|---|", *rows, ""]
    lines += [f"Silent: {', '.join(f'`{check}`' for check in quiet)}."] if quiet else []
    never = [
        f"`{check}` (needs {' and '.join(sorted(needs))})"
        for check, needs in missing.items()
        if check not in {*messages, *silent}
    ]
    lines += [f"Not run: {', '.join(never)}."] if never else []
    return "\n".join(lines) + "\n", set(messages)


def _where(places: Mapping[str, list[str]], judged: list[Judging]) -> str:
    """The methods on each dataset, or their number if it is all of them."""
    if not places:
        return "all results together"
    several = len({each.data for each in judged}) > 1
    parts = []
    for data, methods in places.items():
        everybody = [each.method for each in judged if each.data == data]
        counts = {method: methods.count(method) for method in dict.fromkeys(methods)}
        named = [
            f"*{method}*" if everybody.count(method) == 1 else f"*{method}* ({n} of {everybody.count(method)})"
            for method, n in counts.items()
        ]
        what = f"all {len(everybody)}" if len(methods) == len(everybody) > 1 else ", ".join(named)
        parts.append(f"{data}: {what}" if several else what)
    return _cell("; ".join(parts))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    main()
