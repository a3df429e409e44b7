# Every target sets up what it needs; `.venv` is reused while pyproject.toml and constraints.txt are unchanged;
# the core is built again when a file of it has changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-peers
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: test fuzz mutants hostile demo check bench coverage dist sanitize docs slow peers gpu clean

comma := ,

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The compiler of the core: $(CXX) if it is set, or else the first of these that knows C++20.
COMPILERS := $(if $(filter default,$(origin CXX)),c++ g++ clang++,$(CXX))
WORKS := printf '\#include <thread>\n' | $$each -std=c++20 -fsyntax-only -x c++ - 2>/dev/null
COMPILER := $(shell for each in $(COMPILERS); do $(WORKS) && echo $$each && break; done)
ZIG := $(BIN)/zig-
ifneq ($(COMPILER),)
BUILD := CXX=$(COMPILER)
else
BUILD := CXX=$(abspath $(ZIG)c++) CMAKE_ARGS='-DCMAKE_AR=$(abspath $(ZIG)ar) -DCMAKE_RANLIB=$(abspath $(ZIG)ranlib)'
COMPILER := $(ZIG)c++
endif

$(ZIG)c++: | $(BIN)/python
	@echo 'Fetching a compiler into $(VENV), for there is none here: ziglang, 100 MB to fetch and 410 MB on disk.'
	$(PIP) ziglang
	@for tool in ranlib ar c++; do \
		printf '#!/bin/sh\nexec "%s" -m ziglang %s "$$@"\n' '$(abspath $(BIN)/python)' $$tool > $(ZIG)$$tool; \
		chmod +x $(ZIG)$$tool; \
	done

# Built without isolation, so that a change of one file compiles that file; cmake and ninja are fetched if they are not here.
CORE := CMakeLists.txt $(shell find src/core -name '*.[ch]pp')
EDITABLE = $(1)/lib/python3*/site-packages/_editable_skbc_graphgauge.pth
PATH_ONLY = @sed -i.with-finder '/^import/d' $(EDITABLE) && rm -f $(addsuffix .with-finder,$(EDITABLE))
TOOLS := from scikit_build_core.build import get_requires_for_build_editable as tools; print(*tools())

$(VENV)/.tools: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) 'scikit-build-core>=1.1' 'nanobind>=3.1'
	@$(PIP) scikit-build-core $$($(BIN)/python -c '$(TOOLS)')
	@touch $@

$(VENV)/.demo: $(VENV)/.tools $(CORE) | $(filter $(ZIG)%,$(COMPILER))
	@test -e $@ || echo 'Fetching the packages of the demo: about 200 MB, without torch.'
	@echo 'Building the core with $(COMPILER).'
	$(BUILD) $(PIP) --no-build-isolation -e '.[report]'
	$(call PATH_ONLY,$(VENV))
	@touch $@

# torch first and alone: together with packages that depend on torch, a resolver may fetch another release. If an index
# has the CPU build, pip takes it (its version, 2.13.0+cpu, sorts above 2.13.0).
$(VENV)/.packages: pyproject.toml constraints.txt | $(BIN)/python
	@echo 'Fetching torch: 190 MB as a CPU build, several GB as the CUDA build that the default index has for Linux.'
	@echo '(Set TORCH_INDEX=ADDRESS for an index of CPU builds, or PIP_FIND_LINKS for a folder of wheels.)'
	$(PIP) $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) torch
	@touch $@

$(VENV)/.test: $(VENV)/.packages $(VENV)/.tools $(CORE) | $(filter $(ZIG)%,$(COMPILER))
	@test -e $@ || echo 'Fetching the other packages of the tests: 350 MB.'
	@echo 'Building the core with $(COMPILER).'
	$(BUILD) $(PIP) --no-build-isolation -e '.[test,report,arrow,frames,torch,causal,dask,molecules,docs]'
	$(call PATH_ONLY,$(VENV))
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo
	$(BIN)/graphgauge demo

# Every core has a test process; threads of BLAS and OpenMP beside it would only wait for each other. Tests start hundreds
# of commands, and each would compile the package again where Python is told to keep no bytecode.
ALONE := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=
PYTEST := $(ALONE) $(BIN)/python -m pytest -n auto --dist loadgroup

test: $(VENV)/.test
	$(PYTEST) -m 'not slow and not peers'

# Random search: the property tests with new examples, in rounds, for MINUTES minutes.
MINUTES ?= 20
fuzz: $(VENV)/.test
	$(BIN)/python -m tests.fuzz $(MINUTES) -n auto

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Random changes of the code of ROOMS, of which the tests should notice most.
ROOMS ?= ranking recovery forecasting generation explanation evolution prediction stats core study
mutants: $(VENV)/.test
	$(BIN)/python -m tests.mutants --count 3 --seed $$$$ $(ROOMS)

# Damaged files, flipped bits, killed commands and full disks; SCALE=0.1 makes a tenth of the attempts.
SCALE ?= 1
hostile: $(VENV)/.test
	$(BIN)/python -m tests.hostile --scale $(SCALE)

slow: $(VENV)/.test
	$(PYTEST) -m slow

# With the peers' interpreter; PARTS names some of the rows.
bench: $(PEERS)/.ready
	$(PEERS)/bin/python -m benchmarks $(PARTS)

docs: $(VENV)/.test
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

# The libraries that results and times are compared with are large and pin each other, so they have a separate environment.
$(PEERS)/.ready: pyproject.toml tests/peers/requirements.txt | $(BIN)/python $(filter $(ZIG)%,$(COMPILER))
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BUILD) $(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -r tests/peers/requirements.txt -e .
	$(call PATH_ONLY,$(PEERS))
	@touch $@

peers: $(PEERS)/.ready
	$(PEERS)/bin/python -W ignore -m tests.peers.why
	$(PEERS)/bin/python docs/why.py
	$(ALONE) $(PEERS)/bin/python -m pytest -n auto --dist loadgroup -m peers tests/peers

# What takes CUDA tensors.
gpu: $(VENV)/.test
	$(BIN)/python -m pytest tests/ranking/test_device.py tests/doors/test_devices.py

# Coverage of lines and branches of Python.
coverage: $(VENV)/.test
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q -m 'not slow and not peers'
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# The sdist, and wheels built from it: for the environment's Python, and for the stable ABI if NEWER, a Python of 3.12 or
# later, is here. Each is audited, and installed into an empty environment without a compiler, where the core is tested.
NEWER ?= $(shell for each in python3.12 python3.13 python3.14; do $$each -c 'import venv' 2>/dev/null && echo $$each && break; done)
DIST := build/dist
dist: $(VENV)/.test
	$(BUILD) $(PIP) --no-build-isolation -e '.[release]'
	$(call PATH_ONLY,$(VENV))
	rm -rf $(DIST) dist
	$(BUILD) $(BIN)/python -m build --outdir $(DIST)
	$(if $(NEWER),,@echo 'No wheel for the stable ABI: there is no Python of 3.12 or later (NEWER=PATH names one).')
	$(if $(NEWER),$(NEWER) -m venv $(DIST)/newer)
	$(if $(NEWER),$(BUILD) $(DIST)/newer/bin/python -m pip wheel --quiet --no-deps -w $(DIST) $(DIST)/*.tar.gz)
	$(if $(NEWER),$(BIN)/abi3audit --strict --summary $(DIST)/*-abi3-*.whl)
	$(if $(filter Linux,$(shell uname)),PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair -w dist $(DIST)/*.whl,cp $(DIST)/*.whl dist)
	cp $(DIST)/*.tar.gz dist
	$(BIN)/twine check --strict dist/*
	$(call installed,$(BIN)/python)
	$(if $(NEWER),$(call installed,$(NEWER)))

# The wheel for an interpreter, tested from an empty environment: no compiler on PATH, nothing built, no source.
define installed
rm -rf $(DIST)/empty
	$(1) -m venv $(DIST)/empty
	PATH=$(abspath $(DIST)/empty/bin) $(DIST)/empty/bin/python -m pip install --quiet --only-binary :all: --find-links dist \
		"graphgauge==$$($(BIN)/python -c 'import graphgauge; print(graphgauge.__version__)')" hypothesis mpmath networkx pytest
	PATH=$(abspath $(DIST)/empty/bin) $(DIST)/empty/bin/python -m pytest -q -p no:cacheprovider -m 'not slow' tests/compiled
	PATH=$(abspath $(DIST)/empty/bin) $(DIST)/empty/bin/graphgauge --version
endef

# The tests of the core with address, undefined-behaviour and thread sanitizers, the first with more random calls of the
# bindings (CALLS). Each has to find the fault that is planted for it. Forks are left out while other threads run: these
# may have the lock of the sanitizer's own allocator.
CALLS ?= 20000
SANITIZED = rm -rf build/$(1) && CXX=g++ $(PIP) --no-build-isolation --no-deps --target build/$(1) \
	-Ccmake.define.GRAPHGAUGE_SANITIZE=$(2) .
WITH = env LD_PRELOAD="$(foreach library,$(1),$$(g++ -print-file-name=$(library).so))" PYTHONMALLOC=malloc PYTHONPATH=build/$(2) \
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
ADDRESS = $(call WITH,libasan libubsan libstdc++,address) \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
# Without the random layout of addresses, which this sanitizer of g++ 12 does not stand on newer systems.
THREAD = setarch -R $(call WITH,libtsan libstdc++,thread) TSAN_OPTIONS=halt_on_error=1:die_after_fork=0
SUITE := -m pytest -q -p no:cacheprovider -m 'not slow'
PLANTED := -c 'from graphgauge import _core; _core.planted_fault()'
sanitize: $(VENV)/.test
	$(call SANITIZED,address,address$(comma)undefined)
	$(ADDRESS) $(BIN)/python $(PLANTED) 2>&1 | grep 'AddressSanitizer: heap-buffer-overflow'
	$(ADDRESS) GRAPHGAUGE_CALLS=$(CALLS) $(BIN)/python $(SUITE) -k 'not fork_during' tests/compiled
	$(call SANITIZED,thread,thread)
	$(THREAD) $(BIN)/python $(PLANTED) 2>&1 | grep 'ThreadSanitizer: data race'
	$(THREAD) $(BIN)/python $(SUITE) -k 'threads and not fork_during' tests/compiled

clean:
	rm -rf $(VENV) $(PEERS) build dist docs/_build src/graphgauge/_core.*
	rm -rf .cmake .ninja* .skbuild-info.json CMakeCache.txt CMakeFiles CMakeInit.txt build.ninja cmake_install.cmake libnanobind*
