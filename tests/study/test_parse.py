"""Study files: what they expand to, and errors that say the line and the nearest name."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.study.conftest import STUDY

from graphgauge.core.errors import InputError
from graphgauge.study import read_study
from graphgauge.study.model import StudyError
from graphgauge.study.parse import fill
from graphgauge.study.toml import Lines


def read(folder: Path, text: str):
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return read_study(path)


def test_methods_and_seeds_expand(tmp_path):
    study = read(tmp_path, STUDY)
    assert study.name == "two scorers"
    assert study.results == tmp_path.resolve() / "results"
    assert [item.label for item in study.items] == [f"ranking/{m}/toy/{s}" for m in ("good", "poor") for s in range(3)]
    assert study.items[4].request.fields == {
        "k": (1, 3),
        "pos_scores": "scores/poor/1/pos.npy",
        "neg_scores": "scores/poor/1/neg.npy",
        "groups": {"relation": "relation.npy"},
    }


def test_datasets_are_an_axis_and_own_keys_win_over_defaults(tmp_path):
    text = STUDY.replace('dataset = "toy"', 'datasets = ["a", "b"]\nk = 5').replace("scores/", "{dataset}/")
    study = read(tmp_path, text.partition("[[compare]]")[0])
    assert len(study.items) == 12
    assert all(item.request.fields["k"] == (5,) for item in study.items)


@pytest.mark.parametrize("place", ["scores/{method}/0", "scores/{method}/{{0}}"])
def test_one_run_is_not_counted_as_several_seeds(tmp_path, place):
    text = STUDY.replace("scores/{method}/{seed}", place)
    with pytest.raises(StudyError, match=r"line 12: seeds are given, but \{seed\} is in no value"):
        read(tmp_path, text)
    one = text.replace("seeds = [0, 1, 2]", "seeds = [0]").partition("[[compare]]")[0]
    assert len(read(tmp_path, one).items) == 2
    option = text.replace("k = [1, 3]", "k = '{seed}'").replace("seeds = [0, 1, 2]", "seeds = [1, 2]")
    assert {tuple(item.request.fields["k"]) for item in read(tmp_path, option).items} == {(1,), (2,)}


@pytest.mark.parametrize(
    ("axis", "key", "line", "given"),
    [("method", "methods", 11, '["good", "poor"]'), ("dataset", "datasets", 10, '["a", "b"]')],
)
def test_one_run_is_not_counted_as_several_methods_or_datasets(tmp_path, axis, key, line, given):
    text = STUDY.replace('dataset = "toy"', f"datasets = {given}") if axis == "dataset" else STUDY
    text = text.replace("{method}", "{{method}}" if axis == "method" else "{method}").partition("[[compare]]")[0]
    with pytest.raises(StudyError, match=rf"line {line}: {key} are given, but \{{{axis}\}} is in no value"):
        read(tmp_path, text)
    one = text.replace(f"{key} = {given}", f"{key} = {given.partition(',')[0]}]")
    assert len(read(tmp_path, one).items) == (3 if axis == "method" else 6)
    used = text.replace("relation.npy", f"{{{axis}}}.npy")
    assert len({item.request.fields["groups"]["relation"] for item in read(tmp_path, used).items}) == 2


def test_a_name_with_a_comma_is_one_name_wherever_it_is_filled_in(tmp_path):
    text = (
        'schema = 1\n[[evaluate]]\nfamily = "evolution"\nmethods = ["a,b", "c"]\ndataset = "d"\nlog = "run"\n'
        'labels = "y.npy"\nconditions = {}\n'
    )
    for conditions in ('["{method}"]', '["{method}", "Off"]'):
        one, other = read(tmp_path, text.replace("{}", conditions)).items
        rest = ["Off"] if "Off" in conditions else []
        assert (one.request.fields["conditions"], other.request.fields["conditions"]) == (("a,b", *rest), ("c", *rest))


def test_one_method_without_seeds(tmp_path):
    text = 'schema = 1\n[[evaluate]]\nfamily = "ranking"\nmethod = "m"\ndataset = "d"\n'
    (item,) = read(tmp_path, text + 'pos_scores = "x.npy"\nneg_scores = "y.npy"\n').items
    assert (item.method, item.request.run.seed, item.path(Path("r")).as_posix()) == (
        "m",
        None,
        "r/m/ranking/metrics_d_none.json",
    )


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("schema = 1", "schema = 2", 1, ["schema is 2", "schema = 1"]),
        ("schema = 1\n", "", 1, ["schema is not given"]),
        ('name = "two scorers"', "name = 3", 2, ["name is a text, not 3"]),
        ('results = "results/"', 'result = "results/"', 3, ["unknown key 'result'", "'results'"]),
        ("[defaults.ranking]", "[defaults.rankin]", 5, ["unknown family 'rankin'", "'ranking'"]),
        ("k = [1, 3]", "k = [0]", 6, ["k must be a whole number"]),
        ("k = [1, 3]", 'k = "many"', 6, ["k must be a whole number"]),
        ("k = [1, 3]", 'method = "x"', 6, ["unknown input or option 'method'"]),
        ("k = [1, 3]", "k = true", 6, ["k must be a whole number"]),
        ("k = [1, 3]", "k = 1979-05-27", 6, ["k must be a whole number"]),
        ("[[evaluate]]", "[evaluate]", 8, ["evaluate is not a list of tables", "[[evaluate]]"]),
        ('family = "ranking"', 'family = "rankings"', 9, ["unknown family 'rankings'", "'ranking'"]),
        ('family = "ranking"\n', "", 8, ["family is missing", "ranking"]),
        ('dataset = "toy"\n', "", 8, ["neither dataset nor datasets"]),
        ('methods = ["good", "poor"]', "methods = []", 11, ["methods is empty"]),
        ('methods = ["good", "poor"]', 'methods = ["good", 3]', 11, ["methods is a text, not 3"]),
        ('methods = ["good", "poor"]', 'methods = ["good", "good"]', 11, ["methods has a value twice"]),
        ('methods = ["good", "poor"]', 'methods = ["good", "comparisons"]', 11, ["cannot be called comparisons"]),
        ("seeds = [0, 1, 2]", "seeds = [true]", 12, ["seeds must be a whole number, not True"]),
        ("seeds = [0, 1, 2]", "seeds = [0]\nrun_seed = 1", 12, ["run_seed and seeds are both given"]),
        ("pos_scores = ", "pos_score = ", 13, ["unknown input or option 'pos_score'", "'pos_scores'"]),
        ("{method}/{seed}/pos", "{metod}/{seed}/pos", 13, ["unknown placeholder 'metod'", "'method'"]),
        ("{method}/{seed}/pos", "{method/{seed}/pos", 13, ["brace"]),
        ("{method}/{seed}/pos", "{method.__class__}/{seed}/pos", 13, ["unknown placeholder"]),
        ("{method}/{seed}/pos", "{seed:9999999999}/pos", 13, ["has an unsupported format"]),
        ('groups = { relation = "relation.npy" }', "threads = 2", 15, ["unknown input or option 'threads'"]),
        ('groups = { relation = "relation.npy" }', 'save_state = "x"', 15, ["unknown input or option 'save_state'"]),
        ('groups = { relation = "relation.npy" }', 'ties = "hopeful"', 15, ["unknown ties 'hopeful'"]),
        ('groups = { relation = "relation.npy" }', 'ties = { a = "b" }', 15, ["unknown ties"]),
        ('baseline = "poor"', 'baseline = "pour"', 19, ["unknown method 'pour'", "'poor'"]),
        ('baseline = "poor"', 'correction = "none"', 19, ["unknown key 'correction'"]),
        ('baseline = "poor"', 'over = "seed"', 19, ["unknown over 'seed'", "'seeds'"]),
        ("[[gate]]", "[[gates]]", 21, ["unknown key 'gates'", "'gate'"]),
        ('require = "mrr > 0.2"', 'require = "mrr is good"', 22, ["gate 'mrr is good' cannot be read"]),
        ('require = "mrr > 0.2"\n', "", 21, ["require is missing"]),
        ('method = "good"\n', 'method = "gold"\n', 23, ["unknown method 'gold'", "'good'"]),
        ('method = "good"\n', "[audit]\nignore = [{ check = 'x' }]\n", 24, ["check = …, because = …"]),
        ('method = "good"\n', "[audit]\nignor = []\n", 24, ["unknown key 'ignor'", "'ignore'"]),
        ('dataset = "toy"', 'dataset = "toy', 10, ["not TOML"]),
        ("k = [1, 3]", "k = [1, 3]\nk = 2", 7, ["not TOML", "overwrite"]),
    ],
)
def test_errors_say_the_line_and_the_nearest_name(tmp_path, old, new, line, words):
    assert STUDY.count(old) == 1 or old.startswith(("k =", "schema", "{method}")), old
    with pytest.raises(StudyError) as caught:
        read(tmp_path, STUDY.replace(old, new, 1))
    message = str(caught.value)
    assert f"study.toml, line {line}: " in message, message
    assert all(word in message for word in words), message
    assert caught.value.exit_code == 3


def test_a_comparison_needs_a_metric(tmp_path):
    with pytest.raises(StudyError, match="line 17: metric is missing") as caught:
        read(tmp_path, STUDY.replace('metric = "mrr"\n', ""))
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("margin = 0", "margin must be a number above 0"),
        ("margin = -1", "margin must be a number above 0"),
        ('over = "items"\ndesign = "paired"', "design and over .* exclude each other"),
        ('over = "items"\ntest = "ranks"', "test and over .* exclude each other"),
    ],
)
def test_what_a_comparison_would_refuse_is_refused_before_anything_is_evaluated(tmp_path, option, said):
    with pytest.raises(StudyError, match=f"line (18|19|20): {said}") as caught:
        read(tmp_path, STUDY.replace('metric = "mrr"\n', f'metric = "mrr"\n{option}\n'))
    assert caught.value.exit_code == 3


def test_the_same_run_twice_is_refused(tmp_path):
    block = STUDY[STUDY.index("[[evaluate]]") : STUDY.index("[[compare]]")]
    with pytest.raises(StudyError, match=r"line 17: ranking/good/toy/0 is evaluated twice, first on line 8"):
        read(tmp_path, STUDY.replace(block, block + block))


def test_not_a_file_and_not_text(tmp_path):
    with pytest.raises(StudyError, match="graphgauge init"):
        read_study(tmp_path / "study.toml")
    (tmp_path / "study.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(StudyError, match="not UTF-8"):
        read_study(tmp_path / "study.toml")


def test_lines_see_through_arrays_strings_and_comments():
    text = 'a = """\n[[evaluate]]\n"""\nb = [\n  ["x"],\n]\n[[evaluate]]  # first\nk = 1\n[[evaluate]]\n"k" = 2\n'
    lines = Lines(text)
    assert [lines.of("evaluate", index, "k") for index in (0, 1)] == [8, 10]
    assert (lines.of("evaluate", 1), lines.of(key="b"), lines.of("gate", 3)) == (9, 4, 1)


def test_templates_fill_every_text():
    values = {"method": "m", "seed": 7, "dataset": "d"}
    assert fill({"a": ["{method}-{seed:03d}", 1], "b": "{{x}}"}, values) == {"a": ["m-007", 1], "b": "{x}"}
    with pytest.raises(ValueError, match="patterns"):
        fill("{method}", {"method": "a*"})
    with pytest.raises(ValueError, match="has no value here"):
        fill("{seed}", {"seed": None})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("tags = 3", "tags: 3 has no names"),
        ('tags = ["a"]', "tags: 'a' is not NAME=VALUE"),
        ("keep_items = 3", "keep_items is true or false, not 3"),
        ("door = 3", "door is a text, not 3"),
        ('door = "nonsense"', "unknown door of ranking 'nonsense'"),
    ],
)
def test_what_else_an_evaluation_is_told_has_its_line(tmp_path, given, said):
    with pytest.raises(StudyError, match=f"line 11: {said}"):
        read(tmp_path, STUDY.replace('dataset = "toy"', f'dataset = "toy"\n{given}'))


def test_tags_are_texts_and_numbers(tmp_path):
    text = STUDY.replace('dataset = "toy"', 'dataset = "toy"\ntags = { epoch = 3, note = "{method}", best = true }')
    assert read(tmp_path, text).items[0].request.run.tags == {"epoch": 3, "note": "good", "best": True}


@pytest.mark.parametrize(
    "text",
    [
        ".".join(["a"] * 20_000) + " = 1\n",
        "x = { " + ".".join(["a"] * 20_000) + " = 1 }\n",
        "[" + ".".join(["a"] * 20_000) + "]\n",
        '"a".' * 20_000 + "b = 1\n",
        "# a comment\n" * 100_000,
    ],
)
def test_files_that_take_the_parser_hours_are_refused_at_once(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_text(text)
    begin = time.process_time()
    with pytest.raises(InputError, match=r"a key has more than 30 parts|characters"):
        read_study(path)
    assert time.process_time() - begin < 2


def test_evaluations_are_counted_over_all_tables(tmp_path):
    table = '[[evaluate]]\nfamily = "ranking"\nmethod = "m{0}"\ndataset = "d"\nseeds = [{1}]\n'
    table += 'pos_scores = "{{method}}-{{seed}}.npy"\nneg_scores = "{{method}}-{{seed}}.npy"\n'
    seeds = ",".join(map(str, range(60)))
    path = tmp_path / "study.toml"
    path.write_text("schema = 1\n" + "".join(table.format(number, seeds) for number in range(3)))
    assert len(read_study(path).items) == 180
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("graphgauge.study.parse._MOST_EVALUATIONS", 150)
        with pytest.raises(InputError, match="asks for 180 evaluations"):
            read_study(path)
