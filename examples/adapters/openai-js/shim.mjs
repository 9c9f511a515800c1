// openai at Google's OpenAI-compatible endpoint: `chat.completions.stream` and `create`.
import OpenAI from 'openai';

import { READS, firstOf, googleOf, messagesOf, optionsOf } from '../chat.mjs';
import { answer } from '../program.mjs';

function completions(at) {
  const baseURL = `${at.base_url}/v1beta/openai`;
  return new OpenAI({ apiKey: 'none', baseURL, maxRetries: 0 }).chat.completions;
}

function asked(at, messages) {
  const google = googleOf(at);
  return {
    model: at.model,
    messages,
    ...optionsOf(at),
    ...(Object.keys(google).length ? { extra_body: { google } } : {}),
    ...(at.stream ? { stream_options: { include_usage: true } } : {}),
  };
}

async function replay(at, say) {
  const messages = firstOf(at);
  if (!at.stream) {
    const whole = await completions(at).create(asked(at, messages));
    return say(whole, facts(whole));
  }
  const given = new Set();
  const stream = completions(at).stream(asked(at, messages));
  const done = []; // the calls that the event before the next chunk has ended
  stream.on('tool_calls.function.arguments.done', (event) => {
    if (given.has(event.index)) return;
    given.add(event.index);
    const { message } = stream.currentChatCompletionSnapshot.choices[0];
    done.push([event, [call(message.tool_calls[event.index])]]);
  });
  stream.on('chunk', (chunk) => {
    for (const each of done.splice(0)) say(...each);
    say(chunk, facts(chunk));
  });
  const whole = await stream.finalChatCompletion().finally(() => {
    for (const each of done.splice(0)) say(...each);
  });
  const calls = whole.choices[0]?.message.tool_calls ?? [];
  say(whole, calls.filter((_, index) => !given.has(index)).map(call));
}

async function converse(at) {
  if (at.turns === 1) return send(at, messagesOf(at));
  const messages = firstOf(at);
  const whole = await send(at, messages);
  const { message } = whole.choices[0];
  const results = (message.tool_calls ?? []).map(({ id }, index) => ({
    role: 'tool',
    tool_call_id: id,
    content: at.results[index],
  }));
  messages.push(message, ...(results.length ? results : [{ role: 'user', content: at.say }]));
  await send({ ...at, stream: false }, at.stored ? JSON.parse(JSON.stringify(messages)) : messages);
}

async function send(at, messages) {
  return at.stream
    ? completions(at).stream(asked(at, messages)).finalChatCompletion()
    : completions(at).create(asked(at, messages));
}

function facts({ choices, usage }) {
  const stated = [];
  for (const { index, delta, message, finish_reason: reason } of choices ?? []) {
    if (index) continue;
    const { content, refusal, extra_content: extra, tool_calls: calls } = delta ?? message ?? {};
    // Google marks the deltas of thoughts. It also marks signatures, and messages with thoughts.
    const isThought = delta && extra?.google?.thought && !extra.google.thought_signature;
    if (content) stated.push(isThought ? { thought: content } : { text: content });
    if (refusal) stated.push({ text: refusal });
    if (message) stated.push(...(calls ?? []).map(call));
    if (reason) stated.push({ finish: reason });
  }
  if (usage) {
    stated.push({
      usage: {
        input: usage.prompt_tokens,
        output: usage.completion_tokens,
        thoughts: usage.completion_tokens_details?.reasoning_tokens,
        total: usage.total_tokens,
      },
    });
  }
  return stated;
}

function call({ id, function: { name, arguments: json } }) {
  return { call: { id: id ?? null, name, arguments: json } };
}

await answer({ module: 'openai', from: import.meta.url, providers: ['openai-compat'], reads: READS, replay, converse });
