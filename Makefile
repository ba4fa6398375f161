# Every target does its own set-up: Python 3.11+ and make are all that a fresh machine needs.
export PYTHON ?= python3
# Tests and jobs start many processes, each of which would compile all sources again without byte code.
export PYTHONDONTWRITEBYTECODE :=
BIN := .venv/bin
# What is installed in .venv: the library; also the service; also all that the tests need.
CORE := .venv/core
SERVE := .venv/serve
DEV := .venv/dev
BENCH := .venv-bench/bench
DOCS := .venv-docs/docs
# What the client's build writes; a change of its sources writes it again.
GENERATED := clients/python/src/headstart_client/_sync.py

.PHONY: demo serve test test-all check compile lint format bench bench-service league people report docs notebooks release lock clean

demo: $(CORE)
	$(BIN)/headstart demo

# The decision service with simulated users; says where its dashboard is.
serve: $(SERVE)
	$(BIN)/headstart serve --demo

# What one file's tests share is made once: a worker takes all tests of a file.
PYTEST := $(BIN)/pytest -n auto --dist loadscope

# In at most 5 minutes on two cores.
test: lint compile
	$(PYTEST) -m "not nightly and not site"

# What takes longest too, such as cold compilations and a million updates, and the code of all pages.
test-all: lint compile
	$(PYTEST)

# What to run before every commit: all but the tests that take long, in at most 60 seconds once compiled.
check: lint compile
	$(PYTEST) -m "not slow and not nightly and not site"

# Machine code, once after each change of a kernel: otherwise the first tests would wait for it.
compile: $(DEV) $(GENERATED)
	$(BIN)/headstart compile

lint: $(DEV) $(GENERATED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Regret of every learner in every environment, in benchmarks/league.md; 25 minutes on two cores. What was
# played is stored in out/league, and a run that was stopped goes on from there.
league: $(DEV)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.league

# What headstart earns with real people's choices, in benchmarks/people.md; about twenty minutes. The data are
# not part of the repository: benchmarks/people_data.py says where they are looked for.
people: $(DEV)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.people --page
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.people_picture

# Every page and figure of docs/report, from the paper's data in $$HEADSTART_DATA.
report: $(DEV) compile
	$(BIN)/headstart reproduce all --out out/report
	rm -f docs/report/figures/*
	cp out/report/report.md docs/report
	cp out/report/figures/*.png docs/report/figures
	$(BIN)/python -m benchmarks.later_papers

$(CORE) $(SERVE) $(DEV) $(BENCH) $(DOCS): pyproject.toml tools/install
$(CORE): requirements/core.txt
$(SERVE): requirements/serve.txt
$(DEV): requirements/dev.txt
$(BENCH): requirements/bench.txt
$(DOCS): requirements/docs.txt
$(CORE) $(SERVE) $(DEV) $(BENCH) $(DOCS):
	tools/install $(@D) requirements/$(@F).txt $(CLIENT)
	touch $@
# The tests and the pages call the service by its client, which is a distribution of its own.
$(DEV) $(DOCS): CLIENT := clients/python
$(DEV) $(DOCS): clients/python/pyproject.toml

# What its build writes, again after a change of what it is written from.
$(GENERATED): $(DEV) clients/python/generate.py clients/python/src/headstart_client/client.py src/headstart/service/messages.py
	$(BIN)/python clients/python/generate.py

# Speed against peers and against the compiled limit, in one run on one core; about five minutes.
bench: $(BENCH)
	OPENBLAS_NUM_THREADS=1 .venv-bench/bin/python -m benchmarks.speed
	OPENBLAS_NUM_THREADS=1 .venv-bench/bin/python -m benchmarks.live

# The decision service: rates, latencies, 100 × kill -9 on each store, failures, memory over 30 minutes. An hour
# and a half; needs wrk. The tables go to benchmarks/service.md.
bench-service: $(DEV) $(BENCH)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.service.report --peers .venv-bench/bin/python

# The site in docs/_build/html, on two cores, after the code of its pages has run; examples of the gallery run if
# they have changed. Warnings are errors.
docs: $(DOCS) compile
	$(PYTEST) -m site
	.venv-docs/bin/python -m docs.building

# The tutorials as notebooks, in docs/generated/notebooks.
notebooks: $(DOCS)
	.venv-docs/bin/python -m docs.building.notebooks

# The sdist and the wheel in dist/, made and tried outside of this folder. Uploads nothing.
release: requirements/release.txt
	$(PYTHON) -m venv .venv-release
	.venv-release/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/release.txt
	.venv-release/bin/python tools/release.py

# Re-lock after changing a dependency in pyproject.toml. What .venv holds has one version in all its sets.
COMPILE := .venv-lock/bin/uv pip compile --quiet --universal --no-header --no-emit-index-url \
	--no-annotate --generate-hashes
lock:
	$(PYTHON) -m venv .venv-lock && .venv-lock/bin/pip install --quiet uv
	$(COMPILE) --all-extras --group dev --group build pyproject.toml --output-file requirements/dev.txt
	$(COMPILE) --group bench --group build pyproject.toml --output-file requirements/bench.txt
	$(COMPILE) --extra data --extra serve --group docs --group build pyproject.toml --output-file requirements/docs.txt
	$(COMPILE) --group release --group build pyproject.toml --output-file requirements/release.txt
	$(COMPILE) --constraint requirements/dev.txt --group build pyproject.toml --output-file requirements/core.txt
	$(COMPILE) --constraint requirements/dev.txt --extra serve --group build pyproject.toml \
		--output-file requirements/serve.txt
	echo uv | $(COMPILE) - --output-file requirements/uv.txt
	rm -rf .venv-lock

clean:
	rm -rf .venv .venv-bench .venv-docs .venv-release .venv-lock docs/_build docs/generated .mypy_cache .ruff_cache .pytest_cache .hypothesis
