# Commands for developers; each installs what it needs. `make lock` is for maintainers.
DIST := dist

.PHONY: demo check test test-all docs fuzz release lock
# A windowed query of Nexmark through a New York day on eight emulated nodes, five minutes. ARGS=-v prints every step of the loop.
demo:
	@./setup.sh demo
	@.venv/bin/testbed nexmark q5 $(ARGS)

# Format, lint, types, import contracts and the tests without real systems: a few minutes. DURATIONS=20 lists the slowest.
check:
	@./setup.sh check
	@./check.sh

# The same, then the tests on real Spark, Kafka, Prometheus, networks and Kubernetes. Continuous integration runs this.
REAL = PATH="$(CURDIR)/.cache:$$PATH" .venv/bin/pytest -n 2 --dist loadscope $(if $(DURATIONS),--durations=$(DURATIONS)) tests/real
test:
	@./setup.sh test
	@./check.sh
	@$(REAL) -m "not long"

# The same with more examples of every property, and with tests that take long or need rare programs: images, network policies,
# the Spark operator, every command of the docs, 60 changes under chaos. One to two hours.
test-all: export HYPOTHESIS_PROFILE ?= thorough
test-all:
	@./setup.sh test-all
	@./check.sh
	@$(REAL)

# Builds the docs as a site, with search and for reading without a network; a warning is an error.
docs:
	@./setup.sh check
	@.venv/bin/sphinx-build -q -W --keep-going -j auto -c docs . build/docs
	@echo "the docs: build/docs/index.html"

# Searches for new inputs that crash a parser, with more examples than the tests; add its findings to tests/fuzz/found.
fuzz:
	@./setup.sh check
	@HYPOTHESIS_PROFILE=search .venv/bin/pytest -n auto tests/property/test_parsers.py

# Builds wheel, source package, Helm chart, SBOM, checksums and provenance of the last commit, and verifies them.
release:
	@./setup.sh check
	@PATH="$(CURDIR)/.cache:$$PATH" .venv/bin/python deploy/release/release.py build $(DIST)
	@.venv/bin/python deploy/release/release.py verify $(DIST)

lock:
	@.venv/bin/pip install --quiet uv
	@.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --all-extras --group test --group lint --group build --group release --group docs --generate-hashes --no-header pyproject.toml -o requirements.lock
