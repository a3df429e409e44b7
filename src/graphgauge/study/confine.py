"""Limits for a process that reads data, or runs code, of somebody else: time, memory, files and network.

Time, memory and file sizes are limits of POSIX. On Linux, Landlock restricts which files are opened, and a seccomp
filter refuses sockets. A limit that the system lacks is reported by `protections`.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import platform
import struct
import sys
import sysconfig
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from graphgauge.core.errors import InputError

_GB = 1 << 30
# Numbers of system calls, which Landlock has in common on all architectures.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
# Landlock: rights to files by version of its interface, and those to read.
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_READ = (1 << 0) | (1 << 2) | (1 << 3)  # execute, read files, read folders
_FILE_RIGHTS = (1 << 0) | (1 << 1) | (1 << 2) | (1 << 14) | (1 << 15)
# The architecture in a seccomp filter, and the numbers of socket, io_uring_setup and ptrace.
_CALLS = {"x86_64": (0xC000003E, (41, 425, 101)), "aarch64": (0xC00000B7, (198, 425, 117))}
# Folders with libraries, settings of the system and facts about the process.
_SYSTEM = (
    "/usr",
    "/lib",
    "/lib64",
    "/bin",
    "/etc",
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/dev/null",
    "/dev/zero",
    "/dev/urandom",
    "/dev/shm",
)


@dataclass(frozen=True)
class Limits:
    """What one evaluation may use: seconds on the clock, bytes of memory, bytes of a file that it writes."""

    seconds: float = 600.0
    memory: int = 8 * _GB
    file_size: int = 1 * _GB


@dataclass(frozen=True)
class Confinement:
    """The limits of a process, the folders and files that it may read, the folder that it may write to."""

    limits: Limits
    read: tuple[str, ...]
    write: tuple[str, ...]
    network: bool = True

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Confinement:
        facts = json.loads(text)
        return cls(Limits(**facts["limits"]), tuple(facts["read"]), tuple(facts["write"]), facts["network"])

    def enter(self) -> None:
        """Restrict this process, for good."""
        _limit(self.limits)
        if "files" in protections():
            _restrict_files(self.read, self.write)
        if not self.network:
            _refuse_sockets()


def protections() -> tuple[str, ...]:
    """What this system can restrict."""
    found = ["time"]
    if sys.platform != "win32":
        found += ["memory", "file size"]
    if _landlock_version() > 0:
        found.append("files")
    if sys.platform == "linux" and platform.machine() in _CALLS:
        found.append("network")
    return tuple(found)


def require_network_refused() -> None:
    if "network" not in protections():
        raise InputError(
            "code of a submission is run without network, which this system cannot enforce",
            fix="Use Linux on x86-64 or ARM64, or verify without --trust-code.",
        )


def own_folders() -> Iterable[str]:
    """Where Python and its packages are."""
    yield from {sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), str(Path(__file__).parents[2])}
    yield from (entry for entry in sys.path if Path(entry).is_absolute())


def _limit(limits: Limits) -> None:
    try:
        import resource
    except ImportError:
        return
    wanted = ((resource.RLIMIT_AS, limits.memory), (resource.RLIMIT_FSIZE, limits.file_size), (resource.RLIMIT_CORE, 0))
    for kind, most in wanted:
        _, hard = resource.getrlimit(kind)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with suppress(ValueError, OSError):  # macOS does not limit address space
            resource.setrlimit(kind, (least, least))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _landlock_version() -> int:
    if sys.platform != "linux":
        return 0
    return int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1))


def _restrict_files(read: Iterable[str], write: Iterable[str]) -> None:
    libc = _libc()
    count = _RIGHTS[min(_landlock_version(), max(_RIGHTS))]
    every = (1 << count) - 1
    rules = libc.syscall(_CREATE_RULESET, struct.pack("Q", every), ctypes.c_size_t(8), 0)
    _succeeded(rules)
    try:
        for rights, places in ((_READ, [*read, *own_folders(), *_SYSTEM]), (every, write)):
            for place in places:
                _allow(libc, rules, place, rights & every)
        _succeeded(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
        _succeeded(libc.syscall(_RESTRICT_SELF, rules, 0))
    finally:
        os.close(rules)


def _allow(libc: ctypes.CDLL, rules: int, place: str, rights: int) -> None:
    try:
        opened = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there need not be allowed
    try:
        is_folder = Path(place).is_dir()
        allowed = rights if is_folder else rights & _FILE_RIGHTS
        _succeeded(libc.syscall(_ADD_RULE, rules, 1, struct.pack("=Qi", allowed, opened), 0))
    finally:
        os.close(opened)


def _refuse_sockets() -> None:
    """Sockets, and the calls that could replace them, fail with "Operation not permitted"."""
    architecture, calls = _CALLS[platform.machine()]
    load, equal, answer = 0x20, 0x15, 0x06
    refused = 0x00050000 | errno.EPERM
    lines = [(load, 0, 0, 4), (equal, 1, 0, architecture), (answer, 0, 0, 0x80000000), (load, 0, 0, 0)]
    if platform.machine() == "x86_64":  # the other numbering of calls on the same architecture
        lines += [(0x35, 0, 1, 0x40000000), (answer, 0, 0, refused)]
    for call in calls:
        lines += [(equal, 0, 1, call), (answer, 0, 0, refused)]
    lines.append((answer, 0, 0, 0x7FFF0000))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    program = struct.pack("HxxxxxxP", len(lines), ctypes.addressof(code))
    libc = _libc()
    _succeeded(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _succeeded(libc.prctl(_SET_SECCOMP, _FILTER, program, 0, 0))


def _succeeded(answer: int) -> None:
    if answer < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"this process cannot be restricted ({os.strerror(code)})")
