# Two commands for everybody: `make demo` and `make test`. Both do all their set-up. `make lock` is for maintainers.
# `make fuzz SECONDS=600 SEED=1` (or INPUTS=100000) plays mutants of valid inputs at every parser; what it finds becomes a test.
PYTHON_OF_PROJECT := .venv/bin/python
# All cores work on these. What runs real Spark, Kafka, Prometheus or networks goes on beside what runs on Kubernetes.
PURE_TESTS := tests/unit tests/contract tests/property tests/scenario perfmodel latency_map gesscale

SECONDS := 60
SEED := 0

.PHONY: demo test fuzz lock
demo:
	@./setup.sh demo
	@$(PYTHON_OF_PROJECT) -m testbed.demo

test:
	@./setup.sh test
	@.venv/bin/ruff format --check .
	@.venv/bin/ruff check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports
	@PATH="$(CURDIR)/.cache:$$PATH" .venv/bin/pytest -n auto --dist loadfile $(PURE_TESTS)
	@PATH="$(CURDIR)/.cache:$$PATH" .venv/bin/pytest -n 2 --dist loadscope tests/real

fuzz:
	@./setup.sh demo
	@PYTHONPATH=$(CURDIR):$(CURDIR)/tests $(PYTHON_OF_PROJECT) -m fuzz $(if $(INPUTS),--inputs $(INPUTS),--seconds $(SECONDS)) --seed $(SEED)

lock:
	@.venv/bin/pip install --quiet uv
	@.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --all-extras --group test --group lint --group build --generate-hashes --no-header pyproject.toml -o requirements.lock
