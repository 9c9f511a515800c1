// @genkit-ai/google-genai: `generateStream` and `generate` of Genkit, with tools that are not run.
import { googleAI } from '@genkit-ai/google-genai';
import { genkit } from 'genkit';

import { answer } from '../program.mjs';

function asked(at, messages) {
  const ai = genkit({ plugins: [googleAI({ apiKey: 'none', baseUrl: at.base_url })] });
  const tools = at.tools.map(({ name, description, parameters }) =>
    ai.dynamicTool({ name, description: description || name, inputJsonSchema: parameters }, async () => ''),
  );
  const config = { thinkingConfig: { includeThoughts: true } };
  return [ai, { model: googleAI.model(at.model), messages, tools, config, returnToolRequests: true }];
}

async function ask(at, messages, say = () => {}) {
  const [ai, options] = asked(at, messages);
  if (!at.stream) return ai.generate(options);
  const { stream, response } = ai.generateStream(options);
  response.catch(() => {}); // the stream throws it too
  for await (const chunk of stream) say(chunk.toJSON(), chunk.content.flatMap(facts));
  return response;
}

async function replay(at, say) {
  const whole = await ask(at, [user(at.prompt)], say);
  const { inputTokens: input, outputTokens: output, thoughtsTokens: thoughts, totalTokens: total } = whole.usage ?? {};
  say(whole.toJSON(), [
    ...(at.stream ? [] : (whole.message?.content ?? []).flatMap(facts)),
    { finish: whole.finishReason ?? null },
    ...((total ?? output ?? input) === undefined ? [] : [{ usage: { input, output, thoughts, total } }]),
  ]);
}

async function converse(at) {
  const whole = await ask(at, [user(at.prompt)]);
  const results = whole.toolRequests.map(({ toolRequest: { name, ref } }, index) => ({
    toolResponse: { name, ref, output: at.results[index] },
  }));
  await ask(at, [...whole.messages, results.length ? { role: 'tool', content: results } : user(at.say)]);
}

function user(text) {
  return { role: 'user', content: [{ text }] };
}

function facts({ text, reasoning, toolRequest: call }) {
  if (text) return [{ text }];
  if (reasoning) return [{ thought: reasoning }];
  return call ? [{ call: { id: call.ref ?? null, name: call.name, arguments: call.input ?? {} } }] : [];
}

await answer({
  module: '@genkit-ai/google-genai',
  from: import.meta.url,
  providers: ['gemini-api', 'vertex-ai'],
  replay,
  converse,
});
