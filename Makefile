# The targets here are exactly what a new user and the continuous integration run.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
OUT ?= demo-output
BENCH_OUT ?= bench-output

.PHONY: demo test lint bench bench-costs docs clean

$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e ".[cli,plot]"
	touch $@

$(VENV)/.test: $(VENV)/.core
	$(BIN)/python -m pip install --quiet -e ".[test]"
	touch $@

$(VENV)/.bench: $(VENV)/.core
	$(BIN)/python -m pip install --quiet -e ".[bench]" || echo "Optional rivals could not be installed; the benchmark runs without them."
	touch $@

demo: $(VENV)/.core
	$(BIN)/kinlearn demo --out $(OUT)

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

bench: $(VENV)/.bench
	$(BIN)/kinlearn bench --quick --out $(BENCH_OUT)

bench-costs: $(VENV)/.bench
	$(BIN)/python benchmarks/lspc.py
	$(BIN)/python benchmarks/page.py

docs: $(VENV)/.core
	$(BIN)/python docs/figures.py
	$(BIN)/python docs/heterogeneous_figures.py

clean:
	rm -rf $(VENV) demo-output bench-output .pytest_cache .mypy_cache .ruff_cache
