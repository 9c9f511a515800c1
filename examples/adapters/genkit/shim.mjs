// @genkit-ai/google-genai: `generateStream` and `generate` of Genkit, with tools that are not run.
import { googleAI } from '@genkit-ai/google-genai';
import { genkit } from 'genkit';

import { answer, given } from '../program.mjs';

const SERVER_TOOLS = ['googleSearch', 'codeExecution', 'urlContext'];

function asked(at, messages) {
  const ai = genkit({ plugins: [googleAI({ apiKey: 'none', baseUrl: at.base_url })] });
  const tools = at.tools.map(({ name, description, parameters }) =>
    ai.dynamicTool({ name, description: description || name, inputJsonSchema: parameters ?? undefined }, async () => ''),
  );
  const { settings, thinking, google, choice, output } = at;
  const native = at.server_tools.flatMap(Object.entries).filter(([name]) => SERVER_TOOLS.includes(name));
  const config = given({
    ...Object.fromEntries(native.map(([name, value]) => [name, name === 'codeExecution' ? true : value])),
    temperature: settings.temperature,
    topP: settings.top_p,
    topK: settings.top_k,
    maxOutputTokens: settings.max_tokens,
    stopSequences: settings.stop,
    ...given({
      seed: settings.seed,
      presencePenalty: settings.presence_penalty,
      frequencyPenalty: settings.frequency_penalty,
    }),
    functionCallingConfig: choice?.name ? { mode: 'ANY', allowedFunctionNames: [choice.name] } : null,
    safetySettings: google.safety && Object.entries(google.safety).map(([category, threshold]) => ({ category, threshold })),
    serviceTier: google.tier,
    thinkingConfig: given({
      includeThoughts: thinking.shown || at.thoughts || null,
      thinkingBudget: thinking.budget,
      thinkingLevel: google.thinking_level,
    }),
  });
  const format = output === 'json' ? { format: 'json' } : output && { format: 'json', jsonSchema: output.schema };
  const options = given({
    model: googleAI.model(at.model),
    system: at.system || null,
    messages,
    tools,
    config,
    toolChoice: choice?.name ? null : choice,
    output: format,
    returnToolRequests: true,
  });
  return [ai, options];
}

function message(words) {
  if (words.system) return { role: 'system', content: [{ text: words.system }] };
  if (words.results) return { role: 'tool', content: words.results.map(result) };
  const [[role, parts]] = Object.entries(words);
  return { role, content: parts.map(part) };
}

function part(words) {
  if (typeof words === 'string') return { text: words };
  const metadata = (signature) => (signature ? { metadata: { thoughtSignature: signature } } : {});
  if ('thought' in words) {
    const own = (words.maker ?? 'google') === 'google';
    return { reasoning: words.thought, ...(own ? metadata(words.signature) : {}) };
  }
  if (words.call) {
    const { id: ref, name, arguments: input, signature } = words.call;
    return { toolRequest: { name, ref, input }, ...metadata(signature) };
  }
  const [{ url, data, type: contentType, detail, start, end, fps }] = Object.values(words);
  const video = given({
    startOffset: start === undefined ? null : `${start}s`,
    endOffset: end === undefined ? null : `${end}s`,
    fps,
  });
  const details = given({
    videoMetadata: Object.keys(video).length ? video : null,
    mediaResolution: detail ? { level: `MEDIA_RESOLUTION_${detail.toUpperCase()}` } : null,
  });
  const media = { url: url ?? `data:${contentType};base64,${data}`, contentType };
  return { media, ...(Object.keys(details).length ? { metadata: details } : {}) };
}

function result({ call: ref, name, value, parts, failed }) {
  if (!parts) return { toolResponse: { name, ref, output: failed ? { error: value } : value } };
  const output = parts.filter((each) => typeof each === 'string').join('');
  return { toolResponse: { name, ref, output, content: parts.filter((each) => typeof each !== 'string').map(part) } };
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
  if (at.turns === 1) return ask(at, at.messages.map(message));
  const whole = await ask(at, [user(at.prompt)]);
  const results = whole.toolRequests.map(({ toolRequest: { name, ref } }, index) => ({
    toolResponse: { name, ref, output: at.results[index] },
  }));
  const history = whole.messages.filter(({ role }) => role !== 'system'); // the options have it too
  const messages = [...history, results.length ? { role: 'tool', content: results } : user(at.say)];
  await ask(at, at.stored ? JSON.parse(JSON.stringify(messages)) : messages);
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
  reads: [
    ...['prompt', 'system', 'messages', 'tools', 'server_tools', 'choice', 'output', 'settings', 'stored'],
    ...['google.safety', 'google.tier', 'google.thinking_level', 'thinking.budget', 'thinking.shown'],
  ],
  replay,
  converse,
});
