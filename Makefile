# Every target does its own set-up: Python 3.11+ and make are all that a fresh machine needs.
PYTHON ?= python3
BIN := .venv/bin
SETUP := .venv/installed
BENCH := .venv-bench/installed

.PHONY: demo serve test lint format bench bench-service league lock clean

demo: $(SETUP)
	$(BIN)/headstart demo

# The decision service with simulated users; says where its dashboard is.
serve: $(SETUP)
	$(BIN)/headstart serve --demo

test: lint
	$(BIN)/pytest -n auto

lint: $(SETUP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(SETUP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Regret of every learner in every environment: the table and heat map in benchmarks/. Minutes.
league: $(SETUP)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.regret

# Versions are locked with hashes; the package itself is installed from this folder.
$(SETUP): requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

# Speed against peers and against the compiled limit, in one run on one core; about five minutes.
bench: $(BENCH)
	OPENBLAS_NUM_THREADS=1 .venv-bench/bin/python -m benchmarks.speed
	OPENBLAS_NUM_THREADS=1 .venv-bench/bin/python -m benchmarks.live

# The decision service: rates, latencies, 100 × kill -9 on each store, failures. Half an hour; needs
# wrk. The tables go to benchmarks/service.md.
bench-service: $(SETUP) $(BENCH)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.service.report --peers .venv-bench/bin/python

$(BENCH): requirements/bench.txt pyproject.toml
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bench.txt
	.venv-bench/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

# Re-lock after changing a dependency in pyproject.toml.
lock:
	$(PYTHON) -m venv .venv-lock && .venv-lock/bin/pip install --quiet uv
	for set in dev bench serve; do .venv-lock/bin/uv pip compile --quiet --universal --no-header \
		--no-emit-index-url --no-annotate --generate-hashes \
		--extra $$set --extra build pyproject.toml --output-file requirements/$$set.txt; done
	rm -rf .venv-lock

clean:
	rm -rf .venv .venv-bench .venv-lock .mypy_cache .ruff_cache .pytest_cache .hypothesis
