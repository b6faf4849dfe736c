#!/usr/bin/env bash
# Measures the time to the first token on a real engine, with and without toolbelt, and sets each figure beside what is to be reached.
# usage: scripts/ttft.sh [FLAG…]      flags go to "toolbelt eval ttft", such as --scenarios gaia:cold or --trials 3
# The engine is built and started here, on a free port, with its log at the debug level, and stopped at the end. The trials and the report go to TTFT_OUT
# (doc/bench/ttft); an interrupted run goes on where it was when the same command is given again. TTFT_DATA is the folder of the set gaia, without which most of the table
# cannot be taken. With nothing else running it takes about 45 minutes on two cores.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
"$root/scripts/build.sh"
out=${TTFT_OUT:-$root/doc/bench/ttft}
args=(--model smollm2 --catalog gaia,compact --every --out "$out" --data "${TTFT_DATA:-$root/../shared/data}")
case " $* " in
*" --scenarios"*) ;;
*) args+=(--scenarios gaia:cold,gaia:prewarmed,gaia:turn2_same,gaia:turn2_one_new,gaia:turn2_one_new_long,gaia:topic_switches,gaia:context4096,compact:cold,compact:turn2_same,compact:two_conversations) ;;
esac
[ ! -s "$out/ttft.jsonl" ] || args+=(--resume)
export OLLAMA_DEBUG=1
exec "$root/scripts/engine.sh" with bash -c 'exec "$0" eval ttft --engine "$ENGINE_URL" --engine-log "$ENGINE_LOG" "$@"' "$root/bin/toolbelt" "${args[@]}" "$@"
