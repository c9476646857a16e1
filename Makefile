# make run    the whole service on http://127.0.0.1:8000, databases included
#             (PORT=8000 DATA=var HOST=127.0.0.1 WORKERS=2; DATABASE_URL, REDIS_URL: your servers)
# make test   everything that must pass (PYTEST_ARGS=... for pytest alone)
# make faults the fault suite ten times in a row, in its long form (FAULTS_ROUNDS=10 FAULTS_ARGS='-n 2')
# make lint   the part of it that runs nothing
# make words  bring the catalogues of sentences up to date (translating them is for a human)
# make lock   write requirements/*.txt anew from pyproject.toml (LOCK_ARGS=--upgrade)
# make manage ARGS="doctor"  a command of manage.py on the service of make run
# make screenshots  the README's pictures, from the running product
# make clean  remove .venv and caches; DATA stays
#
# PYTHON=... chooses the Python that makes .venv; by default the first that is new enough.

SHELL := /bin/sh
PORT ?= 8000
DATA ?= var
PYTEST_ARGS ?=
FAULTS_ROUNDS ?= 10
FAULTS_ARGS ?=
LOCK_ARGS ?=
VENV := .venv/bin

# Some shells export HOST as the name of the machine, so only `make HOST=...` counts.
LISTEN := $(if $(filter command,$(firstword $(origin HOST))),$(HOST),127.0.0.1)
# One word for the shell, whatever is in it.
quoted = '$(subst ','\'',$(1))'

# The first Python >= 3.11, or one sentence.
define FIND_PYTHON
python=; \
for name in $(if $(PYTHON),$(call quoted,$(PYTHON)),python3 python3.13 python3.12 python3.11); do \
  if "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
    python=$$name; break; \
  fi; \
done; \
if [ -z "$$python" ]; then \
  echo "darkroom: Python 3.11 or newer is needed: install it or set PYTHON=/path/to/it." >&2; \
  exit 1; \
fi
endef

.PHONY: run test faults lint words lock manage screenshots clean base dev

# exec: signals and exit statuses pass between make and the service without a shell in between.
run: base
	@exec $(VENV)/python -m aigc_site.embedded --stop-with-parent \
	  --host $(call quoted,$(LISTEN)) --port $(call quoted,$(PORT)) --data $(call quoted,$(DATA)) \
	  $(if $(WORKERS),--workers $(call quoted,$(WORKERS)))

# Two processes, each with its own servers (given ones cannot be shared). What only computes and
# asks the database comes first, what starts real services, whose promises are in seconds, after it.
ifeq ($(strip $(PYTEST_ARGS)),)
test: AT_ONCE = $(if $(TEST_DATABASE_URL)$(TEST_REDIS_URL),,-n 2 --dist worksteal)
test: lint
	$(VENV)/python -m pytest $(AT_ONCE) tests/unit tests/integration
	$(VENV)/python -m pytest $(AT_ONCE) tests/acceptance tests/faults
else
test: lint
	$(VENV)/python -m pytest $(PYTEST_ARGS)
endif

faults: dev
	FAULTS_ROUNDS=$(FAULTS_ROUNDS) $(VENV)/python -m tests.faults.rounds $(FAULTS_ARGS)

# mypy's Django plugin loads the settings, which refuse to load without these.
lint: export DATABASE_URL = postgresql:///type-check
lint: export REDIS_URL = redis://127.0.0.1:1/0
lint: export DARKROOM_SECRET_KEY = only-for-type-checks-never-for-a-service
lint: export DARKROOM_INSECURE_HTTP = 1
lint: dev
	$(VENV)/python -m ruff check .
	$(VENV)/python -m ruff format --check .
	$(VENV)/python -m mypy
	$(VENV)/lint-imports

words: export DATABASE_URL = postgresql:///words
words: export REDIS_URL = redis://127.0.0.1:1/0
words: export DARKROOM_SECRET_KEY = only-for-collecting-sentences-never-for-a-service
words: export DJANGO_SETTINGS_MODULE = aigc_site.settings
words: dev
	$(VENV)/python -m tests.messages

lock: dev
	$(VENV)/uv pip compile $(LOCK_FLAGS) $(LOCK_ARGS) pyproject.toml -o requirements/base.txt
	$(VENV)/uv pip compile $(LOCK_FLAGS) $(LOCK_ARGS) pyproject.toml --group dev \
	  -c requirements/base.txt -o requirements/dev.txt

# The header of the files names `make lock` rather than the command with its local options.
LOCK_FLAGS := --quiet --universal --generate-hashes --python-version 3.11 \
  --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"

# A command of manage.py on the service of `make run`: make manage ARGS="doctor"
manage: base
	@set -a && . $(call quoted,$(abspath $(DATA))/first-run.env) && \
	  DARKROOM_SECRET_KEY_FILE=$(call quoted,$(abspath $(DATA))/secret.key) && \
	  DARKROOM_DATA=$(call quoted,$(abspath $(DATA))) && DARKROOM_PUBLIC_URL="$$DARKROOM_URL" && \
	  DARKROOM_INSECURE_HTTP=1 && exec $(VENV)/python manage.py $(ARGS)

screenshots: dev
	$(VENV)/python docs/screenshots.py

base dev:
	@$(FIND_PYTHON); exec "$$python" -I aigc_site/embedded/installation.py $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache htmlcov .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
