"""One streamed chat through the Python client "ollama": reads {base, model, user, tools} from stdin, writes what the client saw."""
import json
import sys

import ollama

job = json.load(sys.stdin)
seen = {"chunks": [], "text": "", "calls": [], "finish": ""}
for chunk in ollama.Client(host=job["base"]).chat(
    model=job["model"],
    messages=[{"role": "user", "content": job["user"]}],
    tools=job["tools"],
    stream=True,
    options={"num_predict": 8, "temperature": 0},
):
    seen["chunks"].append(json.dumps(chunk.model_dump(), sort_keys=True))
    seen["text"] += chunk.message.content or ""
    for call in chunk.message.tool_calls or []:
        seen["calls"].append({"name": call.function.name, "arguments": json.dumps(dict(call.function.arguments))})
    if chunk.done:
        seen["finish"] = chunk.done_reason
        seen["prompt_tokens"] = chunk.prompt_eval_count
json.dump(seen, sys.stdout)
