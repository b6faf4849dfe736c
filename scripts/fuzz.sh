#!/usr/bin/env bash
# Runs every fuzz target of the module for a moment.
# usage: scripts/fuzz.sh [TIME]      TIME for each target, as go test -fuzztime takes it (default 5s)
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need_go
need_c
cd "$root"
time=${1:-5s}
found=0
said=$(mktemp)
trap 'rm -f "$said"' EXIT

# fuzz TARGET PACKAGE — go test may report the end of its own time as a failure ("context deadline exceeded") when
# it comes in the middle of a step; such a run, which found no input that fails, is made once more. Making each input of interest
# smaller, for up to a minute as is the rule, would take all of the time.
fuzz() {
  local try
  for try in 1 2; do
    go test -run '^$' -fuzz "^$1\$" -fuzztime "$time" -fuzzminimizetime 20x "$2" </dev/null >"$said" 2>&1 && { cat "$said"; return; }
    grep -q 'context deadline exceeded' "$said" && ! grep -q 'Failing input' "$said" || break
  done
  cat "$said"
  return 1
}

while IFS=$'\t' read -r package folder; do
  for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$folder"/*_test.go 2>/dev/null); do
    found=$((found + 1))
    fuzz "$target" "$package"
  done
done < <(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{"\t"}}{{.Dir}}{{end}}' ./...)
[ "$found" -gt 0 ] || die "no fuzz target was found: a function Fuzz… in a _test.go file"
