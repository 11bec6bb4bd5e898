# Everything a person does with this checkout; `make` alone lists it. Needs Python 3.11 or newer and nothing else:
# a virtual environment is made in .venv, and each target installs into it what it needs, once.

PYTHON ?= python3
VENV   ?= .venv
# auto: compare with PyTorch if it can be installed; no: do not try; required: fail without it.
ORACLE ?= auto
# More arguments for the target's command, as in: make test ARGS="-k hooks -x"
ARGS   ?=

PY     := $(VENV)/bin/python
STAMPS := $(VENV)/.stamps
PIP    := $(PY) -m pip install --quiet --disable-pip-version-check
TESTS  := -m pytest -n auto --maxprocesses 4
PYTEST := $(PY) $(TESTS)

# The compiled build is tested as people get it: its wheel, in an environment without the sources.
WHEELS   := build/wheels
COMPILED := build/compiled-venv

# Another Python gets wheels and environments of its own: compiled on one end of the NumPys that it has, pure on the other;
# which is which alternates, so that each form meets both.
VERSIONS  := 3.11 3.12 3.13 3.14
VERSION    = $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
OTHER      = build/pythons/$(VERSION)
OLDEST     = numpy==$(if $(filter 3.14,$(VERSION)),2.3.2,2.1.0)
OLD_FIRST  = $(filter 3.12 3.14,$(VERSION))
PARTS     := tests/build tests/core tests/engine \
  tests/project/test_import.py::test_threads_may_load_at_once tests/project/test_import.py::test_threads_may_load_in_any_order
# How often what needs luck to fail is tried: threads that load at once, and the collector while a node gets its edges.
REPEATS   := 50
GPU_PYTHON := python3

# The pack by itself beside the interpreted sources: with sanitizers, and without what only some systems have. Python is
# not instrumented, so the sanitizers' runtime comes first by LD_PRELOAD, and nobody looks for leaks: Python keeps what it
# has at the end. A kernel that asks for more memory than there may be gets none, as on any system.
ASAN      := build/asan
TSAN      := build/tsan
PORTABLE  := build/portable
CXX       ?= g++
SANITIZED  = env LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=2048 \
  UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc PYTHONPATH=$(CURDIR)/$(ASAN)

# The same for threads. Python's own locks are seen, because they are the system's; what only Python and NumPy do is not
# looked at.
THREADED   = env LD_PRELOAD="$$($(CXX) -print-file-name=libtsan.so)" \
  TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:suppressions=$(CURDIR)/tests/native/tsan.txt \
  PYTHONPATH=$(CURDIR)/$(TSAN)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: inspector help demo examples test test-compiled test-nonative test-asan test-tsan test-portable test-gpu test-python test-pythons compiled wheel sdist coverage conformance fuzz bench check format clean distclean
.PHONY: compiled-venv other-compiled other-pure peers oracle-auto oracle-no oracle-required

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(STAMPS)/package ## train a small network on handwritten digits; writes a page that shows its last step
	@$(PY) -m retrograd demo $(ARGS)

examples: $(STAMPS)/examples ## run the examples, in their short versions: each must learn; pictures are in build/examples
	@for example in examples/*.py; do \
	  echo && echo "$$example" && OPENBLAS_NUM_THREADS=1 $(PY) $$example --quick || exit; \
	done

test: $(STAMPS)/test oracle-$(ORACLE) ## run all tests; with PyTorch as oracle where it can be installed (see ORACLE)
	RETROGRAD_NO_NATIVE=1 $(PYTEST) $(ARGS)

test-compiled: compiled-venv ## run them on the compiled build: its wheel, in an environment of its own
	$(COMPILED)/bin/python $(TESTS) tests --pyargs retrograd $(ARGS)

test-nonative: compiled-venv ## run them on the compiled build without the native kernel pack
	RETROGRAD_NO_NATIVE=1 $(COMPILED)/bin/python $(TESTS) tests --pyargs retrograd $(ARGS)

test-asan: $(STAMPS)/dev ## run the tests of the pack on a build with AddressSanitizer and UBSan (Linux, GCC)
	$(PY) tools/pack.py sanitized --into $(ASAN)
	$(SANITIZED) $(PYTEST) tests/native $(ARGS)
	$(SANITIZED) RETROGRAD_ISA=base $(PYTEST) tests/native $(ARGS)

test-tsan: $(STAMPS)/dev ## run the tests of its threads on a build with ThreadSanitizer (Linux, GCC)
	$(PY) tools/pack.py threads --into $(TSAN)
	$(THREADED) $(PY) -m pytest tests/native/test_threads.py $(ARGS)

test-portable: $(STAMPS)/dev ## run them on a build without anything that only some compilers and systems have
	$(PY) tools/pack.py portable --into $(PORTABLE)
	PYTHONPATH=$(CURDIR)/$(PORTABLE) $(PYTEST) tests/native $(ARGS)

test-gpu: ## run the tests of devices on an NVIDIA GPU, with CuPy and retrograd in GPU_PYTHON's environment
	RETROGRAD_TEST_DEVICE=cuda:0 $(GPU_PYTHON) -m pytest -q tests/devices tests/gpu $(ARGS)

test-python: ## run the tests of core, engine and build on another Python: PYTHON=python3.13; compiled, and pure
	@rm -rf $(OTHER)
	@$(MAKE) --no-print-directory other-compiled PURE=0 NUMPY='$(if $(OLD_FIRST),$(OLDEST),numpy)'
	@$(MAKE) --no-print-directory other-pure PURE=1 NUMPY='$(if $(OLD_FIRST),numpy,$(OLDEST))'

test-pythons: ## do so on every Python that is supported (VERSIONS) and can be found or installed
	@for version in $(VERSIONS); do \
	  python="$$(.ci/python $$version)"; \
	  if [ $$? -ne 0 ]; then echo "SKIPPED: Python $$version, which cannot be had here" >&2; continue; fi; \
	  $(MAKE) --no-print-directory test-python PYTHON="$$python" || exit; \
	done

compiled: $(STAMPS)/dev ## compile for development, only what changed; then: PYTHONPATH=build/compiled/lib python …
	@$(PY) tools/compiled.py $(ARGS)

wheel: $(STAMPS)/venv ## build the compiled wheel for this platform into build/wheels
	@rm -rf $(WHEELS)
	RETROGRAD_PURE=0 $(PY) -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir $(WHEELS) .

sdist: $(STAMPS)/test ## pack the sources, all of them, into dist
	@rm -rf dist
	@$(PY) -c 'import setuptools.build_meta as backend; print("dist/" + backend.build_sdist("dist"))'

coverage: $(STAMPS)/dev oracle-$(ORACLE) ## measure what part of the sources the tests run; a report per line in build/coverage
	RETROGRAD_NO_NATIVE=1 $(PYTEST) --cov --cov-report=term --cov-report=html $(ARGS)

conformance: $(STAMPS)/test oracle-required ## run the same programs on PyTorch and on retrograd and compare
	$(PYTEST) tests/conformance $(ARGS)

fuzz: $(STAMPS)/test oracle-required ## try to break it: all parts, or PART=programs COUNT=20000 SEED=1 (docs/inside/reliability.md)
	$(PY) -m tests.fuzz $(PART) $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED)) $(ARGS)

bench: compiled-venv $(if $(PEERS),peers) ## measure the compiled build against PyTorch in one process (PEERS=1: and others)
	$(COMPILED)/bin/python benchmarks/run.py $(if $(PEERS),--peers) $(ARGS)
	$(COMPILED)/bin/python benchmarks/transforms.py
	$(COMPILED)/bin/python benchmarks/modules.py
	$(COMPILED)/bin/python benchmarks/training.py
	$(COMPILED)/bin/python benchmarks/threads.py
	$(PY) benchmarks/diagnostics.py
	$(COMPILED)/bin/python benchmarks/nonfinite.py --repeat 500

inspector: $(STAMPS)/venv ## build the inspector's page from inspector/ (needs Node.js and npm)
	$(PY) tools/inspector.py

check: $(STAMPS)/dev ## format, lint, types, generated files, layers, notes, budgets, what users' programs reveal
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy --strict src
	$(PY) tools/generate.py --check
	$(PY) tools/inspector.py --check
	$(PY) -m pytest -q tests/project/test_layers.py tests/project/test_notes.py tests/project/test_budgets.py tests/typing
	@$(PY) -m tests.project.budgets

format: $(STAMPS)/dev ## write the code the way `check` wants it
	$(PY) tools/generate.py
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

clean: ## remove what was built and cached, keep .venv
	rm -rf build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests tools benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean ## remove .venv too
	rm -rf $(VENV)

# ---- what is installed; a stamp is as old as what it was made from -------------------------------------------------

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "retrograd needs Python 3.11 or newer; try: make PYTHON=python3.12" >&2; exit 1; }
	@test -x $(PY) || $(PYTHON) -m venv $(VENV) || { \
	  echo "No virtual environment could be made; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/package: pyproject.toml | $(STAMPS)/venv
	@echo "installing retrograd into $(VENV)"
	@$(PIP) --editable .
	@touch $@

$(STAMPS)/examples: pyproject.toml | $(STAMPS)/venv
	@echo "installing retrograd and what its examples need into $(VENV)"
	@$(PIP) --editable '.[scipy,cli,plot]'
	@touch $@ $(STAMPS)/package

$(STAMPS)/test: pyproject.toml | $(STAMPS)/venv
	@echo "installing retrograd and what its tests need into $(VENV)"
	@$(PIP) --editable '.[test]'
	@touch $@ $(STAMPS)/package

# A fresh environment with the wheel; pytest, NumPy and PyTorch are those of $(VENV), found by a line in a .pth file.
# Such a line adds a folder and nothing that the folder's own .pth files name: not the sources.
compiled-venv: wheel $(STAMPS)/test oracle-$(ORACLE)
	@rm -rf $(COMPILED) && $(PY) -m venv $(COMPILED)
	@$(COMPILED)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps $(WHEELS)/*.whl
	@$(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > \
	  "$$($(COMPILED)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/of-the-tests.pth"
	@cd $(COMPILED) && bin/python -c 'import retrograd.__config__ as c; print(c.show())'

# A wheel for another Python, in an environment without the sources; its form is checked before its tests run.
other-compiled other-pure: other-%:
	@echo "Python $(VERSION), $*, with $(NUMPY):"
	@$(PYTHON) -m venv $(OTHER)/$*
	@RETROGRAD_PURE=$(PURE) $(OTHER)/$*/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps \
	  --wheel-dir $(OTHER)/wheels-$* .
	@$(OTHER)/$*/bin/python -m pip install --quiet --disable-pip-version-check '$(NUMPY)' \
	  "$$(echo $(OTHER)/wheels-$*/*.whl)[test]"
	@cd $(OTHER)/$* && bin/python -c 'import sys, retrograd.__config__ as c; from retrograd.backends.pack import PACK; \
	  print(c.show()); sys.exit([c.is_compiled(), PACK is not None] != [$(PURE) == 0] * 2)' && \
	  bin/python -m retrograd demo --epochs 1 > /dev/null
	RETROGRAD_REPEATS=$(REPEATS) $(OTHER)/$*/bin/python $(TESTS) $(PARTS) $(ARGS)

$(STAMPS)/dev: pyproject.toml | $(STAMPS)/venv
	@echo "installing retrograd and what its checks need into $(VENV)"
	@$(PIP) --editable '.[dev]'
	@touch $@ $(STAMPS)/test $(STAMPS)/package

$(STAMPS)/oracle: pyproject.toml | $(STAMPS)/test
	@echo "installing PyTorch, the oracle of the conformance tests, into $(VENV)"
	@$(PIP) --editable '.[oracle]'
	@touch $@

peers: $(STAMPS)/test
	@echo "installing other libraries that differentiate, for the benchmarks, into $(VENV)"
	@$(PIP) --editable '.[peers]'

oracle-required: $(STAMPS)/oracle

oracle-no:

oracle-auto: $(STAMPS)/test
	@$(MAKE) --no-print-directory oracle-required || \
	  echo "PyTorch 2.13.0 could not be installed: going on without it, the conformance tests will be skipped." >&2
