"""Readers: what each format becomes, what is refused, and that errors name file, row and column."""

from __future__ import annotations

import json
import pickle
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from graphgauge.core.errors import GraphgaugeError, InputError
from graphgauge.core.items import Items
from graphgauge.io.arrays import OPENERS, open_array
from graphgauge.io.kinds import READERS
from graphgauge.io.places import is_pattern, local_file, matching
from graphgauge.io.tables import read_labels, read_ragged, read_set, read_table

MATRIX = np.array([[0.5, 1.0, -2.0], [3.0, np.nan, 0.25]])


class Trap:
    """Leaves a file behind if it is unpickled."""

    def __reduce__(self):
        return Path.touch, (Path("sprung"),)


@pytest.fixture(autouse=True)
def _in_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def write(ending, array=MATRIX):
    """A file of this format with an array."""
    path = Path(f"matrix{ending}")
    if ending == ".npy":
        np.save(path, array)
    elif ending == ".npz":
        np.savez(path, only=array)
    elif ending == ".csv":
        rows = [",".join("nan" if cell != cell else repr(float(cell)) for cell in row) for row in array]
        path.write_text("\n".join(rows) + "\n")
    elif ending == ".json":
        path.write_text(json.dumps(np.nan_to_num(array).tolist()))
    elif ending == ".parquet":
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.table({f"c{i}": column for i, column in enumerate(array.T)}), path)
    elif ending in (".pt", ".pth"):
        torch = pytest.importorskip("torch")
        torch.save(torch.tensor(array), path)
    else:
        pytest.importorskip("safetensors.numpy").save_file({"only": array}, path)
    return path


@pytest.mark.parametrize("ending", OPENERS)
def test_every_format_is_the_same_array(ending):
    expected = np.nan_to_num(MATRIX) if ending == ".json" else MATRIX
    np.testing.assert_array_equal(open_array(write(ending)), expected)


def test_npy_is_mapped_and_read_only():
    array = open_array(write(".npy"))
    assert isinstance(array, np.memmap)
    assert not array.flags.writeable


@pytest.mark.parametrize("ending", OPENERS)
def test_damage_anywhere_is_an_error_in_words(ending):
    whole = write(ending).read_bytes()
    rng = np.random.default_rng(0)
    damaged = Path(f"damaged{ending}")
    for trial in range(60):
        content = bytearray(whole)
        if trial % 3 == 0:
            content = content[: rng.integers(1, len(content))]
        for place in rng.integers(0, len(content), 1 + trial % 5):
            content[place] = rng.integers(0, 256)
        damaged.write_bytes(content)
        with suppress(GraphgaugeError):
            open_array(damaged)
    assert not Path("sprung").exists()


@pytest.mark.parametrize("ending", [".npy", ".npz", ".pt"])
def test_nothing_is_unpickled(ending):
    trap = np.array([Trap(), 1], dtype=object)
    if ending == ".npy":
        np.save("trap.npy", trap, allow_pickle=True)
    elif ending == ".npz":
        np.savez("trap.npz", only=trap)
    else:
        pytest.importorskip("torch")
        Path("trap.pt").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(InputError, match="trap"):
        open_array(f"trap{ending}")
    assert not Path("sprung").exists()


def test_one_array_of_several_is_picked_by_name():
    np.savez("two.npz", a=[1.0], b=[2.0])
    assert open_array("two.npz:b").tolist() == [2]
    with pytest.raises(InputError, match=r"contains several arrays\. Pick one as two\.npz:NAME, NAME in a, b"):
        open_array("two.npz")
    with pytest.raises(InputError, match="has no array 'c'"):
        open_array("two.npz:c")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1,2\n3,x\n", r"t\.csv: line 2, column 2: 'x' is not a number"),
        ("1,2\n3\n", r"t\.csv: line 2 has 1 cell, not 2"),
        ("a,b\n1,2,3\n", r"t\.csv: the header has 2 names for 3 columns"),
        ("a,b\n", r"t\.csv: contains no numbers"),
        ('1,"2\n', r"t\.csv: line \d cannot be read"),
    ],
)
def test_csv_errors_name_line_and_column(text, said):
    Path("t.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        open_array("t.csv")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.5\n2.5\n", [1.5, 2.5]),
        ("a,b\n1,2\n", [[1, 2]]),
        ("0,1\n1.5,2.5\n", [[1.5, 2.5]]),
        ("0,1\n1,2\n", [[0, 1], [1, 2]]),
        ("1,,3\n4,5,6\n", [[1, np.nan, 3], [4, 5, 6]]),
        ("\ufeffa,b\n1,2\n", [[1, 2]]),
    ],
)
def test_csv_numbers_with_and_without_heads(text, expected):
    Path("t.csv").write_text(text)
    np.testing.assert_array_equal(open_array("t.csv"), expected)


def test_columns_of_lists_are_rows():
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"scores": [[1.0, 2.0], [3.0, 4.0]]}), "lists.parquet")
    assert open_array("lists.parquet").tolist() == [[1, 2], [3, 4]]
    parquet.write_table(arrow.table({"scores": [[1.0, 2.0], [3.0]]}), "ragged.parquet")
    with pytest.raises(InputError, match="lists of different lengths"):
        open_array("ragged.parquet")
    parquet.write_table(arrow.table({"scores": [[1.0], [3.0, 4.0, 5.0]]}), "uneven.parquet")
    with pytest.raises(InputError, match="lists of different lengths"):
        open_array("uneven.parquet")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("absent.npy", "absent.npy: no such file"),
        ("empty.npy", "empty.npy: the file is empty"),
        (".", "is a folder"),
        ("notes.doc", "files ending in .doc are not read as arrays"),
        ("one.npy", "contains a single number"),
    ],
)
def test_what_is_no_file_of_an_array_is_refused(name, said):
    Path("empty.npy").touch()
    Path("notes.doc").write_text("x")
    np.save("one.npy", 3.0)
    with pytest.raises(InputError, match=said):
        open_array(name)


def test_a_small_file_does_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr("graphgauge.core.archive._LARGEST", 1 << 16)
    np.savez_compressed("bomb.npz", only=np.zeros(1 << 20))
    with pytest.raises(InputError, match=r"bomb\.npz: unpacks from [\d,]+ to [\d,]+ bytes"):
        open_array("bomb.npz")


def test_truncated_files_say_so():
    np.save("a.npy", np.arange(100.0))
    Path("a.npy").write_bytes(Path("a.npy").read_bytes()[:200])
    with pytest.raises(InputError, match=r"a\.npy: is truncated"):
        open_array("a.npy")


def test_ragged_arrays_are_values_and_offsets():
    np.savez("r.npz", values=[1.0, 2.0, 3.0], offsets=[0, 1, 3])
    values, offsets = read_ragged("r.npz")
    assert (values.tolist(), offsets.tolist()) == ([1, 2, 3], [0, 1, 3])
    assert read_ragged(str(write(".npy"))).shape == (2, 3)


def test_sets_are_pairs_sparse_matrices_ragged_or_one_each():
    sparse.save_npz("s.npz", sparse.csr_matrix(np.eye(3)))
    assert (read_set("s.npz").toarray() == np.eye(3)).all()
    Path("p.csv").write_text("query,entity\n0,5\n0,7\n2,1\n")
    assert read_set("p.csv").tolist() == [[0, 5], [0, 7], [2, 1]]
    Path("n.csv").write_text("query,entity\nu1,berlin\nu2,rome\n")
    assert read_set("n.csv").tolist() == [["u1", "berlin"], ["u2", "rome"]]
    np.save("one.npy", [4, 5])
    assert read_set("one.npy").tolist() == [4, 5]


@pytest.mark.parametrize("ending", [".csv", ".json", ".npz", ".parquet"])
def test_tables_are_columns(ending):
    columns = {"id": np.array(["a", "b"]), "n": np.array([1, 2]), "y": np.array([0.5, np.nan])}
    path = f"t{ending}"
    if ending == ".csv":
        Path(path).write_text("id,n,y\na,1,0.5\nb,2,\n")
    elif ending == ".json":
        Path(path).write_text('[{"id": "a", "n": 1, "y": 0.5}, {"id": "b", "n": 2, "y": null}]')
    elif ending == ".npz":
        np.savez(path, **columns)
    else:
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.table(columns), path)
    for name, column in read_table(path).items():
        np.testing.assert_array_equal(column, columns[name])
        assert column.dtype.kind == columns[name].dtype.kind


def test_tables_with_columns_of_different_lengths_are_refused():
    np.savez("t.npz", a=[1, 2], b=[1])
    with pytest.raises(InputError, match="column 'b' has 1 rows, and the first 2"):
        read_table("t.npz")
    Path("t.csv").write_text("a,a\n1,2\n")
    with pytest.raises(InputError, match="has the column 'a' twice"):
        read_table("t.csv")
    Path("t.json").write_text('[{"a": 1}, {"b": 1}]')
    with pytest.raises(InputError, match="row 1 has the keys b"):
        read_table("t.json")


def test_labels_are_lines_lists_or_arrays():
    Path("l.txt").write_text("a b\nc\n")
    assert read_labels("l.txt").tolist() == ["a b", "c"]
    Path("l.json").write_text('["x", "y"]')
    assert read_labels("l.json").tolist() == ["x", "y"]
    np.save("l.npy", [3, 4])
    assert read_labels("l.npy").tolist() == [3, 4]
    Path("l.txt").write_bytes(b"ok\n\xff\n")
    with pytest.raises(InputError, match=r"l\.txt: not UTF-8 text"):
        read_labels("l.txt")


def test_items_are_read_as_they_were_written():
    Items("query", np.arange(2), {"mrr": np.array([1.0, 0.5])}).save("i.npz")
    assert READERS["items"]("i.npz", Path())["mrr"].tolist() == [1, 0.5]


def test_patterns_match_in_numeric_order_and_names_come_first():
    for number in (10, 9, 1):
        np.save(f"part-{number}.npy", [1])
    np.save("odd[1].npy", [1])
    assert matching("part-*.npy", Path()) == ["part-1.npy", "part-9.npy", "part-10.npy"]
    assert is_pattern("part-*.npy", Path())
    assert not is_pattern("odd[1].npy", Path())
    with pytest.raises(InputError, match=r"none-\*: no file matches this pattern"):
        matching("none-*", Path())


def test_urls_are_copied_and_read_as_files():
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://bucket/far.npy", "wb") as stream:
        np.save(stream, np.arange(3.0))
    assert open_array("memory://bucket/far.npy").tolist() == [0, 1, 2]
    with pytest.raises(InputError, match=r"memory://bucket/none\.npy: cannot be read"):
        open_array("memory://bucket/none.npy")


def test_paths_are_relative_to_a_folder(tmp_path):
    (tmp_path / "data").mkdir()
    np.save("data/a.npy", [1.0])
    assert local_file("a.npy", Path("data")) == Path("data/a.npy")
    assert open_array("a.npy", Path("data")).tolist() == [1]
