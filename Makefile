# Every target does its own set-up: Python 3.11+ and make are all that a fresh machine needs.
PYTHON ?= python3
BIN := .venv/bin
SETUP := .venv/installed
BENCH := .venv-bench/installed
DOCS := .venv-docs/installed

.PHONY: demo serve test lint format client bench bench-service league docs notebooks release lock clean

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

# The service's client without asyncio, from the one with it; a test says when it has to be run.
client: $(SETUP)
	$(BIN)/python tools/sync_client.py

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

# The site in docs/_build/html, with the gallery run anew; warnings are errors. Minutes.
docs: $(DOCS)
	.venv-docs/bin/python -m docs.building

# The tutorials as notebooks, in docs/generated/notebooks.
notebooks: $(SETUP)
	$(BIN)/python -m docs.building.notebooks

$(DOCS): requirements/docs.txt pyproject.toml
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/docs.txt
	.venv-docs/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

# The sdist and the wheel in dist/, made and tried outside of this folder. Uploads nothing.
release: requirements/release.txt
	$(PYTHON) -m venv .venv-release
	.venv-release/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/release.txt
	.venv-release/bin/python tools/release.py

# Re-lock after changing a dependency in pyproject.toml.
lock:
	$(PYTHON) -m venv .venv-lock && .venv-lock/bin/pip install --quiet uv
	for set in dev bench serve docs release; do .venv-lock/bin/uv pip compile --quiet --universal --no-header \
		--no-emit-index-url --no-annotate --generate-hashes \
		--extra $$set --extra build pyproject.toml --output-file requirements/$$set.txt; done
	rm -rf .venv-lock

clean:
	rm -rf .venv .venv-bench .venv-docs .venv-release .venv-lock docs/_build docs/generated .mypy_cache .ruff_cache .pytest_cache .hypothesis
