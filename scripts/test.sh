#!/usr/bin/env bash
# Runs all tests with the race detector, those against the real engine and with the Python and npm clients included, then
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
if command -v npm >/dev/null && node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 18 ? 1 : 0)' 2>/dev/null; then
  TOOLBELT_TEST_NODE=$(scripts/node-env.sh)
  export TOOLBELT_TEST_NODE
else
  say "there is no Node.js 18 or newer with npm: the tests of npm's clients are skipped"
fi
exec scripts/engine.sh with scripts/test.sh inside
