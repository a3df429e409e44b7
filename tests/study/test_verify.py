"""`verify`: honest results hold; whatever else is in their folder does not, with the file and the field."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command import graphgauge as command
from tests.sealed import write_sealed

from graphgauge.core.errors import InputError, OptionError
from graphgauge.study import run, verify
from graphgauge.study.same import Tree, differences

ONE = "good/ranking/metrics_toy_1.json"
Edit = Callable[[dict[str, Any]], object]


def changed(folder: Path, name: str, edit: Edit) -> str:
    """Edit a file's content, and give it the root of its new content: a forger knows how."""
    path = folder / "results" / name
    content = json.loads(path.read_text())
    edit(content)
    write_sealed(path, content)
    return name


def result(content: dict[str, Any], key: str = "mrr") -> dict[str, Any]:
    return next(each for each in content["results"] if each["key"] == key)


def comparison(folder: Path) -> str:
    (path,) = (folder / "results/comparisons").iterdir()
    return f"comparisons/{path.name}"


def moved(content: dict[str, Any], name: str, by: float = 1e-9) -> None:
    content[name] += by


def test_honest_results_hold(finished):
    verdict = verify(finished / "study.toml", jobs=1)
    assert verdict, verdict.differences
    assert verdict.files == 13
    assert str(verdict).startswith("holds: 13 files follow from study.toml (SHA-256 ")
    assert not verdict.versions


# What the file and the field are where the verdict names them.
EDITS: dict[str, tuple[Callable[[Path], str], str]] = {
    "a value": (lambda f: changed(f, ONE, lambda c: moved(result(c), "value")), "results[0].value"),
    "an interval's end": (
        lambda f: changed(f, ONE, lambda c: moved(result(c)["interval"], "low")),
        "results[0].interval.low",
    ),
    "the level of an interval": (
        lambda f: changed(f, ONE, lambda c: result(c)["interval"].update(level=0.99)),
        "results[0].interval.level",
    ),
    "a level of chance": (
        lambda f: changed(f, ONE, lambda c: moved(result(c)["references"][0], "value")),
        "results[0].references[0].value",
    ),
    "a count": (lambda f: changed(f, ONE, lambda c: result(c).update(n=61)), "results[0].n"),
    "a direction": (lambda f: changed(f, ONE, lambda c: result(c).update(direction="lower")), "results[0].direction"),
    "a tolerance": (lambda f: changed(f, ONE, lambda c: result(c).update(tolerance=1.0, value=0.99)), "results[0]"),
    "a result is gone": (lambda f: changed(f, ONE, lambda c: c["results"].pop()), "results"),
    "a result is there twice": (lambda f: changed(f, ONE, lambda c: c["results"].append(c["results"][0])), "results"),
    "an option": (lambda f: changed(f, ONE, lambda c: c["options"].update(k="1, 9")), "options"),
    "a convention": (lambda f: changed(f, ONE, lambda c: c["conventions"].update(ties="optimistic")), "conventions"),
    "the method": (lambda f: changed(f, ONE, lambda c: c["run"].update(method="poor")), "run.method"),
    "the seed": (lambda f: changed(f, ONE, lambda c: c["run"].update(seed=0)), "run.seed"),
    "a breakdown": (
        lambda f: changed(f, ONE, lambda c: c["breakdowns"]["relation"]["mrr"].reverse()),
        "breakdowns.relation.mrr",
    ),
    "a finding is added": (
        lambda f: changed(f, ONE, lambda c: c["findings"].append({"check": "x"})),
        "findings",
    ),
    "the status": (lambda f: changed(f, ONE, lambda c: c.update(status="failed", error="out of memory")), "error"),
    "the hash of an input": (
        lambda f: changed(f, ONE, lambda c: c["receipt"]["inputs"][0].update(hash="0" * 64)),
        "receipt.inputs[0].hash",
    ),
    "the path of an input": (
        lambda f: changed(f, ONE, lambda c: c["receipt"]["inputs"][0].update(path="better.npy")),
        "receipt.inputs[0].path",
    ),
    "the request": (
        lambda f: changed(f, ONE, lambda c: c["receipt"]["request"]["fields"].update(k=[1])),
        "receipt.request.fields.k",
    ),
    "the key": (lambda f: changed(f, ONE, lambda c: c["receipt"].update(key="0")), "receipt.key"),
    "a field of its own": (lambda f: changed(f, ONE, lambda c: c.update(approved=True)), "approved"),
    "a field deep inside": (lambda f: changed(f, ONE, lambda c: c["receipt"].update(by="us")), "receipt.by"),
    "truth for one": (lambda f: changed(f, ONE, lambda c: result(c).update(n=True)), "results[0].n"),
    "a float for a count": (lambda f: changed(f, ONE, lambda c: result(c).update(n=60.0)), "results[0].n"),
    "text for a number": (lambda f: changed(f, ONE, lambda c: result(c).update(value="inf")), "results[0].value"),
    "nothing for a number": (lambda f: changed(f, ONE, lambda c: result(c).update(value=None)), "results[0].value"),
    "a p-value": (
        lambda f: changed(f, comparison(f), lambda c: moved(c["comparison"]["pairs"][0], "p_value")),
        "comparison.pairs[0].p_value",
    ),
    "who is better": (
        lambda f: changed(f, comparison(f), lambda c: c["comparison"]["pairs"][0].update(verdict="second")),
        "comparison.pairs[0].verdict",
    ),
    "the level of the tests": (
        lambda f: changed(f, comparison(f), lambda c: c["comparison"].update(confidence=0.5)),
        "comparison.confidence",
    ),
    "the metric compared": (
        lambda f: changed(f, comparison(f), lambda c: c["comparison"].update(metric="hits@3")),
        "comparison.metric",
    ),
    "a gate set to failed": (
        lambda f: changed(f, "gates.json", lambda c: c["gates"][0].update(verdict="failed")),
        "gates[0].verdict",
    ),
    "the limit of a gate": (
        lambda f: changed(f, "gates.json", lambda c: c["gates"][0].update(limit=0.1)),
        "gates[0].limit",
    ),
    "a gate is gone": (lambda f: changed(f, "gates.json", lambda c: c["gates"].pop()), "gates"),
    "a comparison is not listed": (
        lambda f: changed(f, "study.json", lambda c: c["comparisons"].clear()),
        "comparisons",
    ),
    "the study's hash": (lambda f: changed(f, "study.json", lambda c: c.update(hash="0" * 64)), "hash"),
    "a run is called failed": (
        lambda f: changed(f, "study.json", lambda c: c["runs"].update({ONE: "failed"})),
        f"runs.{ONE}",
    ),
    "a finding of all is gone": (lambda f: changed(f, "study.json", lambda c: c["findings"].pop(0)), "findings"),
    "a check is ignored": (lambda f: changed(f, "study.json", lambda c: c["ignored"].update(x="y")), "ignored.x"),
}


@pytest.fixture(scope="module")
def again(run_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """What `verify` compares with: the results of another run."""
    folder = tmp_path_factory.mktemp("again")
    shutil.copytree(run_once, folder, dirs_exist_ok=True)
    shutil.rmtree(folder / "results")
    run(folder / "study.toml", jobs=2)
    return Tree(folder / "results")


@pytest.mark.parametrize("name", EDITS)
def test_every_edit_is_named(finished, again, name):
    edit, field = EDITS[name]
    file = edit(finished)
    found = [(each.file, each.field) for each in differences(Tree(finished / "results"), again)]
    assert any(where == file and at.startswith(field) for where, at in found), found


def leaves(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the texts, numbers and truth values of a file are."""
    parts = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, part in parts:
        yield from leaves(part, (*path, key)) if isinstance(part, dict | list) and part else [(*path, key)]


def other(value: Any) -> Any:
    """Another value of the same kind, as close as one that matters can be."""
    if isinstance(value, bool) or value is None:
        return value is None or not value
    if isinstance(value, int | float):
        return value + (1 if isinstance(value, int) else 1e-9 * max(1.0, abs(value)))
    return f"{value} " if isinstance(value, str) else [1]


def test_no_single_field_can_be_changed_or_taken_away(finished, again):
    """Of every file, fields drawn at random: changed a little, or gone, with the root of the forged content."""
    files = {name: json.loads(path.read_text()) for name, path in again.files.items()}
    every = [(name, path) for name, content in files.items() for path in leaves(content)]
    times = ({"root"}, {"receipt", "started"}, {"receipt", "seconds"})
    fields = [(name, path) for name, path in every if set(path) not in times and path[:2] != ("receipt", "versions")]
    assert len(fields) > 1000
    draw = random.Random(0)
    for number, (name, path) in enumerate(draw.sample(fields, 150)):

        def forge(content: dict[str, Any], path: tuple[Any, ...] = path, is_gone: bool = number % 5 == 0) -> None:
            place = content
            for key in path[:-1]:
                place = place[key]
            if is_gone:
                del place[path[-1]]
            else:
                place[path[-1]] = other(place[path[-1]])

        honest = (finished / "results" / name).read_bytes()
        changed(finished, name, forge)
        assert any(each.file == name for each in differences(Tree(finished / "results"), again)), (name, path)
        (finished / "results" / name).write_bytes(honest)
    assert not list(differences(Tree(finished / "results"), again))


def test_a_file_without_its_root_is_named(finished, again):
    for name in again.files:
        if name.endswith(".json") and "root" in json.loads((finished / "results" / name).read_text()):
            path = finished / "results" / name
            honest = path.read_bytes()
            path.write_text(json.dumps({key: part for key, part in json.loads(honest).items() if key != "root"}))
            (found,) = differences(Tree(finished / "results"), again)
            assert (found.file, found.field) == (name, "root")
            path.write_bytes(honest)


def gone(name: str) -> Callable[[Path], str]:
    def remove(folder: Path) -> str:
        path = folder / "results" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        return name

    return remove


def stray(name: str, of: str = ONE) -> Callable[[Path], str]:
    def add(folder: Path) -> str:
        path = folder / "results" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / "results" / of, path)
        return name

    return add


def rewritten(name: str, content: bytes) -> Callable[[Path], str]:
    def write(folder: Path) -> str:
        (folder / "results" / name).write_bytes(content)
        return name

    return write


def cut(folder: Path) -> str:
    path = folder / "results" / ONE
    path.write_bytes(path.read_bytes()[:-20])
    return ONE


def unsealed(folder: Path) -> str:
    path = folder / "results" / ONE
    path.write_text(path.read_text().replace('"root": "', '"root": "0', 1))
    return ONE


def piped(folder: Path) -> str:
    import os

    (folder / "results" / ONE).unlink()
    os.mkfifo(folder / "results" / ONE)
    return ONE


def swapped(folder: Path) -> str:
    """Two seeds in each other's place: every file is as it was written."""
    one, other = (folder / "results" / f"good/ranking/metrics_toy_{seed}.json" for seed in (0, 1))
    first = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(first)
    return ONE


def renamed(folder: Path) -> str:
    """Another seed's result under this one's name, with this one's names inside."""
    path = folder / "results" / "good/ranking/metrics_toy_0.json"
    content = json.loads(path.read_text())
    content["run"]["seed"] = 1
    write_sealed(folder / "results" / ONE, content)
    return ONE


def borrowed(folder: Path) -> str:
    """The other method's results as this one's."""
    for seed in range(3):
        path = folder / "results" / f"poor/ranking/metrics_toy_{seed}.json"
        content = json.loads((folder / "results" / f"good/ranking/metrics_toy_{seed}.json").read_text())
        content["run"]["method"] = "poor"
        write_sealed(path, content)
    return "poor/ranking/metrics_toy_0.json"


def linked(folder: Path) -> str:
    """A link to what holds now and can be exchanged later."""
    path = folder / "results/gates.json"
    content = json.loads(path.read_text())
    content["gates"] = content["gates"][:1]
    write_sealed(folder / "mine.json", content)
    path.unlink()
    path.symlink_to(folder / "mine.json")
    return "gates.json"


def foldered(folder: Path) -> str:
    (folder / "results" / ONE).unlink()
    (folder / "results" / ONE).mkdir()
    return ONE


def repeated(folder: Path) -> str:
    path = folder / "results" / ONE
    path.write_text(path.read_text().replace('{\n "schema"', '{\n "status": "ok",\n "schema"', 1))
    return ONE


FILES: dict[str, tuple[Callable[[Path], str], str]] = {
    "a result is gone": (gone(ONE), "is missing"),
    "a seed is gone": (gone("poor/ranking/metrics_toy_2.json"), "is missing"),
    "a comparison is gone": (gone("comparisons"), "is missing"),
    "the gates are gone": (gone("gates.json"), "is missing"),
    "the outcome is gone": (gone("study.json"), "is missing"),
    "a family is gone": (gone("near/recovery"), "is missing"),
    "a stray result": (stray("good/ranking/metrics_toy_9.json"), "no file of this study"),
    "a stray method": (stray("best/ranking/metrics_toy_0.json"), "no file of this study"),
    "a stray comparison": (stray("comparisons/2-mrr.json", "comparisons/1-mrr.json"), "no file of this study"),
    "a stray file that is hidden": (stray("good/ranking/.metrics_toy_9.json"), "no file of this study"),
    "a stray file that is no result": (stray("notes.txt"), "no file of this study"),
    "items that were not kept": (stray("good/ranking/metrics_toy_1.items.npz"), "no file of this study"),
    "an empty file": (rewritten(ONE, b""), "cannot be read"),
    "no JSON": (rewritten(ONE, b"\x00\x01"), "cannot be read"),
    "deep brackets": (rewritten(ONE, b"[" * 100_000), "cannot be read"),
    "a list": (rewritten(ONE, b"[]"), "and now"),
    "cut short": (cut, "cannot be read"),
    "another root": (unsealed, "was edited or damaged"),
    "a pipe": (piped, "cannot be read"),
    "two seeds swapped": (swapped, "and now"),
    "a key twice": (repeated, "cannot be read"),
    "another seed under this one's name": (renamed, "and now"),
    "another method's results": (borrowed, "and now"),
    "a link to forged gates": (linked, "entries, and now"),
    "a folder in a file's place": (foldered, "is missing"),
    "numbers that are none": (rewritten(ONE, b'{"results": NaN}'), "cannot be read"),
    "a stray result in a folder called like a page": (stray("page.html/ranking/x.json"), "no file of this study"),
    "results of another study": (stray("other/results/gates.json", "gates.json"), "no file of this study"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_other_ones_are_named(finished, again, name):
    make, words = FILES[name]
    file = make(finished)
    said = [str(each) for each in differences(Tree(finished / "results"), again)]
    assert any(each.startswith(file) and words in each for each in said), said


@pytest.mark.parametrize(
    ("old", "new", "file"),
    [
        ("mrr > 0.2", "mrr > 0.1", "gates.json"),
        ("seeds = [0, 1, 2]", "seeds = [0, 1]", "good/ranking/metrics_toy_2.json"),
        ('methods = ["good", "poor"]', 'methods = ["poor", "good"]', "study.json"),
        ("k = [1, 3]", "k = [1]", ONE),
        ('baseline = "poor"', "", "comparisons/1-mrr.json"),
        ("# nothing", "", "study.json"),
    ],
)
def test_a_study_that_was_changed_after_the_run(finished, old, new, file):
    path = finished / "study.toml"
    text = path.read_text()
    path.write_text(text.replace(old, new, 1) if old in text else text + "# nothing\n")
    verdict = verify(path, jobs=2)
    assert file in {each.file for each in verdict.differences}
    assert "study.json" in {each.file for each in verdict.differences}


def test_inputs_that_changed(finished):
    np.save(finished / "scores/good/1/pos.npy", np.load(finished / "scores/good/1/pos.npy") + 1e-7)
    verdict = verify(finished / "study.toml", jobs=2)
    found = {(each.file, each.field) for each in verdict.differences}
    assert (ONE, "receipt.key") in found
    assert any(file == ONE and re.fullmatch(r"receipt\.inputs\[\d\]\.hash", field) for file, field in found)
    (finished / "scores/good/1/pos.npy").unlink()
    verdict = verify(finished / "study.toml", jobs=2)
    assert (ONE, "status") in {(each.file, each.field) for each in verdict.differences}


def test_results_behind_links_hold(finished):
    (finished / "results").rename(finished / "elsewhere")
    (finished / "results").symlink_to(finished / "elsewhere")
    (finished / "elsewhere/good").rename(finished / "good")
    (finished / "elsewhere/good").symlink_to(finished / "good")
    assert verify(finished / "study.toml", jobs=2)
    (finished / "good/up").symlink_to(finished / "good")  # never ends
    assert not verify(finished / "study.toml", jobs=2)


def test_figures_pages_and_times_do_not_count(finished):
    (finished / "results/report.html").write_text("<p>mine</p>")
    changed(finished, ONE, lambda c: c["receipt"].update(started="2020-01-01T00:00:00+00:00", seconds=3.5))
    assert verify(finished / "study.toml", jobs=2)


def test_other_versions_are_named_first(finished):
    changed(finished, ONE, lambda c: c["receipt"]["versions"].update(numpy="1.0"))
    done = command("verify", "study.toml", "--jobs", 2, cwd=finished)
    assert done.returncode == 0
    assert done.stdout.startswith("computed with other versions: numpy 1.0, and now ")


def test_rounding_is_no_difference_and_a_declared_tolerance_counts(finished):
    changed(finished, ONE, lambda c: moved(result(c), "value", 1e-13))
    assert verify(finished / "study.toml", jobs=2)
    from graphgauge.study.same import _unequal

    new = {"results": [{"key": "fitted", "value": 1.0, "tolerance": 1e-6}, {"key": "counted", "value": 1.0}]}
    old = {
        "results": [{"key": "fitted", "value": 1.0 + 5e-7, "tolerance": 1e-6}, {"key": "counted", "value": 1.0 + 5e-7}]
    }
    assert [field for field, _ in _unequal(old, new, (), {"fitted": 1e-6, "counted": 1e-12})] == ["results[1].value"]


def test_items_are_compared_as_arrays(study):
    text = (study / "study.toml").read_text().replace("groups =", "keep_items = true\ngroups =")
    (study / "study.toml").write_text(text)
    run(study / "study.toml", jobs=2)
    assert verify(study / "study.toml", jobs=2)
    side = study / "results" / ONE.replace(".json", ".items.npz")
    with np.load(side) as archive:
        arrays = {name: archive[name] for name in archive.files}
    name = next(each for each in arrays if arrays[each].dtype.kind == "f")
    for change, words in ((1e-14, "has changed since"), (1e-3, f"{name}: differs")):
        np.savez(side, **{**arrays, name: arrays[name] + change})
        said = [str(each) for each in verify(study / "study.toml", jobs=2).differences]
        assert any(words in each for each in said), said


def test_code_is_not_imported_without_consent(tmp_path):
    (tmp_path / "model.py").write_text("raise SystemExit('imported')\n")
    (tmp_path / "study.toml").write_text(
        'schema = 1\n[[evaluate]]\nfamily = "explanation"\nmethod = "m"\ndataset = "d"\n'
        'model = "model:load"\nexplanations = "e.jsonl"\n'
    )
    (tmp_path / "results").mkdir()
    with pytest.raises(OptionError, match=r"names code that would be imported: model:load\. .*--trust-code"):
        verify(tmp_path / "study.toml")
    done = command("verify", "study.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "imported" not in done.stdout


def test_a_result_of_a_single_command(finished):
    path = finished / "results" / ONE
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(finished)
        single = finished / "one.json"
        shutil.copy(path, single)
        content = json.loads(single.read_text())
        content["receipt"].pop("key")
        write_sealed(single, content)
        assert verify(single)
        write_sealed(single, {**content, "results": [{**content["results"][0], "value": 0.5}, *content["results"][1:]]})
        assert [each.field for each in verify(single).differences] == ["results[0].value"]


def test_what_cannot_be_verified_is_refused(finished):
    for name, words in (
        ("results", "verified by their study"),
        ("gone.toml", "no such file"),
        ("results/gates.json", "no result"),
    ):
        with pytest.raises(InputError, match=words):
            verify(finished / name)
    shutil.rmtree(finished / "results")
    with pytest.raises(InputError, match="Run `graphgauge run"):
        verify(finished / "study.toml")


def test_the_command_says_what_it_proves(finished):
    done = command("verify", "study.toml", "--jobs", 2, cwd=finished)
    assert done.returncode == 0
    assert re.fullmatch(
        r"holds: 13 files follow from study\.toml \(SHA-256 [0-9a-f]{16}…\) and these inputs, in this environment\.\n",
        done.stdout,
    )
    (finished / "results" / ONE).unlink()
    done = command("verify", "study.toml", "--jobs", 2, cwd=finished)
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == f"{ONE}: is missing"
    content = json.loads(command("verify", "study.toml", "--format", "json", cwd=finished).stdout)
    assert content["holds"] is False
    assert content["differences"][0]["file"] == ONE
