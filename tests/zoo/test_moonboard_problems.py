"""The board, its rules, the formats of problems, and the embedded ones."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest

from graphgauge.core.errors import InputError, UnknownNameError
from graphgauge.zoo.moonboard.board import (
    COLUMNS,
    GRADES,
    ROWS,
    SHAPE,
    STATISTICS,
    cell,
    hold,
    remarks,
    statistics,
    valid,
)
from graphgauge.zoo.moonboard.problems import (
    Problems,
    chosen_grades,
    grid_of,
    moves_of,
    read_problems,
    write_problems,
)
from graphgauge.zoo.moonboard.synthetic import Rule, difficulty, graded_by_rule, hold_sizes, synthetic

MOVES = [("E5", True, False), ("G5", True, False), ("F8", False, False), ("D11", False, False), ("F14", False, False)]
MOVES += [("E18", False, True)]


def camel(moves=MOVES, grade="6B+"):
    return {"grade": grade, "moves": [{"description": d, "isStart": s, "isEnd": e} for d, s, e in moves]}


def pascal(moves=MOVES, grade="6B+"):
    return {"Grade": grade, "Moves": [{"Description": d, "IsStart": s, "IsEnd": e} for d, s, e in moves]}


def put(folder, content):
    path = folder / "problems.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def board(*moves):
    return grid_of(camel(moves)["moves"])


def test_the_grades_are_the_nineteen_from_5_plus_to_8c_plus():
    between = [f"{number}{letter}{plus}" for number in (6, 7, 8) for letter in "ABC" for plus in ("", "+")]
    assert list(GRADES) == ["5+", *between]
    assert len(GRADES) == 19
    assert SHAPE == (3, 18, 11)


def test_every_hold_has_its_cell():
    cells = {cell(f"{column}{row}") for column in COLUMNS for row in range(1, ROWS + 1)}
    assert cells == {(row, column) for row in range(18) for column in range(11)}
    assert all(cell(hold(row, column)) == (row, column) for row, column in cells)
    assert cell("A1") == (0, 0)
    assert cell(" k18 ") == (17, 10)


@pytest.mark.parametrize("name", ["L4", "A19", "J0", "4J", "", "A", "A1A", "A-1", "AA1", "A1.0", "Ä1", "A١"])
def test_what_is_not_on_the_board(name):
    with pytest.raises(InputError, match="not on the board"):
        cell(name)


@pytest.mark.parametrize(
    "content",
    [
        {"data": [camel(), camel(grade="7A")]},
        [camel(), camel(grade="7A")],
        {"data": [pascal(), pascal(grade="7A")]},
        [pascal(), camel(grade=" 7a ")],
        {"total": 2, "data": [camel() | {"name": "A"}, camel(grade="7A")]},
    ],
)
def test_formats(tmp_path, content):
    found = read_problems(put(tmp_path, content))
    assert found.grades == ("6B+", "7A")
    assert found.labels.tolist() == [0, 1]
    assert found.grids.shape == (2, *SHAPE)
    assert found.grids[0].sum(axis=(1, 2)).tolist() == [2, 3, 1]
    assert found.grids[0, 0, 4, 4] == found.grids[0, 0, 4, 6] == found.grids[0, 2, 17, 4] == 1


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ([camel(), camel(grade="9A"), camel(grade="V5")], "2 of 3 problems have an unknown grade.*problem 1 with '9A'"),
        ([camel(grade=None)], "unknown grade"),
        ([camel(grade=["6A"])], "unknown grade"),
        ([camel(), camel([("L4", True, False)])], "problem 1: 'L4' is not on the board"),
        ([camel([("A19", False, False)])], "A1 to K18"),
        ([{"grade": "6A"}], "no list of moves"),
        ([{"grade": "6A", "moves": [3]}], "names no hold"),
        ([{"grade": "6A", "moves": [{"description": 4}]}], "names no hold"),
        ([3], "problem 0: is not an object"),
        ({"problems": []}, "no list of problems"),
        ("3", "no list of problems"),
        ([], "no problems"),
        ("{", "not a JSON file"),
        ("[" * 100_000, "not a JSON file"),
        ("\udcff", "not a JSON file"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path, content, says):
    path = tmp_path / "problems.json"
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(InputError, match=says) as error:
        read_problems(path)
    assert error.value.exit_code == 3


def test_no_file(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_problems(tmp_path / "none.json")


def test_named_grades_pass_over_the_rest(tmp_path):
    path = put(tmp_path, [camel(), camel(grade="9A"), camel([("L4", True, False)], grade="8C")])
    assert len(read_problems(path, chosen_grades("6a, 6B+"))) == 1
    with pytest.raises(InputError, match=r"no problems of the grades 7A, only of '6B.', '9A', '8C'"):
        read_problems(path, ["7A"])
    with pytest.raises(UnknownNameError, match="6B"):
        chosen_grades("6B-")


def test_rules_and_warnings():
    good = board(*MOVES)
    assert remarks(good) == ([], [])
    assert remarks(np.zeros(SHAPE))[0] == [
        "no start hold",
        "no end hold",
        "0 middle holds; at least 3 are needed",
    ]
    assert remarks(board(*MOVES[2:]))[0] == ["no start hold"]
    assert remarks(board(*MOVES[:-1]))[0] == ["no end hold"]
    assert remarks(board(*MOVES[:4], MOVES[-1]))[0] == ["2 middle holds; at least 3 are needed"]
    many = np.zeros(SHAPE)
    many[1, 5:7] = 1
    many[0, 3, :5] = 1
    many[2, 17, :3] = 1
    assert remarks(many) == ([], ["30 holds, more than 20", "5 start holds, more than 4", "3 end holds, more than 2"])
    grids = np.stack([good, np.zeros(SHAPE), board(*MOVES[2:]), board(*MOVES[:-1]), board(*MOVES[:4], MOVES[-1])])
    assert valid(grids).tolist() == [True, False, False, False, False]


def test_validity_is_no_errors():
    draw = np.random.default_rng(0)
    grids = draw.random((200, *SHAPE)) < draw.choice([0.003, 0.01], (200, 1, 1, 1))
    assert valid(grids).tolist() == [not remarks(grid)[0] for grid in grids]


def test_a_hold_that_is_start_and_end_counts_in_both():
    grid = board(("E5", True, True), ("F8", False, False))
    found = {name: int(values[0]) for name, values in statistics(grid[None]).items()}
    assert found == dict(zip(STATISTICS, (2, 1, 1, 1, 3, 1), strict=True))


def test_a_hold_that_is_listed_twice_is_one():
    assert (board(("E5", True, False), ("E5", False, False)) == board(("E5", True, False))).all()
    assert board(("E5", True, False), ("e5", False, True)).sum(axis=(1, 2)).tolist() == [1, 0, 1]


def test_statistics_count_what_the_moves_say():
    grids = synthetic(300, seed=3).grids
    found = statistics(grids)
    for index, grid in enumerate(grids):
        moves = moves_of(grid)
        rows = [int(move["description"][1:]) for move in moves]
        columns = [COLUMNS.index(move["description"][0]) for move in moves]
        starts, ends = (sum(move[kind] for move in moves) for kind in ("isStart", "isEnd"))
        expected = (len(moves), starts, len(moves) - starts - ends, ends)
        expected += (max(rows) - min(rows), max(columns) - min(columns))
        assert tuple(int(found[name][index]) for name in STATISTICS) == expected
    assert [int(values[0]) for values in statistics(np.zeros((1, *SHAPE))).values()] == [0] * 6


def test_written_problems_are_read_back(tmp_path):
    made = synthetic(120, seed=1)
    path = tmp_path / "deep" / "problems.json"
    write_problems(path, made.grids, made.names)
    again = read_problems(path)
    assert (again.grids == made.grids).all()
    assert again.names.tolist() == made.names.tolist()
    assert again.hash == made.hash
    assert json.loads(path.read_text())["data"][0]["validation"]["valid"] is True


def test_the_hash_sees_every_change():
    made = synthetic(50)
    other = made.grids.copy()
    other[7, 1, 3, 3] ^= 1
    moved = made.labels.copy()
    moved[0] = (moved[0] + 1) % len(made.grades)
    hashes = {made.hash, Problems(other, made.labels, made.grades).hash, Problems(made.grids, moved, made.grades).hash}
    assert len(hashes) == 3


def test_filtered_grades_are_labelled_anew():
    made = synthetic(500)
    few = made.only(["7A", "6A"])
    assert few.grades == ("6A", "7A")
    assert few.names.tolist() == [name for name in made.names.tolist() if name in ("6A", "7A")]
    assert made.only(["8C+"]).grades == ("8C+",)


def test_splits_are_disjoint_whole_and_the_same_again():
    made = synthetic(400)
    train, held = made.split(5)
    assert len(train) + len(held) == len(made)
    rows = {grid.tobytes() for grid in held.grids}
    assert len({grid.tobytes() for grid in made.grids}) == len(made)
    assert not rows & {grid.tobytes() for grid in train.grids}
    for label in range(len(made.grades)):
        count = np.count_nonzero(made.labels == label)
        assert np.count_nonzero(held.labels == label) == math.floor(0.2 * count + 0.5)
    again = made.split(5)[1]
    assert (again.grids == held.grids).all()
    assert (made.split(6)[1].grids.shape != held.grids.shape) or (made.split(6)[1].grids != held.grids).any()


def rule(grid):
    """The stated rule, word by word."""
    holds = sorted((int(row), int(column)) for row, column in zip(*np.nonzero(grid.any(axis=0)), strict=True))
    reach = [math.dist(one, two) for one, two in pairwise(holds)]
    poor = [1 - hold_sizes()[place] for place in holds]
    return sum(reach) / len(reach) + 3 * sum(poor) / len(poor)


def test_embedded_problems_follow_their_rule():
    made = synthetic(400, seed=2)
    assert valid(made.grids).all()
    assert all(not remarks(grid)[1] for grid in made.grids)
    values = np.array([rule(grid) for grid in made.grids])
    np.testing.assert_allclose(difficulty(made.grids), values, rtol=1e-12)
    order = np.argsort(values)
    places = np.array([GRADES.index(name) for name in made.names])
    assert (np.diff(places[order]) >= 0).all()
    assert (graded_by_rule(made.grids) == places).all()


def test_embedded_problems_are_seeded_and_have_every_grade():
    made = synthetic(6000)
    assert made.grades == GRADES
    assert np.bincount(made.labels).min() >= 5
    assert synthetic(60).hash == synthetic(60).hash != synthetic(60, seed=1).hash
    holds = statistics(made.grids)["num_holds"]
    assert holds[made.labels < 3].mean() > holds[made.labels > 14].mean() + 2


def test_the_rule_says_nothing_of_too_few_holds():
    grids = np.zeros((2, *SHAPE))
    grids[1, 0, 0, 0] = 1
    assert graded_by_rule(grids).tolist() == [-1, -1]
    assert np.isnan(difficulty(grids)).all()


def test_the_rule_as_a_judge():
    made = synthetic(300)
    assert (Rule(made.grades).predict(made.grids) == made.labels).all()
    few = Rule(("6A", "7A")).predict(made.grids)
    places = np.array([GRADES.index(name) for name in made.names])
    assert (few == (np.abs(places - GRADES.index("7A")) < np.abs(places - GRADES.index("6A")))).all()
