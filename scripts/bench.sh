#!/usr/bin/env bash
# Runs all benchmarks and writes their results, with the machine and the date, to doc/bench/go.txt.
# usage: scripts/bench.sh [PACKAGE…]      given packages only, printed and not written
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need_go
need_c
cd "$root"
bench() { go test -run '^$' -bench . -benchmem -p 1 "$@"; }
if [ $# -gt 0 ]; then
  bench "$@"
  exit
fi
out=doc/bench/go.txt
mkdir -p doc/bench
{
  echo "date: $(date -u +%Y-%m-%d)"
  echo "machine: $(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1), $(getconf _NPROCESSORS_ONLN) cores, $(uname -sm)"
  echo "go: $(go env GOVERSION)"
  echo "command: make bench"
  echo
} >"$out.part"
bench ./... | grep -v 'no test files' | tee -a "$out.part"
grep -q '^Benchmark' "$out.part" || die "no benchmark ran"
mv "$out.part" "$out"
say "written to $out"
