"""A conversation through the Python client "openai", by chat completions: reads a talk from stdin, writes what the client saw."""
import json
import sys

import openai

job = json.load(sys.stdin)
seen = {"steps": [], "ids": []}
client = openai.OpenAI(base_url=job["base"] + "/v1", api_key="none", max_retries=0)
messages = []


def answer():
    """Returns message, finish reason and usage of one answer."""
    request = dict(model=job["model"], messages=messages, tools=job["tools"])
    if job["stream"]:
        with client.chat.completions.stream(**request, stream_options={"include_usage": True}) as stream:
            whole = stream.get_final_completion()
    else:
        whole = client.chat.completions.create(**request)
    return whole.choices[0].message, whole.choices[0].finish_reason, whole.usage


for user in job["users"]:
    messages.append({"role": "user", "content": user})
    for _ in range(6):
        message, finish, usage = answer()
        step = {"text": message.content or "", "calls": [], "finish": finish, "prompt_tokens": usage.prompt_tokens, "output_tokens": usage.completion_tokens}
        back = {"role": "assistant", "content": message.content}
        results = []
        for call in message.tool_calls or []:
            function = {"name": call.function.name, "arguments": call.function.arguments}
            step["calls"].append(function)
            seen["ids"].append(call.id)
            back.setdefault("tool_calls", []).append({"id": call.id, "type": "function", "function": function})
            results.append({"role": "tool", "tool_call_id": call.id, "content": job["results"][call.function.name]})
        messages += [back, *results]
        seen["steps"].append(step)
        if not results:
            break
json.dump(seen, sys.stdout)
