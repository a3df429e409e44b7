"""The harness behind `make hostile`."""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from tests.hostile.damage import damaged, flipped
from tests.hostile.seeds import Reader, readers

ROOT = Path(__file__).parents[2]
FILES, FLIPS, KILLS = 10_000, 20_000, 500
# Each tenth of the largest file that a command writes, and of all that it writes.
LIMITED, FULL = 10, 10
MEMORY, SECONDS = 1 << 30, 10


@dataclass
class Count:
    """What happened to one kind of attempt; `failures` are those that broke a promise, with how to repeat them."""

    part: str
    name: str
    attempts: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest: float = 0.0


# ------------------------------------------------------------------------------------------------- readers


class TooLong(BaseException):
    pass


@contextmanager
def limited() -> Iterator[None]:
    def late(*_: Any) -> None:
        raise TooLong

    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)


def fuzz(number: int, files: int) -> Count:
    """Damaged files of one reader: an answer or an InputError, in 10 s and 1 GB."""
    from graphgauge.core.errors import GraphgaugeError

    reader: Reader = readers()[number]
    count = Count("damaged files", reader.name)
    draw = random.Random(number)
    # In memory if possible: a disk takes longer than the reader.
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        path = Path(folder, reader.file)
        reader.write(path)
        content = path.read_bytes()
        reader.read(path)  # sound, and everything imported
        resource.setrlimit(resource.RLIMIT_AS, (_used() + MEMORY,) * 2)
        warnings.simplefilter("ignore")
        for attempt in range(files):
            path.write_bytes(damaged(content, draw))
            count.attempts += 1
            begin = time.perf_counter()
            try:
                with limited():
                    reader.read(path)
                count.outcomes["read"] += 1
            except GraphgaugeError:
                count.outcomes["refused"] += 1
            except TooLong:
                count.failures.append(_kept(path, number, attempt, f"more than {SECONDS} s"))
            except BaseException as error:
                count.failures.append(_kept(path, number, attempt, f"{type(error).__name__}: {error}"[:200]))
            count.slowest = max(count.slowest, time.perf_counter() - begin)
    return count


def _used() -> int:
    """Address space in use, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _kept(path: Path, number: int, attempt: int, why: str) -> str:
    place = Path(tempfile.gettempdir()) / f"graphgauge-hostile-{number}-{attempt}{''.join(path.suffixes)}"
    shutil.copy(path, place)
    return f"{place}: {why}"


def fuzzed(files: int, jobs: int) -> Iterator[Count]:
    """All readers, each in a fork of this process, because limits of memory last."""
    context = get_context("fork")
    waiting, running = list(enumerate(readers())), []
    while waiting or running:
        while waiting and len(running) < jobs:
            number, reader = waiting.pop(0)
            answer, told = context.Pipe(duplex=False)
            process = context.Process(target=_fuzz, args=(number, files, told))
            process.start()
            told.close()  # so that the end of the process ends the answer
            running.append((reader, answer, process))
        reader, answer, process = running.pop(0)
        try:
            yield answer.recv()
        except EOFError:
            process.join()
            failure = f"the process ended with {process.exitcode}"
            yield Count("damaged files", reader.name, files, failures=[failure])
        process.join()


def _fuzz(number: int, files: int, told: Any) -> None:
    told.send(fuzz(number, files))


# --------------------------------------------------------------------------------------------------- flips


def flips(total: int) -> list[Count]:
    """Single bits of results, their side files and states: refused, or the same answer."""
    from graphgauge import load, ranking
    from graphgauge.core.content import content_of
    from graphgauge.core.errors import GraphgaugeError
    from graphgauge.core.sealed import encode

    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        draw = np.random.default_rng(0)
        evaluation = ranking.evaluate(
            draw.normal(1, 1, 1001),
            draw.normal(0, 1, (1001, 5)),
            groups={"query": np.arange(1001)},
            metrics=("mrr", "hits@10"),
        )
        result = evaluation.save(folder / "r.json", method="a", dataset="toy", seed=0)
        state = ranking.RankingState().update(draw.normal(1, 1, 200), draw.normal(0, 1, (200, 5)))
        state.save(folder / "s.npz")

        def loaded(path: Path) -> Any:
            whole = load(result)
            return encode(content_of(whole)), whole.by("query"), whole.per_item.to_grid()

        def counted(path: Path) -> Any:
            return encode(content_of(ranking.RankingState.load(path).evaluate()))

        kinds: dict[str, tuple[Path, Callable[[Path], Any]]] = {
            "result": (result, loaded),
            "breakdown beside a result": (folder / "r.query.json", loaded),
            "items beside a result": (folder / "r.items.npz", loaded),
            "state": (folder / "s.npz", counted),
        }
        for kind, (path, read) in kinds.items():
            count = Count("bit flips", kind)
            sound, expected = path.read_bytes(), read(path)
            chosen = random.Random(kind)
            for _ in range(total // len(kinds)):
                path.write_bytes(flipped(sound, chosen))
                count.attempts += 1
                try:
                    same = read(path) == expected
                except GraphgaugeError:
                    count.outcomes["refused"] += 1
                else:
                    count.outcomes["same answer" if same else "another answer"] += 1
                    if not same:
                        count.failures.append(f"{kind}: another answer")
            path.write_bytes(sound)
            found.append(count)
    return found


# --------------------------------------------------------------------------------- kills and full disks


@dataclass(frozen=True)
class Command:
    """A command, the files that it writes, and what must hold of them whenever it ends."""

    name: str
    words: tuple[str, ...]
    timed: tuple[str, ...] = ()  # outputs that differ from run to run
    codes: tuple[int, ...] = (3, 4)  # exit codes on a full disk; what cannot be recomputed is unchecked, 1


_RANKING = ("ranking", "--pos-scores", "pos.npy", "--neg-scores", "neg.npy")
COMMANDS = (
    Command(
        "ranking",
        (
            *_RANKING,
            "--keep-items",
            "--method",
            "m",
            "--dataset",
            "d",
            "-o",
            "out.json",
            "--flat",
            "flat.json",
            "--figure",
            "f.svg",
            "--state",
            "state.npz",
        ),
        ("state.npz",),
    ),
    Command(
        "forecasting",
        ("forecasting", "--true", "true.npy", "--pred", "pred.npy", "-o", "out.json", "--figure", "f.png"),
    ),
    Command("merge", ("merge", "s0.npz", "s1.npz", "--save", "s.npz", "-o", "merged.json")),
    Command("report", ("report", "results", "-o", "page.html")),
    Command(
        "gate",
        (
            "gate",
            "results/b.json",
            "--against",
            "results/a.json",
            "--metric",
            "mrr",
            "--margin",
            "0.1",
            "-o",
            "gate.json",
            "--junit",
            "j.xml",
            "--summary",
            "s.md",
            "--figure",
            "g.svg",
        ),
    ),
    Command("run", ("run", "study.toml", "--jobs", "1")),
)
# Further writers, for which the disk is filled.
WRITERS = (
    Command("verify", ("verify", "made.json"), (), (1, 3)),
    Command("aggregate", ("aggregate", "results", "-o", "table.tex")),
    Command("compare", ("compare", "results", "--metric", "mrr", "--over", "items", "-o", "compared.json")),
    Command("negatives", ("ranking", "negatives", "--edges", "edges.npy", "--k", "3", "-o", "drawn.npz")),
    Command("init", ("init", "-o", "new.toml")),
    Command("recovery", ("recovery", "--true", "square.npy", "--pred", "square.npy", "-o", "out.json")),
    Command("generation", ("generation", "--generated", "square.npy", "-o", "out.json")),
)


def prepared(folder: Path) -> None:
    """Scores, states, results and a study."""
    from graphgauge import ranking

    draw = np.random.default_rng(0)
    pos, neg = draw.normal(1, 1, 100), draw.normal(0, 1, (100, 20))
    np.save(folder / "pos.npy", pos)
    np.save(folder / "neg.npy", neg)
    for part in range(2):
        ranking.RankingState().update(pos[part::2], neg[part::2]).save(folder / f"s{part}.npz")
    for number, name in enumerate("ab"):
        result = folder / "results" / f"{name}.json"
        ranking.evaluate(pos + number, neg).save(result, method=name, dataset="d", seed=0)
    true = draw.normal(size=(60, 4, 3))
    np.save(folder / "true.npy", true)
    np.save(folder / "pred.npy", true + draw.normal(size=true.shape))
    np.save(folder / "square.npy", draw.integers(0, 2, (8, 8)) * (1 - np.eye(8, dtype=int)))
    np.save(folder / "edges.npy", draw.integers(0, 50, (80, 2)))
    made = Command("made", (*_RANKING, "--method", "m", "--dataset", "d", "-o", "made.json"))
    code, errors = started(made, folder).ended()
    assert code == 0, errors
    (folder / "study.toml").write_text(
        'schema = 1\nresults = "study"\n[[evaluate]]\nfamily = "ranking"\ndataset = "d"\nmethod = "m"\n'
        'pos_scores = "pos.npy"\nneg_scores = "neg.npy"\nkeep_items = true\n'
    )


@dataclass
class Started:
    """A command in a fork of this process, which has imported what the command needs already."""

    pid: int
    errors: Path

    def kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):  # it has ended, or has no session yet
            os.killpg(self.pid, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def ended(self) -> tuple[int, str]:
        """Its exit code, or the signal's number below 0, and what it wrote to stderr."""
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status), self.errors.read_text(errors="replace")


def started(command: Command, folder: Path, size: int | None = None, names: Path | None = None) -> Started:
    """Start a command in a folder; `size` limits each file that it writes, `names` gets its modules."""
    errors = folder.with_name(f"{folder.name}.stderr")
    errors.write_text("")
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return Started(pid, errors)
    code = 99
    try:
        os.setsid()
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(os.open(errors, os.O_WRONLY), 2)
        if size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        sys.argv = ["graphgauge", *command.words]
        from graphgauge.cli.app import main as entry

        try:
            entry()
        except SystemExit as stop:
            code = int(stop.code or 0)
        sys.stderr.flush()
        if names is not None:
            names.write_text("\n".join(sys.modules))
    finally:
        os._exit(code)


def imported(names: Path) -> None:
    """Import these modules, so that a fork does not: the moments of kills then fall into the work."""
    for name in names.read_text().split():
        with suppress(Exception):
            import_module(name)


def contents(folder: Path) -> dict[str, Any]:
    """All files that are not hidden, results without their times."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or name.startswith(".") or "/." in name:
            continue
        content: Any = path.read_bytes()
        if path.suffix == ".json":
            content = json.loads(content)
            for timing in ("started", "seconds"):
                content.get("receipt", {}).pop(timing, None)
        found[name] = content
    return found


WAYS = {"kill": "kills", "limit": "files cut off", "full": "full disk"}


def interrupted(command: Command, times: int, way: str) -> Count:
    """Kill the command at random moments, or let it run out of space at every tenth of what it writes.

    `limit` is a limit of the size of one file, `full` a disk that is too small.
    """
    count = Count(WAYS[way], command.name)
    draw = random.Random(command.name)
    with tempfile.TemporaryDirectory() as name:
        before, whole, again = (Path(name, part) for part in ("before", "whole", "again"))
        before.mkdir()
        prepared(before)
        for round in range(2):  # what is imported in the first is there in the second
            shutil.copytree(before, whole)
            begin = time.perf_counter()
            code, errors = started(command, whole, names=Path(name, "modules")).ended()
            usual = time.perf_counter() - begin
            assert code == 0, errors
            if round == 0:
                imported(Path(name, "modules"))
                shutil.rmtree(whole)
        sound, expected = contents(before), contents(whole)
        # These may contain a date, a duration or a path.
        page = {name for name in expected if name.endswith((".html", ".svg")) or name in command.timed}
        new = [path for path in whole.rglob("*") if path.is_file() and path.relative_to(whole).as_posix() not in sound]
        sizes = sorted({0, *(path.stat().st_size for path in new)})
        start = _everything(before)
        room = [_pages(before), _pages(whole)]
        for attempt in range(times):
            if way == "full":
                _mount(again, room[0] + (room[1] - room[0]) * (attempt % 10) // 10)
            shutil.copytree(before, again, dirs_exist_ok=True)
            size = sizes[-1] * (attempt % 10) // 10 if way == "limit" else None
            run = started(command, again, size)
            if way == "kill":
                time.sleep(usual * draw.uniform(0.0, 1.1))
                run.kill()
            code, errors = run.ended()
            count.attempts += 1
            why = _broken(again, sound, expected, page, errors)
            if code not in (0, -signal.SIGKILL, *command.codes):
                why = f"exit code {code}"
            if why is not None:
                count.failures.append(f"{command.name}, attempt {attempt}: {why}")
            count.outcomes[_ended(code)] += 1
            # The next run is tried once for each file that is cut off, and after everything else that left something
            # behind; otherwise it would start from where this one did.
            alike = attempt % 10 if way == "limit" else _everything(again) == start
            if way == "full":
                _unmount(again, Path(name, "left"))
            if not alike:
                code, errors = started(command, again).ended()
                if code or _different(contents(again), expected, page):
                    count.failures.append(
                        f"{command.name}, attempt {attempt}: the next run ends with {code} {errors:.200}"
                    )
            shutil.rmtree(again)
    return count


_PAGE = resource.getpagesize()


def _pages(folder: Path) -> int:
    """Pages that the files in a folder take on a disk in memory."""
    return sum(-(-path.stat().st_size // _PAGE) for path in folder.rglob("*") if path.is_file())


def can_mount() -> bool:
    """Whether this user may mount a small disk: root, outside of most containers."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name, "disk")
        try:
            _mount(place, 16)
        except (OSError, subprocess.CalledProcessError):
            return False
        subprocess.run(["umount", place], check=True)
        return True


def _mount(place: Path, pages: int) -> None:
    place.mkdir()
    options = f"size={max(pages, 1) * _PAGE}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], check=True, capture_output=True)


def _unmount(place: Path, left: Path) -> None:
    """Move what is on the small disk to the large one."""
    shutil.copytree(place, left)
    for last in (*[False] * 50, True):  # workers of a command may end a moment after it
        if subprocess.run(["umount", place], check=last, stderr=subprocess.DEVNULL).returncode == 0:
            break
        time.sleep(0.1)
    place.rmdir()
    left.rename(place)


def _broken(folder: Path, sound: dict[str, Any], expected: dict[str, Any], page: set[str], errors: str) -> str | None:
    try:
        found = contents(folder)
    except ValueError as error:
        return f"a file is cut off ({error})"
    if "Traceback" in errors:
        return "a traceback"
    for name, content in found.items():
        if name in sound and content != sound[name]:
            return f"{name} was changed"
        if name not in expected and name not in sound:
            return f"{name} is new"
        if name in expected and name not in page and content != expected[name] and not _is_failure(content):
            return f"{name} is neither absent nor whole"
    lost = [name for name in sound if name not in found]
    return f"{lost[0]} was removed" if lost else None


def _is_failure(content: Any) -> bool:
    """A study records what failed, and its summary; a generator's result is written after each section."""
    return isinstance(content, dict) and (content.get("status") in ("failed", "partial") or "comparisons" in content)


def _different(found: dict[str, Any], expected: dict[str, Any], page: set[str]) -> bool:
    return {n: c for n, c in found.items() if n not in page} != {n: c for n, c in expected.items() if n not in page}


def _everything(folder: Path) -> dict[str, bytes | None]:
    """All files and folders, hidden ones too."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def _ended(code: int) -> str:
    return {0: "finished", -9: "killed"}.get(code, f"exit code {code}")


# ---------------------------------------------------------------------------------------------------- main


PARTS = ("readers", "flips", "disk", "kills")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile")
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS])
    parser.add_argument("--scale", type=float, default=1.0, help="share of the attempts")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    parts = given.parts or PARTS
    counts: list[Count] = []

    def add(count: Count) -> None:
        counts.append(count)
        print(
            f"{count.part}, {count.name}: {count.attempts:,} attempts, {dict(count.outcomes)}, "
            f"{len(count.failures)} failures, slowest {count.slowest:.2f} s",
            flush=True,
        )
        for failure in count.failures[:5]:
            print(f"  {failure}", flush=True)

    if "readers" in parts:
        for count in fuzzed(max(1, int(FILES * given.scale)), given.jobs):
            add(count)
    if "flips" in parts:
        for count in flips(max(4, int(FLIPS * given.scale))):
            add(count)
    if "disk" in parts:
        for command in (*COMMANDS, *WRITERS):
            add(interrupted(command, LIMITED, "limit"))
        if can_mount():
            for command in (*COMMANDS, *WRITERS):
                add(interrupted(command, FULL, "full"))
        else:
            print("full disk: left out, because this user cannot mount one", flush=True)
    if "kills" in parts:
        kills = max(1, int(KILLS * given.scale))
        for number, command in enumerate(COMMANDS):
            add(interrupted(command, (kills + number) // len(COMMANDS), "kill"))
    return 1 if any(count.failures for count in counts) else 0
