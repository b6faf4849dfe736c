#!/usr/bin/env bash
# Runs all tests with the race detector, those against the real engine and the Python clients included, then
# every fuzz target for a few seconds. What is missing is built or installed first.
# usage: scripts/test.sh
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$root"

if [ "${1:-}" = inside ]; then # the engine runs at ENGINE_URL
  export TOOLBELT_TEST_ENGINE=$ENGINE_URL CGO_ENABLED=1
  go test -race -timeout 20m ./...
  exec scripts/fuzz.sh 5s
fi

need_go
need_c
TOOLBELT_TEST_PYTHON=$(scripts/python-env.sh)
export TOOLBELT_TEST_PYTHON
exec scripts/engine.sh with scripts/test.sh inside
