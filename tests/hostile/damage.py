"""Ways to damage a file."""

from __future__ import annotations

import random
from collections.abc import Callable

_NUMBERS = [b"0", b"-1", b"1e308", b"1e999", b"nan", b"99999999999999999999", b"9" * 400, b"2147483648"]
_TEXTS = [b"\x00", b"\xff\xfe", b"\x1b[2J", b"[" * 2000, b"{" * 2000, b'"', b"\n", b"\r", b",,,,", b"/*" * 500,
          b"(" * 500, b"probability(" * 200, b"A" * 5000, b"&a;", b"<a>" * 200, "\u202e".encode()]  # fmt: skip


def damaged(content: bytes, draw: random.Random) -> bytes:
    """The content with one to three faults."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        content = draw.choice(WAYS)(content, draw)
    return content


def flipped(content: bytes, draw: random.Random) -> bytes:
    """One bit."""
    if not content:
        return content
    place = draw.randrange(8 * len(content))
    changed = bytearray(content)
    changed[place // 8] ^= 1 << place % 8
    return bytes(changed)


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
    flipped, flipped, _cut, _headless, _spliced, _repeated, _zeroed, _noisy, _inserted, _other_number,
]  # fmt: skip
