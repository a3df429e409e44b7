"""Cases of the doors of the toy family."""

from tests.doors.declared import Case

RANKS = [1, 2, 2, 5, 9]
CASES = [
    Case("toy", "", {"ranks": RANKS}),
    Case("toy", "", {"ranks": RANKS, "groups": {"side": ["l", "l", "r", "r", "r"]}}, {"k": (3,), "metrics": "all"}),
]
