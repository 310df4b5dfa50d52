# make demo · make test · make help
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test browser setup lint format docs bench clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY)  ## train BiQUE on the bundled graph, rank it beside a baseline, ask it questions
	@$(BIN)/bique demo

test: $(READY) browser  ## lint, format check, types, import layers and the whole test suite
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/pytest -q -n 2

# the report is opened in a real browser by a test; it skips, and says so, where there is none
browser:  ## get a browser for the test of the report, if there is none and we may install one
	@for name in chromium chromium-browser google-chrome google-chrome-stable; do \
	  command -v $$name >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing chromium for the test of the report (once)"; \
	  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q chromium; } >/dev/null && exit 0; fi; \
	echo "no browser found: the test of the report will be skipped; install chromium to run it"

setup: $(READY)  ## make .venv and install the package with the versions of constraints.txt

# torch first and by its pin, so that no other package chooses its version or build.
$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (once; about a minute)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

lint: $(READY)  ## ruff, pyright and import layers only
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/pyright && $(BIN)/lint-imports

format: $(READY)  ## let ruff rewrite the source
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

docs: $(READY)  ## build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet && echo "open site/index.html"

bench: $(READY)  ## measure what needs no download; benchmarks/ has a file per question
	@for name in import_speed training_step step_on_cpu; do echo "== $$name"; $(BIN)/python benchmarks/$$name.py || exit 1; done

clean:  ## remove .venv and everything built
	rm -rf $(VENV) build dist site .pytest_cache .ruff_cache .hypothesis .import_linter_cache
