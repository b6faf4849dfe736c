"""A conversation through the Python client "anthropic": reads a talk from stdin, writes what the client saw."""
import json
import sys

import anthropic

job = json.load(sys.stdin)
seen = {"steps": [], "ids": []}
client = anthropic.Anthropic(base_url=job["base"], api_key="none", max_retries=0)
tools = [{"name": f["name"], "description": f["description"], "input_schema": f["parameters"]} for f in (tool["function"] for tool in job["tools"])]
messages = []


def answer():
    request = dict(model=job["model"], max_tokens=500, messages=messages, tools=tools)
    if job["stream"]:
        with client.messages.stream(**request) as stream:
            return stream.get_final_message()
    return client.messages.create(**request)


for user in job["users"]:
    messages.append({"role": "user", "content": user})
    for _ in range(6):
        message = answer()
        step = {"text": "", "calls": [], "finish": message.stop_reason, "output_tokens": message.usage.output_tokens}
        step["prompt_tokens"] = message.usage.input_tokens + (message.usage.cache_read_input_tokens or 0)
        back, results = [], []
        for block in message.content:
            if block.type == "text":
                step["text"] += block.text
                back.append({"type": "text", "text": block.text})
            elif block.type == "tool_use":
                step["calls"].append({"name": block.name, "arguments": json.dumps(block.input)})
                seen["ids"].append(block.id)
                back.append({"type": "tool_use", "id": block.id, "name": block.name, "input": block.input})
                results.append({"type": "tool_result", "tool_use_id": block.id, "content": job["results"][block.name]})
        messages.append({"role": "assistant", "content": back})
        seen["steps"].append(step)
        if not results:
            break
        messages.append({"role": "user", "content": results})
json.dump(seen, sys.stdout)
