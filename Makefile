# `make help` lists the targets. Needs python3 (3.11 or newer) and make; everything else goes into .venv.

PYTHON ?= $(shell command -v python3.11 2>/dev/null || command -v python3 2>/dev/null || echo python3)
# Processes for pytest: `make test WORKERS=0` runs the tests in one process.
WORKERS ?= 2
PYTEST_ARGS ?=

BIN := .venv/bin
STAMP := .venv/.installed
RUN_STAMP := .venv/.run-time
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Compiled programs are kept between runs, inside this tree, so that a second run starts sooner.
export JAX_COMPILATION_CACHE_DIR ?= $(CURDIR)/.cache/jax
# An active virtual environment or a foreign PYTHONPATH must not leak into this one.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-page test test-browser docs lint bench torture wheel-check bounds clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

setup: $(STAMP) ## create .venv for development, with the exact versions of the lock files

$(RUN_STAMP): requirements-run.lock pyproject.toml
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Tutelage needs Python 3.11 or newer, and '$(PYTHON)' is older or missing: install it, or name another with 'make setup PYTHON=...'." >&2; exit 1; }
	"$(PYTHON)" -m venv .venv
	$(INSTALL) -r requirements-run.lock
	$(INSTALL) --no-deps -e .
	@touch $@

$(STAMP): $(RUN_STAMP) requirements.lock requirements-examples.lock requirements-simulators.lock
	$(INSTALL) -r requirements.lock
	$(INSTALL) --no-deps -r requirements-examples.lock -r requirements-simulators.lock
	@touch $@

demo: $(RUN_STAMP) ## install what running needs, train a small agent and show what it learned
	$(BIN)/python examples/demo.py

lint: setup ## check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright

test: lint docs ## lint, build the documentation, then run the tests, then those in a browser
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)
ifeq ($(PYTEST_ARGS),)
	@$(MAKE) --no-print-directory test-browser
endif

# Debian's Chromium is installed where that is allowed. Without a browser these tests are skipped, and say so.
test-browser: setup ## run the tests of pages in the system's Chromium
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "There is no browser: installing Chromium with apt-get."; \
		(timeout 300 apt-get update -qq && timeout 600 apt-get install -y -qq --no-install-recommends chromium) >/dev/null 2>&1 || \
			echo "Chromium could not be installed; the tests in a browser will be skipped."; \
	else echo "There is no browser, and only root may install one: the tests in a browser will be skipped."; fi
	@# A process each: a second Playwright cannot be started where the first has a loop.
	for tests in tests/browser tests/lab/test_lab_page.py tests/lab/test_lab_editors.py \
		tests/lab/test_lab_accessibility.py; do \
		$(BIN)/python -m pytest -n 0 -m browser -rs $$tests || exit 1; done

# Warnings are errors: a link or an anchor that leads nowhere, a page outside of the navigation, anything that a page
# would load from a network. (With --quiet, MkDocs counts no warnings.) The variable silences an announcement of the theme's authors.
docs: setup ## build the documentation's site into build/site, to be opened from disk
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "The site is in build/site: open build/site/index.html"

# As `make demo-page RUNS='runs/a runs/b'`; without runs it keeps its students and renews the scripts and styles.
RUNS ?=
demo-page: setup ## remake docs/demo/mazes.html, after changes to the web files or from the students of RUNS
	$(BIN)/tutelage page $(if $(RUNS),$(RUNS),--refresh) --out docs/demo/mazes.html

bench: setup ## measure speed beside minimax-lib, jaxued and plain flax
	$(BIN)/python benchmarks/run.py

# As `make torture MINUTES=60`, or some kinds only: `make torture TORTURE_ARGS='--only kills,calls'` (docs/faults.md).
MINUTES ?= 60
TORTURE_ARGS ?=

torture: setup ## attack a run in every way there is, for an hour, and count
	$(BIN)/python -m tests.faults.torture --minutes $(MINUTES) $(TORTURE_ARGS)

# Where to keep what these two make; without it, a directory that is removed.
WORK ?=

wheel-check: ## build sdist and wheel, and use the wheel in an empty environment
	PYTHON="$(PYTHON)" WORK="$(WORK)" tools/wheel_check.sh

bounds: ## a smoke test with the lowest and the newest dependencies that pyproject.toml allows
	PYTHON="$(PYTHON)" WORK="$(WORK)" tools/bounds.sh

clean: ## remove everything that make has made
	rm -rf .venv .cache .pytest_cache .ruff_cache .hypothesis build dist benchmarks/.venv-* benchmarks/results.json
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf src/*.egg-info
