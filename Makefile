# The targets here are exactly what a new user and the continuous integration run.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
OLDEST ?= .venv-oldest
CLIENTS ?= .venv-clients
OUT ?= demo-output
BENCH_OUT ?= bench-output
REPRODUCE_OUT ?= reproduction
SITE ?= docs/_build

# What runs at the oldest versions, too: fitting and answering, files, commands, selection, tasks,
# labels, streams, Dask, tables, ONNX, pictures, discriminants, and scikit-learn's own checks.
CORE := $(addprefix tests/test_,$(addsuffix .py,fit kernels selection multilabel_lspc multitask_lspc \
	task_ids task_routing ecosystem bad_input streaming dask normal_equations persistence cli tables \
	table_commands onnx plots discriminants sklearn_checks))
# What runs at every save: fits, held-out scores, selection, tasks, labels, probabilities and files
# against the naive formulas, and the recorded answers. Tests marked slow are left to `make test`.
QUICK := $(addprefix tests/test_,$(addsuffix .py,recorded refit fit kernels held_out copies posterior \
	selection multitask_lspc multitask_lspc_cv multitask_solvers multilabel_lspc multilabel_copies \
	multilabel_solvers logistic streaming normal_equations persistence))
THREADS := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# Tests are compiled once, not by every worker and every process they start.
TESTING := $(THREADS) PYTHONDONTWRITEBYTECODE=

.PHONY: demo quick test test-oldest test-clients lint bench reproduce bench-costs docs figures quotes clean

$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e ".[cli,plot]"
	touch $@

$(VENV)/.experiments: $(VENV)/.core experiments/pyproject.toml
	$(BIN)/python -m pip install --quiet -e . -e ./experiments
	touch $@

$(VENV)/.test: $(VENV)/.experiments
	$(BIN)/python -m pip install --quiet -e ".[test]"
	touch $@

$(VENV)/.docs: $(VENV)/.experiments
	$(BIN)/python -m pip install --quiet -e ".[docs]"
	touch $@

$(VENV)/.bench: $(VENV)/.experiments
	$(BIN)/python -m pip install --quiet -e . -e "./experiments[bench]" || echo "Optional rivals could not be installed; the benchmark runs without them."
	touch $@

demo: $(VENV)/.core
	$(BIN)/kinlearn demo --out $(OUT)

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

quick: lint
	$(TESTING) $(BIN)/python -m pytest -q -n auto --dist worksteal -m "not slow" $(QUICK)

test: lint
	$(TESTING) $(BIN)/python -m pytest -n auto --dist worksteal

# The lower bounds in pyproject.toml, installed as they stand there. Warnings are no errors here: old
# libraries deprecate what they use of each other.
$(OLDEST)/.test: pyproject.toml .ci/oldest.py
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --upgrade pip
	$(OLDEST)/bin/python -m pip install --quiet $$($(PYTHON) .ci/oldest.py cli plot onnx dask test:pytest test:pytest-xdist test:hypothesis test:polars)
	$(OLDEST)/bin/python -m pip install --quiet --no-deps -e .
	touch $@

test-oldest: $(OLDEST)/.test
	$(TESTING) $(OLDEST)/bin/python -m pytest -n auto --dist worksteal -o filterwarnings=default $(CORE)

# Clients that others wrote, with what they need, against a service in a process of its own.
$(CLIENTS)/.test: pyproject.toml tests/clients/requirements.txt
	$(PYTHON) -m venv $(CLIENTS)
	$(CLIENTS)/bin/python -m pip install --quiet --upgrade pip
	$(CLIENTS)/bin/python -m pip install --quiet -e ".[serve]" -r tests/clients/requirements.txt
	touch $@

test-clients: $(CLIENTS)/.test
	$(TESTING) $(CLIENTS)/bin/python -m pytest -q -o filterwarnings=default tests/clients

bench: $(VENV)/.bench
	$(BIN)/kinlearn bench --quick --out $(BENCH_OUT)

reproduce: $(VENV)/.experiments
	$(BIN)/kinlearn reproduce lspc-toy --quick --out $(REPRODUCE_OUT)

bench-costs: $(VENV)/.bench
	$(BIN)/python -m kinlearn_experiments.measures.lspc
	$(BIN)/python -m kinlearn_experiments.measures.costs_page

# The whole site with every example run, warnings as errors; then every page is opened in Chromium.
docs: $(VENV)/.docs
	rm -rf $(SITE) docs/auto_examples docs/api/generated
	$(THREADS) $(BIN)/python -m sphinx -W --keep-going -q -d $(SITE)/doctrees docs $(SITE)/html
	KINLEARN_SITE=$(SITE)/html KINLEARN_SCREENSHOTS=$(SITE)/screenshots $(BIN)/python -m pytest -q tests/test_site.py
	@echo "The site is $(SITE)/html/index.html, pictures of it are in $(SITE)/screenshots."

figures: $(VENV)/.core
	$(BIN)/python docs/figures.py
	$(BIN)/python docs/heterogeneous_figures.py

# Figures quoted in pages, written again from the results they come from.
quotes: $(VENV)/.experiments
	$(BIN)/python -m kinlearn_experiments.quotes

clean:
	rm -rf $(VENV) $(OLDEST) $(CLIENTS) demo-output bench-output reproduction .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	rm -rf $(SITE) docs/auto_examples docs/api/generated
