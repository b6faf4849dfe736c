"""One streamed chat through the Python client "openai": reads {base, model, user, tools} from stdin, writes what the client saw."""
import json
import sys

import openai

job = json.load(sys.stdin)
seen = {"chunks": [], "text": "", "calls": [], "finish": ""}
client = openai.OpenAI(base_url=job["base"] + "/v1", api_key="none", max_retries=0)
for chunk in client.chat.completions.create(
    model=job["model"],
    messages=[{"role": "user", "content": job["user"]}],
    tools=job["tools"],
    stream=True,
    stream_options={"include_usage": True},
    max_tokens=8,
    temperature=0,
):
    seen["chunks"].append(json.dumps(chunk.model_dump(exclude_unset=True), sort_keys=True))
    if chunk.usage:
        seen["prompt_tokens"] = chunk.usage.prompt_tokens
    for choice in chunk.choices:
        seen["text"] += choice.delta.content or ""
        for call in choice.delta.tool_calls or []:
            if call.function.name:
                seen["calls"].append({"name": call.function.name, "arguments": ""})
            seen["calls"][call.index]["arguments"] += call.function.arguments or ""
        seen["finish"] = choice.finish_reason or seen["finish"]
json.dump(seen, sys.stdout)
