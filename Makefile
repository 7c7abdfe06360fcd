# Two commands do everything on a fresh machine: `make demo` and `make test`. Each sets up its own .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCOMO ?= ../shared/data/locomo_dev.json

FUZZ_SECONDS ?= 900

.PHONY: demo test nightly lint bench fuzz clean

$(VENV)/.ready: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: $(VENV)/.ready
	$(BIN)/memhop demo

test: $(VENV)/.ready
	$(BIN)/python -m pytest -n 2

# What `make test` samples, in full: crashes at every step, more than 1,000 killed processes, a minute of five at once.
nightly: $(VENV)/.ready
	MEMHOP_NIGHTLY=1 $(BIN)/python -m pytest -n 2 tests/crash tests/processes tests/pain

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Writes benches/results/*.json and the figures in README.md. About two minutes.
bench: $(VENV)/.ready
	$(BIN)/python -m benches.locomo $(LOCOMO) --json benches/results/locomo-none.json
	$(BIN)/python -m benches.locomo $(LOCOMO) --embedder hash --json benches/results/locomo-hash.json
	$(BIN)/python -m benches.locomo $(LOCOMO) --embedder local --json benches/results/locomo-local.json
	$(BIN)/python -m benches.opening --json benches/results/opening.json
	$(BIN)/python -m benches.fuzzy benches/results/fuzzy.json
	$(BIN)/python -m benches.sharing --json benches/results/sharing.json
	$(BIN)/python -m benches.crashes --json benches/results/crashes.json
	$(BIN)/python -m benches.readme

# Broken and forged files, and single structures; what fails is kept in tests/fuzz/found/.
fuzz: $(VENV)/.ready
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache build dist
