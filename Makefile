# Trimtab. `make help` lists what there is; `make demo` and `make test` need nothing but Python 3.11+ and a package index.
PYTHON ?= python3
BIN := .venv/bin
CHECKED := shared cli functions tests docs/generate.py docs/cost_page.py docs/terraform_pages.py

.DEFAULT_GOAL := help
.PHONY: help test demo check format bench bench-tf docs package deploy lock clean

help: ## List the targets
	@grep -hE '^[a-zA-Z._-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

.venv: .venv/installed ## Make the virtual environment with all locked dependencies

.venv/installed: requirements/dev.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Trimtab needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

demo: .venv/installed ## Common bad advice under a rising load: alerts, cause, repair, measured effect, a picture (all simulated)
	$(BIN)/trimtab demo

test: .venv/installed ## All tests; those that need an emulator skip with a reason where its jar is absent
	$(BIN)/pytest

check: .venv/installed ## Format, lint, types, layers, docs freshness
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/generate.py --check

format: .venv/installed ## Format and fix what can be fixed
	$(BIN)/ruff format $(CHECKED)
	$(BIN)/ruff check --fix $(CHECKED)

bench: .venv/installed ## Measure side by side and print the table that docs/benchmarks.md holds
	$(BIN)/python -m tests.benchmarks

.venv-tf/installed: requirements/bench-tf.txt
	$(PYTHON) -m venv .venv-tf
	.venv-tf/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bench-tf.txt
	touch $@

bench-tf: .venv/installed .venv-tf/installed ## Against TensorFlow's own batch scheduler on this CPU (2 GB in .venv-tf); docs/benchmarks-tf.md
	$(BIN)/python -m tests.benchmarks.tf --tensorflow .venv-tf/bin/python

docs: .venv/installed ## Regenerate docs/reference from the code
	$(BIN)/python docs/generate.py

package: .venv/installed ## The archive of all functions, in build/, and one with Cloud Profiler: the same source makes the same bytes; prints its path
	@$(BIN)/python -m cli.package

deploy: .venv/installed ## Package, plan and apply: make deploy PROJECT=acme-ml REGION=europe-west1 [VARS=FILE]; Terraform shows the plan and asks
	@test -n '$(PROJECT)' && test -n '$(REGION)' || { echo 'make deploy PROJECT=... REGION=...: both must be given' >&2; exit 2; }
	@test -z '$(VARS)' || test -f '$(VARS)' || { echo 'make deploy VARS=$(VARS): there is no such file: trimtab init --output writes one' >&2; exit 2; }
	$(BIN)/python -m cli.package
	terraform -chdir=terraform init -input=false
	terraform -chdir=terraform apply $(if $(VARS),-var-file="$$(realpath '$(VARS)')") -var 'project_id=$(PROJECT)' -var 'region=$(REGION)'

lock: ## Resolve the dependencies anew, with hashes (needs uv)
	uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header --no-emit-index-url --no-emit-find-links --extra dev pyproject.toml -o requirements/dev.txt
	uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header --no-emit-index-url --no-emit-find-links -c requirements/dev.txt pyproject.toml -o requirements/functions.txt
	uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header --no-emit-index-url --no-emit-find-links -c requirements/dev.txt --extra profiler pyproject.toml -o requirements/functions-profiler.txt
	uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header --no-emit-index-url --no-emit-find-links -c requirements/dev.txt --extra bench-tf pyproject.toml -o requirements/bench-tf.txt

clean: ## Remove what was made here
	rm -rf .venv .venv-tf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
