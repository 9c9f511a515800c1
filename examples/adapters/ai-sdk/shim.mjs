// @ai-sdk/google through the AI SDK: `streamText` and `generateText`, with tools that are not run.
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { Output, generateText, jsonSchema, streamText, tool } from 'ai';

import { READS, firstOf, messagesOf, settingsOf } from '../ai_sdk.mjs';
import { answer, given } from '../program.mjs';

function asked(at) {
  const google = createGoogleGenerativeAI({ apiKey: 'none', baseURL: `${at.base_url}/v1beta` });
  return {
    model: google(at.model),
    maxRetries: 0,
    onError: () => {}, // the errors come as parts of the stream
    ...settingsOf(at),
    ...outputOf(at),
    providerOptions: { google: options(at) },
    tools: Object.fromEntries([
      ...at.server_tools.flatMap(Object.entries).flatMap(([name, value]) => SERVER_TOOLS[name]?.(google.tools, value) ?? []),
      ...at.tools.map(({ name, description, parameters }) => [
        name,
        tool({ description, inputSchema: jsonSchema(parameters ?? { type: 'object', properties: {} }) }),
      ]),
    ]),
  };
}

const SERVER_TOOLS = {
  googleSearch: (tools, value) => [['google_search', tools.googleSearch(value)]],
  codeExecution: (tools, value) => [['code_execution', tools.codeExecution(value)]],
  urlContext: (tools, value) => [['url_context', tools.urlContext(value)]],
  googleMaps: (tools, value) => [['google_maps', tools.googleMaps(value)]],
  fileSearch: (tools, value) => [['file_search', tools.fileSearch(value)]],
};

function options({ thinking, google, thoughts }) {
  return given({
    thinkingConfig: given({
      includeThoughts: thinking.shown || thoughts || null,
      thinkingBudget: thinking.budget,
      thinkingLevel: google.thinking_level?.toLowerCase(),
    }),
    safetySettings: google.safety && Object.entries(google.safety).map(([category, threshold]) => ({ category, threshold })),
    labels: google.labels,
    serviceTier: google.tier,
    cachedContent: google.cached,
  });
}

function outputOf(at) {
  const { output } = at;
  if (!output) return {};
  if (Output.json) return { output: output.schema ? Output.object({ schema: jsonSchema(output.schema), name: output.name }) : Output.json() };
  if (!output.schema) at.skip('it has no JSON without a schema'); // before version 6 of the AI SDK
  return { experimental_output: Output.object({ schema: jsonSchema(output.schema) }) };
}

async function replay(at, say) {
  if (!at.stream) {
    const whole = await generateText({ ...asked(at), messages: firstOf(at) });
    const { content, usage, finishReason, rawFinishReason, providerMetadata } = whole;
    say({ content, usage, finishReason, rawFinishReason, providerMetadata }, [
      ...content.flatMap(facts),
      ...facts({ type: 'finish', rawFinishReason, finishReason, totalUsage: usage }),
    ]);
    return;
  }
  for await (const part of streamText({ ...asked(at), messages: firstOf(at) }).fullStream) {
    const { request, ...native } = part; // `request` is the whole request
    say(native, facts(part));
  }
}

async function converse(at) {
  if (at.turns === 1) return send(at, messagesOf(at, 'google'));
  const messages = firstOf(at);
  const ask = at.stream ? streamText : generateText;
  const first = ask({ ...asked(at), messages });
  const { toolCalls, response } = at.stream ? first : await first;
  const calls = (await toolCalls).filter((call) => !call.providerExecuted);
  messages.push(...(await response).messages); // with an error for each call of an unknown tool
  const results = calls.flatMap(({ toolCallId, toolName, invalid }, index) =>
    invalid
      ? []
      : { type: 'tool-result', toolCallId, toolName, output: { type: 'text', value: at.results[index] ?? at.say } },
  );
  messages.push(
    results.length ? { role: 'tool', content: results } : { role: 'user', content: at.say },
  );
  await streamText({ ...asked(at), messages: at.stored ? JSON.parse(JSON.stringify(messages)) : messages }).consumeStream();
}

async function send(at, messages) {
  if (at.stream) {
    for await (const { type, error } of streamText({ ...asked(at), messages }).fullStream) if (type === 'error') throw error;
  } else await generateText({ ...asked(at), messages });
}

function facts(part) {
  if (part.type === 'text' || part.type === 'text-delta') return [{ text: part.text }];
  if (part.type === 'reasoning' || part.type === 'reasoning-delta') return [{ thought: part.text }];
  if (part.type === 'tool-call' && !part.providerExecuted) {
    return [{ call: { id: part.toolCallId, name: part.toolName, arguments: part.input } }];
  }
  if (part.type === 'error') {
    const { name, message, responseBody, statusCode } = part.error ?? {};
    return [{ error: { code: statusCode ?? null, message: `${name}: ${message} ${responseBody ?? ''}` } }];
  }
  if (part.type !== 'finish') return [];
  const { inputTokens: input, outputTokens: output, reasoningTokens: thoughts, totalTokens: total } = part.totalUsage;
  const counts = input === undefined ? [] : [{ usage: { input, output, thoughts, total } }];
  return [{ finish: part.rawFinishReason ?? part.finishReason ?? null }, ...counts];
}

await answer({
  module: '@ai-sdk/google',
  from: import.meta.url,
  providers: ['gemini-api', 'vertex-ai'],
  reads: [...READS, 'server_tools', 'output', 'stored', 'google', 'thinking.budget', 'thinking.shown'],
  replay,
  converse,
});
