"""Accuracies of four time-series classifiers, from the wheel of aeon, as one table of runs.

pip download --no-deps aeon==1.6.0
python examples/statistics_published.py aeon-1.6.0-py3-none-any.whl accuracy.csv
graphgauge compare accuracy.csv --metric accuracy --higher                    # datasets like these
graphgauge compare accuracy.csv --metric accuracy --higher --datasets these   # further resamples of these
"""

import csv
import io
import sys
import zipfile
from pathlib import Path

FOLDER = "aeon/testing/example_results_files/classification/accuracy/"


def runs(wheel: Path) -> dict[str, dict[str, list[str]]]:
    """The scores of each method on each dataset, one per resample."""
    found = {}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith(FOLDER) and name.endswith("_accuracy.csv"):
                _, *rows = csv.reader(io.StringIO(archive.read(name).decode()))
                found[Path(name).stem.removesuffix("_accuracy")] = {row[0]: row[1:] for row in rows}
    return found


def main(wheel: str, output: str) -> None:
    methods = runs(Path(wheel))
    shared = sorted(set.intersection(*(set(scores) for scores in methods.values())))
    with Path(output).open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["method", "dataset", "seed", "accuracy"])
        for method, scores in methods.items():
            for dataset in shared:
                writer.writerows([method, dataset, seed, score] for seed, score in enumerate(scores[dataset]))
    print(f"{len(methods)} methods on {len(shared)} datasets")


if __name__ == "__main__":
    main(*sys.argv[1:])
