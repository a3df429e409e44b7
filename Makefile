# Every target sets up what it needs; `.venv` is reused while pyproject.toml and constraints.txt are unchanged.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-peers
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: test fuzz hostile demo check bench coverage dist docs slow peers gpu clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml constraints.txt | $(BIN)/python
	@echo 'Fetching the packages of the demo: about 200 MB, without torch.'
	$(PIP) -e '.[report]'
	@touch $@

# torch first and alone: together with packages that depend on torch, a resolver may fetch another release. If an index
# has the CPU build, pip takes it (its version, 2.13.0+cpu, sorts above 2.13.0).
$(VENV)/.test: pyproject.toml constraints.txt | $(BIN)/python
	@echo 'Fetching torch: 190 MB as a CPU build, several GB as the CUDA build that the default index has for Linux.'
	@echo '(Set TORCH_INDEX=ADDRESS for an index of CPU builds, or PIP_FIND_LINKS for a folder of wheels.)'
	$(PIP) $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) torch
	@echo 'Fetching the other packages of the tests: 310 MB.'
	$(PIP) -e '.[test,report,arrow,frames,torch,causal,dask,docs]'
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo
	$(BIN)/graphgauge demo

# Every core has a test process; threads of BLAS and OpenMP beside it would only wait for each other. Tests start hundreds
# of commands, and each would compile the package again where Python is told to keep no bytecode.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto

# The second run, without numba, tests the NumPy twins of the loops.
test: $(VENV)/.test
	$(PYTEST) -m 'not slow and not peers'
	GRAPHGAUGE_NUMBA=0 $(PYTEST) -q -m 'not slow and not peers' tests/kernels tests/golden

# Random search: the property tests with new examples, in rounds, for MINUTES minutes.
MINUTES ?= 20
fuzz: $(VENV)/.test
	$(BIN)/python -m tests.fuzz $(MINUTES) -n auto

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Damaged files, flipped bits, killed commands and full disks; SCALE=0.1 makes a tenth of the attempts.
SCALE ?= 1
hostile: $(VENV)/.test
	$(BIN)/python -m tests.hostile --scale $(SCALE)

slow: $(VENV)/.test
	$(PYTEST) -m slow

# With the peers' interpreter, so that all libraries run in the same process.
bench: $(PEERS)/.ready
	$(PEERS)/bin/python -m benchmarks

docs: $(VENV)/.test
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

# The libraries that results and times are compared with are large and pin each other, so they have a separate environment.
$(PEERS)/.ready: pyproject.toml tests/peers/requirements.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -r tests/peers/requirements.txt -e .
	@touch $@

peers: $(PEERS)/.ready
	$(PEERS)/bin/python -W ignore -m tests.peers.why
	$(PEERS)/bin/python docs/why_picture.py
	$(PEERS)/bin/python -m pytest -m peers tests/peers

# What takes CUDA tensors, and with a device one small run of the benchmark, which compares it with the host.
gpu: $(VENV)/.test
	$(BIN)/python -m pytest tests/kernels/test_device*.py tests/ranking/test_*device*.py tests/forecasting/test_on_device.py \
		tests/doors/test_devices.py
	$(BIN)/python -c 'import torch; raise SystemExit(torch.cuda.is_available())' || $(BIN)/python benchmarks/gpu.py --small

# Coverage of lines and branches; kernels compiled by numba count as not covered.
coverage: $(VENV)/.test
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q -m 'not slow and not peers'
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# The sdist and the wheel built from it; twine checks their metadata.
dist: $(VENV)/.test
	$(PIP) -e '.[release]'
	rm -rf build dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*

clean:
	rm -rf $(VENV) $(PEERS) build dist docs/_build
