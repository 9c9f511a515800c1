// @ai-sdk/google through the AI SDK: `streamText` and `generateText`, with tools that are not run.
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { generateText, jsonSchema, streamText, tool } from 'ai';

import { answer } from '../program.mjs';

function asked(at) {
  const google = createGoogleGenerativeAI({ apiKey: 'none', baseURL: `${at.base_url}/v1beta` });
  return {
    model: google(at.model),
    maxRetries: 0,
    onError: () => {}, // the errors come as parts of the stream
    providerOptions: { google: { thinkingConfig: { includeThoughts: true } } },
    tools: Object.fromEntries(
      at.tools.map(({ name, description, parameters }) => [
        name,
        tool({ description, inputSchema: jsonSchema(parameters) }),
      ]),
    ),
  };
}

async function replay(at, say) {
  if (!at.stream) {
    const whole = await generateText({ ...asked(at), prompt: at.prompt });
    const { content, usage, finishReason, rawFinishReason, providerMetadata } = whole;
    say({ content, usage, finishReason, rawFinishReason, providerMetadata }, [
      ...content.flatMap(facts),
      ...facts({ type: 'finish', rawFinishReason, finishReason, totalUsage: usage }),
    ]);
    return;
  }
  for await (const part of streamText({ ...asked(at), prompt: at.prompt }).fullStream) {
    const { request, ...native } = part; // `request` is the whole request
    say(native, facts(part));
  }
}

async function converse(at) {
  const messages = [{ role: 'user', content: at.prompt }];
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
  await streamText({ ...asked(at), messages }).consumeStream();
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

await answer({ module: '@ai-sdk/google', from: import.meta.url, replay, converse });
