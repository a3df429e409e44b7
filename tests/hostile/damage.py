"""Ways to damage a file."""

from __future__ import annotations

import copy
import gzip
import io
import json
import random
import zipfile
from collections.abc import Callable

_NUMBERS = [b"0", b"-1", b"1e308", b"1e999", b"nan", b"99999999999999999999", b"9" * 400, b"2147483648"]
_TEXTS = [
    b"\x00",
    b"\xff\xfe",
    b"\x1b[2J",
    b"[" * 2000,
    b"{" * 2000,
    b'"',
    b"\n",
    b"\r",
    b",,,,",
    b"/*" * 500,
    b"(" * 500,
    b"probability(" * 200,
    b"A" * 5000,
    b"&a;",
    b"<a>" * 200,
    "\u202e".encode(),
]


def damaged(content: bytes, draw: random.Random) -> bytes:
    """The content with one to three faults.

    In half of the cases they are inside: in a member of an archive, whose checksum is made new, or in the JSON of a
    result, whose root is made new. Otherwise checksums would refuse nearly all files before anything is parsed.
    """
    inside = _INSIDE.get(content[:2])
    if inside is not None and draw.random() < 0.5:
        return inside(content, draw)
    return _faulty(content, draw)


def _faulty(content: bytes, draw: random.Random) -> bytes:
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        content = draw.choice(WAYS)(content, draw)
    return content


def _in_archive(content: bytes, draw: random.Random) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {member.filename: archive.read(member) for member in archive.infolist()}
        packing = archive.infolist()[0].compress_type
    chosen = draw.choice(list(members))
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", packing) as archive:
        for name, member in members.items():
            archive.writestr(name, _faulty(member, draw) if name == chosen else member)
    return written.getvalue()


def _in_gzip(content: bytes, draw: random.Random) -> bytes:
    return gzip.compress(_faulty(gzip.decompress(content), draw), 1)


def _in_result(content: bytes, draw: random.Random) -> bytes:
    """Another value at a random place, with a new root; other JSON is damaged as text."""
    from graphgauge.core.sealed import root_of

    tree = json.loads(content)
    if not isinstance(tree, dict) or "root" not in tree:
        return _faulty(content, draw)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        _replace(tree, draw)
    try:
        return json.dumps({**tree, "root": root_of(tree)}).encode()
    except (TypeError, ValueError, AttributeError, LookupError):  # nothing that could be sealed
        return json.dumps(tree).encode()


def _replace(tree: object, draw: random.Random) -> None:
    """Walk down to a random place, and put a value of another kind there, remove it or repeat it."""
    while isinstance(tree, dict | list) and tree:
        place = draw.choice(list(tree) if isinstance(tree, dict) else range(len(tree)))
        below = tree[place]  # type: ignore[index]
        if not isinstance(below, dict | list) or not below or draw.random() < 0.2:
            way = draw.random()
            if way < 0.2:
                del tree[place]  # type: ignore[arg-type]
            elif way < 0.3 and isinstance(tree, list):
                tree.append(copy.deepcopy(below))
            else:
                tree[place] = copy.deepcopy(draw.choice(_VALUES))  # type: ignore[index]
            return
        tree = below


def flipped(content: bytes, draw: random.Random) -> bytes:
    """One bit."""
    if not content:
        return content
    place = draw.randrange(8 * len(content))
    changed = bytearray(content)
    changed[place // 8] ^= 1 << place % 8
    return bytes(changed)


_VALUES = [
    None,
    True,
    0,
    -1,
    1.5,
    2**63,
    10**400,
    1e308,
    "",
    "a",
    "nan",
    "inf",
    "\x1b[2J",
    "../../x",
    "\ud800",
    [],
    {},
    [[]],
    [None],
    {"a": 1},
    "x" * 5000,
]
_INSIDE: dict[bytes, Callable[[bytes, random.Random], bytes]] = {
    b"PK": _in_archive,
    b"\x1f\x8b": _in_gzip,
    b"{\n": _in_result,
}


def _cut(content: bytes, draw: random.Random) -> bytes:
    return content[: draw.randrange(len(content) + 1)]


def _headless(content: bytes, draw: random.Random) -> bytes:
    return content[draw.randrange(len(content) + 1) :]


def _spliced(content: bytes, draw: random.Random) -> bytes:
    first, second = sorted(draw.randrange(len(content) + 1) for _ in range(2))
    return content[:first] + content[second:]


def _repeated(content: bytes, draw: random.Random) -> bytes:
    first, second = sorted(draw.randrange(len(content) + 1) for _ in range(2))
    return content[:second] + content[first:second] * draw.choice((1, 2, 20)) + content[second:]


def _zeroed(content: bytes, draw: random.Random) -> bytes:
    first, second = sorted(draw.randrange(len(content) + 1) for _ in range(2))
    return content[:first] + bytes(second - first) + content[second:]


def _noisy(content: bytes, draw: random.Random) -> bytes:
    first = draw.randrange(len(content) + 1)
    noise = draw.randbytes(draw.choice((1, 2, 4, 8, 64)))
    return content[:first] + noise + content[first + len(noise) :]


def _inserted(content: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(content) + 1)
    return content[:place] + draw.choice(_NUMBERS + _TEXTS) + content[place:]


def _other_number(content: bytes, draw: random.Random) -> bytes:
    places = [place for place, byte in enumerate(content) if 48 <= byte <= 57]
    if not places:
        return content
    place = draw.choice(places)
    return content[:place] + draw.choice(_NUMBERS) + content[place + 1 :]


WAYS: list[Callable[[bytes, random.Random], bytes]] = [
    flipped,
    flipped,
    _cut,
    _headless,
    _spliced,
    _repeated,
    _zeroed,
    _noisy,
    _inserted,
    _other_number,
]
