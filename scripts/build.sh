#!/usr/bin/env bash
# Builds bin/toolbelt. Needs Go and a C compiler (for SQLite).
# usage: scripts/build.sh
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need_go
need_c
cd "$root"
CGO_ENABLED=1 go build -trimpath -ldflags "-s -w" -o bin/toolbelt ./cmd/toolbelt
