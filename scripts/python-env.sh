#!/usr/bin/env bash
# Makes the Python environment of the client tests and prints its interpreter's path.
# usage: scripts/python-env.sh [bare]     bare: an interpreter with pip, without the clients
# The environment stands in the cache folder (TOOLBELT_PYTHON_DIR changes which) and is made once;
# every package is pinned with its checksums in clients.txt.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
dir=${TOOLBELT_PYTHON_DIR:-$cache/python}

# make NAME PIPARGS… — the environment $dir/NAME, complete once its .done stands. Environments cannot
# be renamed (their scripts name their folder), so a half-made one is thrown away instead.
make_env() {
  local env=$dir/$1
  shift
  [ -e "$env/.done" ] && "$env/bin/python" -c '' 2>/dev/null && return
  rm -rf "$env"
  say "making a Python environment in $env"
  python3 -m venv "$env"
  if [ $# -gt 0 ]; then
    "$env/bin/python" -m pip install -q --disable-pip-version-check "$@" ||
      die "the Python packages could not be installed; check that pip can reach its package index: $env/bin/python -m pip download ollama"
  fi
  touch "$env/.done"
}

need_python
tag=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
case ${1:-clients} in
bare)
  name=bare-$tag
  with_lock "$dir/lock" make_env "$name" >&2
  ;;
clients)
  name=clients-$tag-$(digest <"$root/scripts/clients.txt")
  with_lock "$dir/lock" make_env "$name" --require-hashes --only-binary :all: -r "$root/scripts/clients.txt" >&2
  ;;
*) die "unknown argument \"$1\"; usage: scripts/python-env.sh [bare]" ;;
esac
echo "$dir/$name/bin/python"
