# Trimtab. `make help` lists what there is; `make demo` and `make test` need nothing but Python 3.11+ and a package index.
PYTHON ?= python3
BIN := .venv/bin
CHECKED := shared cli functions tests docs/generate.py docs/cost_page.py docs/terraform_pages.py

.DEFAULT_GOAL := help
.PHONY: help test demo check format bench bench-tf docs package package-profiler deploy lock clean

help: ## List the targets
	@grep -hE '^[a-zA-Z._-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

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

package: .venv/installed ## The archive of all functions, in build/: the same source makes the same bytes; prints its path
	@$(BIN)/python -m cli.package

package-profiler: .venv/installed ## The same, and prints the path of the archive with Cloud Profiler, which is made with it
	@$(BIN)/python -m cli.package --profiler

# Files of variables that say project_id, and so are of a project each: Terraform would take what both say from one and the rest from either.
OF_A_PROJECT := ^(project_id *=| {0,2}"project_id" *:)
READ_BY_ITSELF := terraform/terraform.tfvars terraform/terraform.tfvars.json terraform/*.auto.tfvars terraform/*.auto.tfvars.json

# What is given reaches the recipe through the environment, as it was typed: neither make nor the shell reads anything in it.
unexport PROJECT REGION VARS
export DEPLOY_PROJECT := $(value PROJECT)
export DEPLOY_REGION := $(value REGION)
export DEPLOY_VARS := $(value VARS)

deploy: .venv/installed ## Package, plan and apply: make deploy PROJECT=acme-ml REGION=europe-west1 [VARS=FILE]; Terraform shows the plan and asks
	@test -n "$$DEPLOY_PROJECT" && test -n "$$DEPLOY_REGION" || { echo 'make deploy PROJECT=... REGION=...: both must be given' >&2; exit 2; }
	@test -z "$$DEPLOY_VARS" || test -f "$$DEPLOY_VARS" || { printf 'make deploy VARS=%s: there is no such file: trimtab init --output writes one\n' "$$DEPLOY_VARS" >&2; exit 2; }
	@command -v terraform > /dev/null || { echo 'make deploy: terraform is not on the PATH: install Terraform 1.11 or newer' >&2; exit 2; }
	@files="$$(grep -lsE '$(OF_A_PROJECT)' $(READ_BY_ITSELF) $${DEPLOY_VARS:+"$$DEPLOY_VARS"} | while read -r file; do realpath "$$file"; done | sort -u)"; \
	  test "$$(printf '%s\n' "$$files" | wc -l)" -le 1 || { printf '%s\n' 'make deploy: Terraform would mix these, each of which says project_id:' "$$files" \
	  'Keep each under a name that it does not read by itself, such as acme-ml.tfvars, and name one with VARS=' >&2; exit 2; }
	$(BIN)/python -m cli.package
	terraform -chdir=terraform init -input=false
	@set -- -var "deploying=$$DEPLOY_PROJECT/$$DEPLOY_REGION"; \
	  if test -n "$$DEPLOY_VARS"; then set -- -var-file="$$(realpath "$$DEPLOY_VARS")" "$$@"; fi; \
	  TF_VAR_project_id="$$DEPLOY_PROJECT" TF_VAR_region="$$DEPLOY_REGION" terraform -chdir=terraform apply "$$@"
	@printf 'Next: %s doctor --project %s\n' '$(BIN)/trimtab' "$$DEPLOY_PROJECT"

lock: ## Resolve the dependencies anew, with hashes (needs uv)
	uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header --no-emit-index-url --no-emit-find-links --extra dev pyproject.toml -o requirements/dev.txt
	uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header --no-emit-index-url --no-emit-find-links -c requirements/dev.txt pyproject.toml -o requirements/functions.txt
	uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header --no-emit-index-url --no-emit-find-links -c requirements/dev.txt --extra profiler pyproject.toml -o requirements/functions-profiler.txt
	uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header --no-emit-index-url --no-emit-find-links -c requirements/dev.txt --extra bench-tf pyproject.toml -o requirements/bench-tf.txt

clean: ## Remove what was made here
	rm -rf .venv .venv-tf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
