#!/usr/bin/env bash
# Measures the time to the first token on a real engine, with and without toolbelt, and sets each figure beside what is to be reached.
# usage: scripts/ttft.sh [FLAG…]      flags go to "toolbelt eval ttft", such as --scenarios gaia:cold or --trials 3
# The engine is built and started here, on a free port, with its log at the debug level, and stopped at the end. The trials and the report go to TTFT_OUT
# (doc/bench/ttft); an interrupted run goes on where it was when the same command is given again. TTFT_DATA is the folder of the set gaia, without which most of the table
# cannot be taken. TTFT_WHAT=cost, slope or strategy measures that instead of the time to the first token; flags go to "toolbelt eval" of that name.
# With nothing else running it takes one to two hours on two cores, cost, slope and strategy ten minutes each.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
"$root/scripts/build.sh"
out=${TTFT_OUT:-$root/doc/bench/ttft}
what=${TTFT_WHAT:-ttft}
export OLLAMA_DEBUG=1
if [ "$what" != ttft ]; then
  args=(--model smollm2 --out "$out")
  [ "$what" != strategy ] || args+=(--dry-run)
  exec "$root/scripts/engine.sh" with bash -c 'exec "$0" eval "$@" --engine "$ENGINE_URL" --engine-log "$ENGINE_LOG"' "$root/bin/toolbelt" "$what" "${args[@]}" "$@"
fi
args=(--model smollm2 --catalog gaia,compact --every --out "$out" --data "${TTFT_DATA:-$root/../shared/data}")
case " $* " in
*" --scenarios"*) ;;
*) args+=(--scenarios gaia:cold,gaia:prewarmed,gaia:turn2_same,gaia:turn2_one_new,gaia:turn2_one_new_long,gaia:topic_switches,gaia:context4096,compact:cold,compact:turn2_same,compact:two_conversations) ;;
esac
[ ! -s "$out/ttft.jsonl" ] || args+=(--resume)
exec "$root/scripts/engine.sh" with bash -c 'exec "$0" eval ttft --engine "$ENGINE_URL" --engine-log "$ENGINE_LOG" "$@"' "$root/bin/toolbelt" "${args[@]}" "$@"
