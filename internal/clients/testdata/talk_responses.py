"""A conversation through the Python client "openai", by responses: reads a talk from stdin, writes what the client saw."""
import json
import sys

import openai

job = json.load(sys.stdin)
seen = {"steps": [], "ids": []}
client = openai.OpenAI(base_url=job["base"] + "/v1", api_key="none", max_retries=0)
tools = [{"type": "function", "strict": False, **tool["function"]} for tool in job["tools"]]
items = []


def answer():
    request = dict(model=job["model"], input=items, tools=tools)
    if not job["stream"]:
        return client.responses.create(**request)
    last = None
    for event in client.responses.create(**request, stream=True):
        if event.type == "response.completed":
            last = event.response
    return last


for user in job["users"]:
    items.append({"role": "user", "content": user})
    for _ in range(6):
        response = answer()
        step = {"text": response.output_text, "calls": [], "finish": response.status}
        step["prompt_tokens"], step["output_tokens"] = response.usage.input_tokens, response.usage.output_tokens
        results = []
        for item in response.output:
            if item.type not in ("message", "function_call"):
                continue
            items.append(item.model_dump(exclude_none=True))
            if item.type == "function_call":
                step["calls"].append({"name": item.name, "arguments": item.arguments})
                seen["ids"].append(item.call_id)
                results.append({"type": "function_call_output", "call_id": item.call_id, "output": job["results"][item.name]})
        items += results
        seen["steps"].append(step)
        if not results:
            break
json.dump(seen, sys.stdout)
