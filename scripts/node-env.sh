#!/usr/bin/env bash
# Makes the folder of npm packages that the client tests need and prints its path.
# usage: scripts/node-env.sh
# The folder stands in the cache folder (TOOLBELT_NODE_DIR changes which) and is made once; every package is pinned with its checksum in
# node/package-lock.json.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
dir=${TOOLBELT_NODE_DIR:-$cache/node}

# make_env FOLDER — the packages in FOLDER/node_modules, complete once FOLDER/.done stands.
make_env() {
  [ -e "$1/.done" ] && return
  rm -rf "$1"
  mkdir -p "$1"
  cp "$root/scripts/node/package.json" "$root/scripts/node/package-lock.json" "$1"
  say "installing npm packages in $1"
  (cd "$1" && npm ci --silent --ignore-scripts --no-audit --no-fund >&2) ||
    die "the npm packages could not be installed; check that npm can reach its registry: npm view ai version"
  touch "$1/.done"
}

[ $# = 0 ] || die "unknown argument \"$1\"; usage: scripts/node-env.sh"
command -v node >/dev/null && command -v npm >/dev/null || die "node or npm is missing; install Node.js 18 or newer"
node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 18 ? 1 : 0)' || die "node is $(node -v), too old; install Node.js 18 or newer"
env=$dir/$(digest <"$root/scripts/node/package-lock.json")
with_lock "$dir/lock" make_env "$env" >&2
echo "$env"
