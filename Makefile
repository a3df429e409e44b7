# Every target sets up what it needs; `.venv` is reused while pyproject.toml and constraints.txt stand unchanged.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-peers
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: test fuzz demo check bench coverage dist docs slow peers clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml constraints.txt | $(BIN)/python
	@echo 'Fetching the packages of the demo: about 200 MB, no torch among them.'
	$(PIP) -e '.[report]'
	@touch $@

# torch first and alone: asked for beside packages that want any torch, a resolver may fetch another release. Of an index
# that has it, pip takes the CPU build (its version, 2.13.0+cpu, sorts above 2.13.0).
$(VENV)/.test: pyproject.toml constraints.txt | $(BIN)/python
	@echo 'Fetching torch: about 200 MB as a CPU build, several GB as the CUDA build that the default index has for Linux.'
	@echo '(make test TORCH_INDEX=ADDRESS names an index of CPU builds; a folder of wheels may be named by PIP_FIND_LINKS.)'
	$(PIP) $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) torch
	@echo 'Fetching the other packages of the tests: about 300 MB.'
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
	$(PEERS)/bin/python -W ignore -m tests.peers.why
	$(PEERS)/bin/python docs/why_picture.py
	$(PEERS)/bin/python -m pytest -m peers tests/peers

# Lines and branches that the suite reaches; kernels compiled by numba count as not reached.
coverage: $(VENV)/.test
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q -m 'not slow and not peers'
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# The sdist and, from it, the wheel; both checked for complete metadata.
dist: $(VENV)/.test
	$(PIP) -e '.[release]'
	rm -rf build dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*

clean:
	rm -rf $(VENV) $(PEERS) build dist docs/_build
