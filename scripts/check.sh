#!/usr/bin/env bash
# Static checks: gofmt, go vet, staticcheck, govulncheck, the last two in pinned versions.
# usage: scripts/check.sh
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need_go
need_c
cd "$root"
say "gofmt"
unformatted=$(git ls-files -co --exclude-standard -- '*.go' | xargs -r gofmt -l)
[ -z "$unformatted" ] || die "not formatted; run gofmt -w on: $(echo $unformatted)"
say "go vet"
go vet ./...
say "staticcheck"
go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
say "govulncheck"
said=$(go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./... 2>&1) && { echo "$said"; exit; }
echo "$said" >&2
case $said in
*"fetching vulnerabilities"*) die "govulncheck checked nothing: its database is out of reach; GOVULNDB=URL names a mirror" ;;
*) die "govulncheck found something; what it said stands above" ;;
esac
