# Every target sets up what it needs; `.venv` is reused while pyproject.toml and constraints.txt stand unchanged.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-peers
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: test fuzz demo check bench docs slow peers clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# torch first and alone: asked for beside packages that want any torch, a resolver may fetch the CUDA build.
$(VENV)/.demo: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) torch
	$(PIP) -e '.[report,torch]'
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) torch
	$(PIP) -e '.[test,report,arrow,frames,torch,causal,dask,docs]'
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo
	$(BIN)/graphgauge demo

# The second run, without numba, tests the NumPy twins: all tests in which the first run used a compiled loop.
test: $(VENV)/.test
	$(BIN)/python -m pytest -p tests.twins -n auto -m 'not slow and not peers'
	GRAPHGAUGE_NUMBA=0 $(BIN)/python -m pytest -p tests.twins -n auto -q -m 'not slow and not peers' tests/kernels tests/laws tests/ranking tests/recovery tests/explanation tests/generation tests/evolution tests/forecasting

# Random search: the property tests with new examples, round after round, for that many minutes.
MINUTES ?= 20
fuzz: $(VENV)/.test
	$(BIN)/python -m tests.fuzz $(MINUTES) -n auto

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

slow: $(VENV)/.test
	$(BIN)/python -m pytest -n auto -m slow

# With the peers' interpreter, so that they run in the same process as what is measured against them.
bench: $(PEERS)/.ready
	$(PEERS)/bin/python -m benchmarks

docs: $(VENV)/.test
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

# The libraries that results are held to and raced against are heavy and pin each other: an environment of their own.
$(PEERS)/.ready: pyproject.toml tests/peers/requirements.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -r tests/peers/requirements.txt -e .
	@touch $@

peers: $(PEERS)/.ready
	$(PEERS)/bin/python -m pytest -m peers tests/peers

clean:
	rm -rf $(VENV) $(PEERS) docs/_build
