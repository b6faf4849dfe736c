// A conversation through npm's @ai-sdk/openai: reads a talk from stdin, writes what the client saw. The argument is the API: chat or responses.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const require = createRequire(process.env.TOOLBELT_TEST_NODE + "/");
const { createOpenAI } = require("@ai-sdk/openai");
const { generateText, streamText, tool, jsonSchema, stepCountIs } = require("ai");

const job = JSON.parse(readFileSync(0, "utf8"));
const provider = createOpenAI({ baseURL: job.base + "/v1", apiKey: "none" });
const model = process.argv[2] === "chat" ? provider.chat(job.model) : provider.responses(job.model);
const tools = {};
for (const { function: f } of job.tools) {
  tools[f.name] = tool({ description: f.description, inputSchema: jsonSchema(f.parameters), execute: async () => job.results[f.name] });
}
const seen = { steps: [], ids: [] };
const messages = [];
for (const user of job.users) {
  messages.push({ role: "user", content: user });
  const request = { model, messages, tools, stopWhen: stepCountIs(6), maxRetries: 0, providerOptions: { openai: { store: false } } };
  let steps, response;
  if (job.stream) {
    let failed;
    const result = streamText({ ...request, onError: ({ error }) => { failed = error; } });
    for await (const _ of result.fullStream); // to its end
    if (failed) throw failed;
    steps = await result.steps;
    response = await result.response;
  } else {
    const result = await generateText(request);
    steps = result.steps;
    response = result.response;
  }
  for (const s of steps) {
    seen.steps.push({
      text: s.text, finish: s.finishReason, prompt_tokens: s.usage.inputTokens ?? 0, output_tokens: s.usage.outputTokens ?? 0,
      calls: s.toolCalls.map((c) => ({ name: c.toolName, arguments: JSON.stringify(c.input) })),
    });
    seen.ids.push(...s.toolCalls.map((c) => c.toolCallId));
  }
  messages.push(...response.messages);
}
process.stdout.write(JSON.stringify(seen));
