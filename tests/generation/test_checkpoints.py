"""Checkpoints are data: what is not weights and plain values is refused, and never run."""

import io
import pickle
import zipfile

import pytest
from tests.generation.toy import Attack

from graphgauge.core.errors import InputError
from graphgauge.generation import open_checkpoint, subjects
from graphgauge.generation.subjects import FORMAT, Case, read_checkpoint

torch = pytest.importorskip("torch")

WHOLE = {
    "format": FORMAT,
    "subject": "moonboard",
    "role": "generator",
    "config": {"latent": 2},
    "weights": {"w": torch.zeros(3)},
}


def damaged(tmp_path):
    """Files that are no checkpoints, by name."""
    mark = tmp_path / "ran"
    buffer = io.BytesIO()
    torch.save(WHOLE, buffer)
    archive = tmp_path / "archive.pth"
    with zipfile.ZipFile(archive, "w") as stream:
        stream.writestr("archive/data.pkl", pickle.dumps(Attack(mark)))
        stream.writestr("archive/version", "3")
    return mark, {
        "pickle": pickle.dumps(Attack(mark)),
        "pickle in a dictionary": pickle.dumps({**WHOLE, "weights": {"w": Attack(mark)}}),
        "archive with code": archive.read_bytes(),
        "cut short": buffer.getvalue()[:-200],
        "empty": b"",
        "text": b"weights",
        "zeros": bytes(1000),
    }


def test_what_is_no_checkpoint_is_refused_and_not_run(tmp_path):
    mark, files = damaged(tmp_path)
    for name, content in files.items():
        path = tmp_path / "file.pth"
        path.write_bytes(content)
        with pytest.raises(InputError, match="not a checkpoint") as caught:
            read_checkpoint(path)
        assert caught.value.exit_code == 3, name
        assert not mark.exists(), name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "its format is 'other'"),
        ({"subject": "os:system"}, "names the unknown subject 'os:system'"),
        ({"subject": None}, "lacks subject"),
        ({"weights": [1]}, "lacks weights"),
        ({"config": None, "role": 3}, "lacks role and config"),
    ],
)
def test_content_that_is_not_whole(tmp_path, change, message):
    torch.save({**WHOLE, **change}, tmp_path / "file.pth")
    with pytest.raises(InputError, match=message):
        read_checkpoint(tmp_path / "file.pth")


def test_tensors_that_are_no_dictionary(tmp_path):
    torch.save(torch.zeros(3), tmp_path / "file.pth")
    with pytest.raises(InputError, match="its format is 'Tensor'"):
        read_checkpoint(tmp_path / "file.pth")


def test_only_registered_subjects_are_loaded(tmp_path, monkeypatch):
    monkeypatch.setitem(subjects.REGISTERED, "moonboard", "tests.generation.test_checkpoints:load")
    monkeypatch.setitem(subjects.REGISTERED, "other", "tests.generation.test_checkpoints:load")
    torch.save(WHOLE, tmp_path / "generator.pth")
    torch.save({**WHOLE, "role": "classifier"}, tmp_path / "classifier.pth")
    torch.save({**WHOLE, "subject": "other"}, tmp_path / "other.pth")
    found = open_checkpoint(tmp_path / "generator.pth", data="d.json", classifier=tmp_path / "classifier.pth")
    content, data, classifier, device = found.subject
    assert content["path"] == str(tmp_path / "generator.pth")
    assert (data, device) == ("d.json", "cpu")
    assert classifier["role"] == "classifier"
    with pytest.raises(InputError, match="classifies other, not moonboard"):
        open_checkpoint(tmp_path / "generator.pth", classifier=tmp_path / "other.pth")


def load(content, *, data, classifier, device):
    return Case((content, data, classifier, device))
