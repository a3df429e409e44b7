from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from graphgauge.kernels import jit


def run(code: str, **environment: str) -> str:
    """What a fresh interpreter prints."""
    source = Path(jit.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": str(source), "GRAPHGAUGE_NUMBA": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


SMALL_AND_LARGE = """
    import sys
    import numpy as np
    from graphgauge.kernels.counting import joint_histogram, row_counts, single_row_counts
    from graphgauge.kernels.tails import average_precision, roc_auc, tail_counts

    pos, neg = np.arange(200.0), np.arange(200.0 * 50).reshape(200, 50) % 173
    answers = [int(row_counts(pos, neg).greater.sum()), int(joint_histogram(pos, neg).rows.sum())]
    answers += single_row_counts(3.0, neg[0])
    tails = tail_counts(pos, neg.ravel())
    answers += [roc_auc(tails), average_precision(tails)]
    print("numba" in sys.modules, "scipy" in sys.modules, answers)
"""


def test_importing_and_small_work_leave_numba_alone() -> None:
    assert run(SMALL_AND_LARGE).startswith("False False")


def test_small_calls_add_up_to_work_that_pays() -> None:
    pytest.importorskip("numba")
    code = """
        import sys
        from graphgauge.kernels import jit
        add = jit.kernel(twin=lambda a: a + 1)(lambda a: a + 1)
        half = jit.IMPORT_PAYS_FROM // 2
        print(add.implementation(half) is add.twin, "numba" in sys.modules)
        add.implementation(half)
        print("numba" in sys.modules)
    """
    assert run(code) == "True False\nTrue"


@pytest.mark.parametrize("environment", [{"GRAPHGAUGE_NUMBA": "0"}, {"NUMBA_DISABLE_JIT": "1"}])
def test_switched_off_numba_gives_the_same_answers(environment: dict[str, str]) -> None:
    pytest.importorskip("numba")
    loaded = "import numba\n" + textwrap.dedent(SMALL_AND_LARGE) + "print(row_counts.__globals__['_dense']._chosen)"
    on, off = run(loaded).splitlines(), run(loaded, **environment).splitlines()
    assert on[0] == off[0]
    assert "Dispatcher" in on[1]
    assert "_dense_twin" in off[1]


def test_without_numba_the_twin_runs() -> None:
    code = """
        import sys
        sys.modules["numba"] = None
        from graphgauge.kernels import jit
        jit.numba_enabled.cache_clear()
        double = jit.kernel(twin=lambda a: 2 * a)(lambda a: a + a)
        print(double.implementation(jit.IMPORT_PAYS_FROM) is double.twin)
    """
    assert run(code) == "True"


def test_without_a_place_to_cache_the_twin_runs() -> None:
    pytest.importorskip("numba")
    # A function typed in has no source file, and so numba finds no directory to cache it in.
    code = """
        from graphgauge.kernels import jit
        namespace = {}
        exec("def loop(a):\\n    return a + a", namespace)
        double = jit.kernel(twin=lambda a: 2 * a)(namespace["loop"])
        print(double.implementation(jit.IMPORT_PAYS_FROM) is double.twin)
    """
    assert run(code) == "True"


def test_other_failures_of_numba_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    numba = pytest.importorskip("numba")

    def broken(**options: bool) -> None:
        raise RuntimeError("something else")

    monkeypatch.setattr(jit, "numba_enabled", lambda: True)
    monkeypatch.setattr(numba, "njit", broken)
    with pytest.raises(RuntimeError, match="something else"):
        jit.kernel(twin=abs)(abs).implementation(0)


@pytest.mark.parametrize(("setting", "times"), [("", 1), ("jit.quiet = True", 0), ("jit.ANNOUNCED_AFTER = 60", 0)])
def test_long_compiling_is_said_once(tmp_path, setting, times):
    pytest.importorskip("numba")
    (tmp_path / "loops.py").write_text(
        textwrap.dedent("""
            from graphgauge.kernels import jit

            def one(x):
                return x + 1

            def two(x):
                return x + 2
        """)
    )
    code = f"""
        import sys; sys.path.insert(0, {str(tmp_path)!r})
        from graphgauge.kernels import jit
        jit.ANNOUNCED_AFTER = 0
        {setting}
        import loops
        for function in (loops.one, loops.two):
            jit.kernel(twin=function)(function).implementation(jit.IMPORT_PAYS_FROM)(1)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.count("graphgauge compiles loops for this machine") == times
    # Read from the cache, nothing is compiled and nothing said.
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""


SLOW = """
    import sys, time; sys.path.insert(0, {folder!r})
    from graphgauge.kernels import jit
    jit.quiet = True
    import loops
    import numpy as np
    kernel = jit.kernel(twin=loops.twin)(loops.loop)
    import numba.core.dispatcher as d
    compile = d.Dispatcher.compile
    def slowly(self, signature):
        print("compiling", flush=True)
        for _ in range({tenths}): time.sleep(0.1)
        return compile(self, signature)
    d.Dispatcher.compile = slowly
"""


def started(tmp_path: Path, code: str, tenths: int = 30) -> subprocess.Popen[str]:
    """A process in which compiling takes some tenths of a second longer."""
    (tmp_path / "loops.py").write_text("def loop(x):\n    return x + 1\n\ndef twin(x):\n    return x + 1.0\n")
    text = textwrap.dedent(SLOW.format(folder=str(tmp_path), tenths=tenths)) + textwrap.dedent(code)
    return subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_an_interrupt_ends_the_wait_for_compiling(tmp_path):
    pytest.importorskip("numba")
    process = started(tmp_path, "print(kernel.implementation(1 << 40)(1))", tenths=300)
    assert process.stdout is not None
    assert process.stdout.readline() == "compiling\n"
    time.sleep(0.7)
    begin = time.perf_counter()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert time.perf_counter() - begin < 10  # compiling takes 30 s
    assert "KeyboardInterrupt" in errors
    assert process.returncode in (130, -signal.SIGINT)


@pytest.mark.slow
def test_the_twin_answers_while_a_loop_is_compiled_for_later_calls(tmp_path):
    pytest.importorskip("numba")
    code = """
        begin = time.perf_counter()
        first = kernel.implementation(jit.IMPORT_PAYS_FROM)(1)
        assert time.perf_counter() - begin < 2.5
        while jit._compiling[0].is_alive(): time.sleep(0.1)
        print(type(first), type(kernel.implementation(jit.IMPORT_PAYS_FROM)(1)))
    """
    process = started(tmp_path, code)
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    assert out.splitlines()[-1] == "<class 'float'> <class 'int'>"


@pytest.mark.slow
def test_a_child_that_was_forked_while_compiling_uses_the_twin(tmp_path):
    pytest.importorskip("numba")
    code = """
        import os
        kernel.implementation(jit.IMPORT_PAYS_FROM)(1)
        child = os.fork()
        if not child:
            print(type(kernel.implementation(1 << 40)(1)), type(kernel.implementation(1 << 40)(np.ones(2))), flush=True)
            os._exit(0)
        os.waitpid(child, 0)
    """
    out, errors = started(tmp_path, code).communicate(timeout=60)
    assert "<class 'float'> <class 'numpy.ndarray'>" in out, errors


def test_types_that_need_other_code():
    values = [
        1,
        1.0,
        np.ones(2),
        np.ones(2, np.float32),
        np.ones((2, 2)),
        np.ones((4, 4))[::2],
        np.float32(1),
        (1, 2.0),
    ]
    fixed = np.ones(2)
    fixed.flags.writeable = False
    kinds = [jit._type_of(value) for value in [*values, fixed, np.asfortranarray(np.ones((2, 3)))]]
    assert len(set(kinds)) == len(kinds)
    assert jit._type_of(np.zeros(5)) == jit._type_of(np.ones(2))
