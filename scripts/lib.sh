# Shared by the scripts beside it: messages, what must be installed, the cache folder. Sourced, never run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/toolbelt

say() { printf '== %s\n' "$*" >&2; }

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# apt_install WHAT PACKAGE… — installs Debian packages as root or with passwordless sudo; otherwise
# stops with a sentence that says what is missing and the command that fixes it.
apt_install() {
  local what=$1 as=()
  shift
  command -v apt-get >/dev/null ||
    die "$what is missing; install what Debian calls $* with this system's package manager"
  if [ "$(id -u)" != 0 ]; then
    sudo -n true 2>/dev/null ||
      die "$what is missing; run: sudo apt-get update && sudo apt-get install -y $*"
    as=(sudo -n)
  fi
  say "installing $* ($what is missing)"
  { "${as[@]}" apt-get update -qq && "${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@"; } >/dev/null ||
    die "$what could not be installed; run: sudo apt-get update && sudo apt-get install -y $*"
}

need_go() {
  command -v go >/dev/null || die "go is missing; install Go 1.26 or newer from https://go.dev/dl and put its bin folder on PATH"
}

need_c() {
  command -v gcc >/dev/null && echo '#include <stdlib.h>' | gcc -E -x c - >/dev/null 2>&1 ||
    apt_install "a C compiler" gcc libc6-dev
}

need_cxx() {
  command -v g++ >/dev/null || apt_install "a C++ compiler" g++
}

need_python() {
  command -v python3 >/dev/null || apt_install "python3" python3 python3-venv
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    die "python3 is $(python3 -V 2>&1), too old; install Python 3.10 or newer and put it first on PATH"
  python3 -c 'import ensurepip, venv' 2>/dev/null || apt_install "python3's venv module" python3-venv
}

# with_lock FILE COMMAND… — runs COMMAND while no other process holds FILE; says so when it has to wait. The lock
# is descriptor 9: a process that may outlive the command must be started with 9>&-.
with_lock() {
  local file=$1
  shift
  mkdir -p "$(dirname "$file")"
  command -v flock >/dev/null || apt_install "flock" util-linux
  exec 9>"$file"
  flock -n 9 || { say "waiting for another run that is building here ($file)"; flock 9; }
  "$@"
  exec 9>&-
}

# digest — the first 12 hex digits of stdin's SHA-256.
digest() { sha256sum | cut -c1-12; }
