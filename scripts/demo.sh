#!/usr/bin/env bash
# Plays one conversation straight at a real engine and through toolbelt, and compares.
# usage: scripts/demo.sh [FLAG…]      flags go to "toolbelt demo", such as --trials 3 or --json
# The engine is built and started here, on a free port, and stopped at the end. DEMO_ENGINE=URL DEMO_MODEL=NAME use
# an Ollama that runs already; its model is unloaded and loaded again in the course of the demo.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
"$root/scripts/build.sh"
if [ -n "${DEMO_ENGINE:-}" ]; then
  [ -n "${DEMO_MODEL:-}" ] || die "DEMO_ENGINE needs DEMO_MODEL too: the name of one of that engine's models"
  exec "$root/bin/toolbelt" demo --engine "$DEMO_ENGINE" --model "$DEMO_MODEL" "$@"
fi
exec "$root/scripts/engine.sh" with bash -c 'exec "$0" demo --engine "$ENGINE_URL" --model smollm2 "$@"' "$root/bin/toolbelt" "$@"
