#!/usr/bin/env bash
# Measures the daemon as it is built for users: size of the binary, time from its start until it is ready with a warm database, memory
# when it is idle and holds 1,000 tools with the vectors of two embedders. Writes the figures, with the machine and the date, to doc/bench/daemon.txt; fails where one is over its bound.
# usage: scripts/measure.sh
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
command -v python3 >/dev/null || die "python3 is missing; install Python 3.10 or newer"
cd "$root"
scripts/build.sh
out=doc/bench/daemon.txt
mkdir -p doc/bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/measure.py" <<'PYTHON'
import http.server, json, os, pathlib, random, re, statistics, subprocess, sys, threading, time, urllib.request

BINARY, WORK = sys.argv[1], sys.argv[2]
TOOLS, RUNS = 1000, 7
REST = 65  # seconds: memory is given back to the system once a minute at most
ANSWER = b'{"model":"m","message":{"role":"assistant","content":"done"},"done":true}\n'


class Engine(http.server.BaseHTTPRequestHandler):
    """Answers as an Ollama with one embedding model of 768 dimensions would."""
    seen = []  # how many tools each chat had

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(b'{"version":"0","models":[{"name":"nomic-embed-text:latest","model":"nomic-embed-text:latest","digest":"d1","size":1}]}')

    def do_POST(self):
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/api/show":
            self.answer(b'{"model_info":{"nomic-bert.context_length":2048}}')
        elif self.path == "/api/embed":
            texts = [sent["input"]] if isinstance(sent["input"], str) else sent["input"]
            vectors = [[round(r.gauss(0, 1), 4) for _ in range(768)] for r in map(random.Random, texts)]
            self.answer(json.dumps({"embeddings": vectors}).encode())
        else:
            Engine.seen.append(len(sent["tools"]))
            self.answer(ANSWER)

    def log_message(self, *args):
        pass


VERBS = ["create", "list", "find", "update", "delete", "archive", "share", "export", "import", "rename"]
NOUNS = ["invoice", "calendar event", "photo album", "mail draft", "support ticket", "song playlist", "travel booking", "server log", "code review", "recipe"]
PLACES = ["on this laptop", "in the cloud drive", "for a customer", "in the archive", "for the team", "by its label", "since yesterday", "in bulk", "on a schedule", "as a template"]


def tool(i):
    verb, noun, place = VERBS[i % 10], NOUNS[i // 10 % 10], PLACES[i // 100]
    properties = {f"{noun.split()[-1]}_id": {"type": "string", "description": f"identifier of the {noun}"},
                  "limit": {"type": "integer", "description": f"how many to {verb} at most"},
                  "label": {"type": ["string", "null"], "enum": ["home", "work", None]}}
    return {"type": "function", "function": {
        "name": f"{verb}_{noun.replace(' ', '_')}_{place.split()[-1]}",
        "description": f"{verb.capitalize()} one {noun} or several {place}; answers with what was changed and what was not.",
        "parameters": {"type": "object", "properties": properties, "required": [f"{noun.split()[-1]}_id"]}}}


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, address):  # a daemon that ends hangs up
        pass


def start(upstream):
    """Returns the daemon, its address and the milliseconds until it said that it is ready, to a request."""
    environ = {"HOME": WORK, "TOOLBELT_DB": WORK + "/toolbelt.db", "TOOLBELT_LISTEN": "127.0.0.1:0",
               "TOOLBELT_UPSTREAM": upstream, "TOOLBELT_EMBEDDER": "ollama", "TOOLBELT_EMBED_DEADLINE": "2s", "TOOLBELT_BUDGET": "3s"}
    begun = time.perf_counter()
    daemon = subprocess.Popen([BINARY, "serve"], env=environ, cwd=WORK, stdout=subprocess.PIPE, stderr=open(WORK + "/log", "ab"), text=True)
    line = daemon.stdout.readline()
    found = re.search(r"listening on (http://[0-9.:]+)", line)
    if not found:
        daemon.kill()
        sys.exit("the daemon did not start: " + pathlib.Path(WORK, "log").read_text())
    with urllib.request.urlopen(found[1] + "/toolbelt/readyz") as answer:
        answer.read()
    return daemon, found[1], (time.perf_counter() - begun) * 1000


def stop(daemon):
    daemon.terminate()
    if daemon.wait(20) != 0:
        sys.exit("the daemon ended with an error: " + pathlib.Path(WORK, "log").read_text())


def memory(daemon, field="VmRSS"):
    status = pathlib.Path(f"/proc/{daemon.pid}/status").read_text()
    return int(re.search(rf"^{field}:\s+(\d+) kB", status, re.M)[1]) / 1024


def busy(daemon):
    stat = pathlib.Path(f"/proc/{daemon.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(stat[11]) + int(stat[12])


def until_quiet(daemon):
    """Waits until the daemon used at most 10 ms of CPU and no more memory over 5 s."""
    for _ in range(48):
        before = busy(daemon), memory(daemon)
        time.sleep(5)
        if busy(daemon) - before[0] <= 1 and abs(memory(daemon) - before[1]) < 0.5:
            return
    sys.exit("the daemon did not become quiet within four minutes")


def chat(url, tools, text):
    body = json.dumps({"model": "m", "stream": False, "messages": [{"role": "user", "content": text}], "tools": tools})
    request = urllib.request.Request(url + "/api/chat", body.encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        if answer.read() != ANSWER:
            sys.exit("the answer of the chat was changed")
    return len(body)


engine = Server(("127.0.0.1", 0), Engine)
threading.Thread(target=engine.serve_forever, daemon=True).start()
upstream = f"http://127.0.0.1:{engine.server_address[1]}"
tools = [tool(i) for i in range(TOOLS)]
assert len({t["function"]["name"] for t in tools}) == TOOLS

daemon, url, cold = start(upstream)
try:
    fresh = memory(daemon)
    size = chat(url, tools, "rename the photo album of last summer")
    after = memory(daemon)
    until_quiet(daemon)
    chat(url, tools, "archive the invoices of that customer")
    if not all(0 < n < 50 for n in Engine.seen):
        sys.exit(f"the engine saw {Engine.seen} tools")
    if '"embedder": "builtin+nomic-embed-text"' not in pathlib.Path(WORK, "log").read_text():
        sys.exit("the engine's vectors were not used")
    until_quiet(daemon)
    time.sleep(REST)
    idle, most = memory(daemon), memory(daemon, "VmHWM")
finally:
    stop(daemon)
times = []
for _ in range(RUNS):
    daemon, _, ms = start(upstream)
    stop(daemon)
    times.append(ms)

rows = [("binary, stripped", os.path.getsize(BINARY) / 1e6, 40, "MB"),
        (f"start to ready, warm database, median of {RUNS}", statistics.median(times), 300, "ms"),
        (f"memory (RSS) when idle, {TOOLS:,} tools", idle, 80, "MiB")]
print(f"{'':62}{'measured':>10}{'bound':>8}")
for what, got, bound, unit in rows:
    print(f"{what:62}{got:10.1f}{bound:8d} {unit}")
print(f"\nstart to ready: first start with a new database {cold:.0f} ms; warm {', '.join(f'{t:.0f}' for t in times)} ms")
print(f"memory: {fresh:.1f} MiB before the first chat ({size / 1e3:.0f} kB of request), {after:.1f} directly after it, {most:.1f} at most; "
      "builtin vectors and 768-dimensional ones of an engine")
sys.exit(any(got > bound for _, got, bound, _ in rows))
PYTHON
{
  echo "date: $(date -u +%Y-%m-%d)"
  echo "machine: $(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1), $(getconf _NPROCESSORS_ONLN) cores, $(uname -sm)"
  echo "go: $(go env GOVERSION)"
  echo "command: scripts/measure.sh"
  echo
} >"$work/daemon.txt"
python3 "$work/measure.py" "$root/bin/toolbelt" "$work" | tee -a "$work/daemon.txt" || die "a figure is over its bound, or could not be measured"
cp "$work/daemon.txt" "$out"
say "written to $out"
