#!/usr/bin/env bash
# What `make check` runs after the set-up: format, lint, types, import contracts and the pure tests, beside each other.
# All of them end and say what they found, whichever fails; the exit status is 1 where one failed.
#   DURATIONS=20                 names the slowest twenty tests
#   HYPOTHESIS_PROFILE=thorough  more examples of every property, as `make test`; see tests/conftest.py
set -uo pipefail
cd "$(dirname "$0")"
export PATH="$PWD/.venv/bin:$PWD/.cache:$PATH"
unset PYTHONDONTWRITEBYTECODE # the commands that tests start begin sooner
pure_tests=(tests/unit tests/contract tests/property tests/scenario perfmodel latency_map gesscale testbed/baselines)
said=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$said"' EXIT

declare -A running
begin() { # NAME COMMAND...: goes on beside the tests
  local name=$1; shift
  "$@" >"$said/$name" 2>&1 &
  running[$name]=$!
}
begin format ruff format --check .
begin lint ruff check .
begin types mypy
begin contracts lint-imports

# One worker more than cores: many tests wait for a process or a deadline, but each worker collects them all (9 s).
python -m pytest -n $(($(nproc) + 1)) --dist worksteal ${DURATIONS:+--durations="$DURATIONS"} "${pure_tests[@]}"
status=$?
failed=()
[ $status = 0 ] || failed+=("tests (exit status $status)")
for name in format lint types contracts; do
  wait "${running[$name]}"
  status=$?
  [ $status = 0 ] && continue
  failed+=("$name (exit status $status)")
  printf '\n== %s ==\n' "$name"
  cat "$said/$name"
done
[ ${#failed[@]} = 0 ] && echo "check: format, lint, types, contracts and tests passed" && exit
printf 'check: failed: %s\n' "${failed[@]}"
exit 1
