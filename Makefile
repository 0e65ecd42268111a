# Bare `make` is the help. Every target that needs the environment sets it up first.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-long chaos bench bench-attribution bench-catch-up bench-cluster bench-collect bench-driver-memory bench-encryption bench-erase bench-feed bench-freshness bench-round bench-streaming bench-windows bench-trickle bench-dashboard bench-dedup bench-quality bench-shop bench-silver docs reference pictures lint format types imports lock app-requirements wheel lock-jars clean
MAKEFLAGS += --no-print-directory
# Packages are compiled once, not by every process, also where the environment keeps no bytecode.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := .venv/bin/pytest -n 3 --dist loadscope --no-loadscope-reorder
# A build machine's own package settings must not leak into the lock.
LOCK := env -u UV_FIND_LINKS -u UV_INDEX -u UV_INDEX_URL -u UV_EXTRA_INDEX_URL .venv/bin/uv pip compile

help: ## show this list
	@echo "Millrace: an open lakehouse for behavioural events and attribution."
	@echo
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F '\t' '{printf "  make %-12s %s\n", $$1, $$2}'
	@echo
	@echo "Start with: make demo"

setup: ## bring this machine to where the rest needs it (.venv, packages, jars)
	@./scripts/setup

demo: setup ## broker, sample traffic, all jobs and the page; ARGS="--once --events 200000" for one pass
	@exec .venv/bin/millrace demo $(ARGS)

lint: setup ## style and likely mistakes
	@.venv/bin/ruff check --no-cache --quiet
	@.venv/bin/ruff format --check --quiet || { echo "Formatting differs: run make format."; exit 1; }

types: setup ## static types of src, and what tests, pages and scripts call
	@.venv/bin/mypy --no-error-summary
	@.venv/bin/mypy --no-error-summary --config-file tests/mypy.ini

imports: setup ## which package may import which
	@.venv/bin/lint-imports --no-logo > .venv/imports.log || { cat .venv/imports.log; exit 1; }

test: setup ## lint, types, import rules, then the tests (ARGS go to pytest)
	@$(MAKE) --jobs=2 --output-sync lint types imports
	@exec $(PYTEST) $(ARGS)

test-long: setup ## the tests that are too slow for every run
	@exec .venv/bin/pytest -n 2 --dist loadfile -m long $(ARGS)

chaos: setup ## the tests that kill processes in mid-run
	@exec .venv/bin/pytest -m chaos $(ARGS)

bench: bench-dedup bench-silver bench-catch-up bench-cluster bench-round bench-windows bench-attribution bench-driver-memory bench-quality bench-freshness bench-trickle bench-dashboard bench-collect bench-feed bench-streaming bench-streaming-catalog bench-shop ## the benchmarks, one after the other

bench-attribution: setup ## do refine and publish cost the same with 16 times the touches behind them?
	@exec .venv/bin/python -m benchmarks.attribution $(ARGS)

bench-driver-memory: setup ## is the driver's memory the same with 20 million UIDs behind it as with none? --home DIR
	@exec .venv/bin/python -m benchmarks.driver_memory $(ARGS)

bench-freshness: setup ## how long does a conversion take from Kafka to gold, at 1,000 events a second?
	@exec .venv/bin/python -m benchmarks.freshness $(ARGS)

bench-shop: setup ## how fast do changes of the shop's PostgreSQL reach Kafka and silver, beside a reload?
	@exec .venv/bin/python -m benchmarks.shop $(ARGS)

bench-round: setup ## what does a round of 5,000 events take: Spark jobs, shuffles, commits, look-ups?
	@exec .venv/bin/python -m benchmarks.round $(ARGS)

bench-windows: setup ## what do differences of windows of 100,000 visitors' minutes take, interpreted and compiled?
	@exec .venv/bin/python -m benchmarks.windows $(ARGS)

bench-catch-up: setup ## events a second from bronze to all tables, beside Spark's guide and DuckDB; --before DIR
	@exec .venv/bin/python -m benchmarks.catch_up $(ARGS)

bench-cluster: setup ## how much faster are two executors than one, and which processes do the work?
	@exec .venv/bin/python -m benchmarks.cluster $(ARGS)

bench-collect: setup ## events a second by HTTP into the collector's log, and how long a request waits
	@exec .venv/bin/python -m benchmarks.collect $(ARGS)

bench-erase: setup ## how long does the erasure of 1, 100 and 10,000 people take? --events N
	@exec .venv/bin/python -m benchmarks.erase $(ARGS)

bench-encryption: setup ## what does encryption of a Parquet column cost, and who can read the file?
	@exec .venv/bin/python -m benchmarks.encrypted_columns $(ARGS)

bench-feed: setup ## what does a change feed cost: Delta's own, and the one derived from the log?
	@exec .venv/bin/python -m benchmarks.feed $(ARGS)

bench-streaming: setup ## how long from a commit to 1,000 subscribers, and how much memory is that?
	@exec .venv/bin/python -m benchmarks.streaming $(ARGS)

bench-streaming-catalog: setup ## how long from a commit to a subscriber of tables in a catalog?
	@exec .venv/bin/python -m benchmarks.streaming_catalog $(ARGS)

bench-trickle: setup ## do files stay few and batches quick over a day of small commits?
	@exec .venv/bin/python -m benchmarks.trickle $(ARGS)

bench-dedup: setup ## does the search for copies cost the same with 16 times the history? is it exact?
	@exec .venv/bin/python -m benchmarks.dedup $(ARGS)

bench-silver: setup ## how many events a second does silver take, beside queries as Spark's guide has them?
	@exec .venv/bin/python -m benchmarks.silver $(ARGS)

bench-quality: setup ## what does the gate before gold cost, at 10,000 to 500,000 rows? does a clean day close it?
	@exec .venv/bin/python -m benchmarks.quality $(ARGS)

bench-dashboard: setup ## how long do the queries of each page take, for ten viewers at once?
	@exec .venv/bin/python -m benchmarks.dashboard $(ARGS)

docs: setup ## build the documentation as a site into site/
	@exec .venv/bin/zensical build --strict --clean

reference: setup ## write docs/reference from the code
	@exec .venv/bin/python scripts/reference.py

pictures: setup ## take the pictures of docs/tour.md again (needs Chromium); ARGS="journeys" for one page
	@exec .venv/bin/python scripts/pictures.py $(ARGS)

format: setup ## put the code into its one shape
	@.venv/bin/ruff check --fix --quiet || true
	@.venv/bin/ruff format --quiet

lock: setup ## resolve the Python packages anew into requirements.lock (UPGRADE=1 takes newer ones)
	@$(LOCK) --quiet --universal --generate-hashes --python-version 3.10 --no-python-downloads \
	  --group dev --extra local --extra postgres --no-emit-index-url --custom-compile-command "make lock" \
	  $(if $(UPGRADE),--upgrade) pyproject.toml -o requirements.lock
	@./scripts/setup
	@$(MAKE) app-requirements

app-requirements: setup ## what the apps need, from the lock into their requirements.txt
	@.venv/bin/python -m millrace.environment.app_requirements

wheel: setup ## build the wheel into dist/
	@PATH="$$PATH:$$PWD/.venv/bin" uv build --wheel --clear --quiet

lock-jars: setup ## resolve the jars again into src/millrace/environment/jars.lock
	@.venv/bin/millrace jars --lock

clean: ## remove the environment and what tools left (never .millrace/, which millrace reset removes)
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
