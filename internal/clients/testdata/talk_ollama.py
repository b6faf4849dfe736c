"""A conversation through the Python client "ollama": reads a talk from stdin, writes what the client saw."""
import json
import sys

import ollama

job = json.load(sys.stdin)
seen = {"steps": [], "ids": []}
client = ollama.Client(host=job["base"])
messages = []


def answer():
    request = dict(model=job["model"], messages=messages, tools=job["tools"], stream=job["stream"])
    if not job["stream"]:
        return [client.chat(**request)]
    return client.chat(**request)


for user in job["users"]:
    messages.append({"role": "user", "content": user})
    for _ in range(6):
        step = {"text": "", "calls": [], "finish": ""}
        calls = []
        for chunk in answer():
            step["text"] += chunk.message.content or ""
            calls += chunk.message.tool_calls or []
            if chunk.done:
                step["finish"] = chunk.done_reason
                step["prompt_tokens"], step["output_tokens"] = chunk.prompt_eval_count, chunk.eval_count
        messages.append({"role": "assistant", "content": step["text"], "tool_calls": calls})
        for call in calls:
            step["calls"].append({"name": call.function.name, "arguments": json.dumps(dict(call.function.arguments))})
            messages.append({"role": "tool", "tool_name": call.function.name, "content": job["results"][call.function.name]})
        seen["steps"].append(step)
        if not calls:
            break
json.dump(seen, sys.stdout)
