#!/usr/bin/env bash
# Run by `make check` after the set-up: format, lint, types, import contracts and the pure tests, in parallel.
# All of them complete and report, even if one fails; the exit status is 1 if any failed.
#   DURATIONS=20                 names the slowest twenty tests
#   HYPOTHESIS_PROFILE=thorough  more examples of every property, as `make test`; see tests/conftest.py
set -uo pipefail
cd "$(dirname "$0")"
export PATH="$PWD/.venv/bin:$PWD/.cache:$PATH"
unset PYTHONDONTWRITEBYTECODE # the commands that tests run start faster
pure_tests=(tests/unit tests/contract tests/property tests/scenario perfmodel latency_map gesscale testbed/baselines)
logs=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$logs"' EXIT

declare -A running
start() { # NAME COMMAND...: runs in parallel with the tests
  local name=$1; shift
  "$@" >"$logs/$name" 2>&1 &
  running[$name]=$!
}
start format ruff format --check .
start lint ruff check .
start types mypy
start contracts lint-imports

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
  cat "$logs/$name"
done
[ ${#failed[@]} = 0 ] && echo "check: format, lint, types, contracts and tests passed" && exit
printf 'check: failed: %s\n' "${failed[@]}"
exit 1
