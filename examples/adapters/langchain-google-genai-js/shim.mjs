// @langchain/google-genai: `ChatGoogleGenerativeAI.stream` and `invoke`.
import {
  AIMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
} from '@langchain/core/messages';
import { ChatGoogleGenerativeAI } from '@langchain/google-genai';

import { answer, given as withoutNull, versionOf } from '../program.mjs';

const BEFORE_2 = versionOf('@langchain/google-genai', import.meta.url).startsWith('1.');
const CHOICES = { auto: 'auto', none: 'none', required: 'any' };
const SIGNATURES = '__gemini_function_call_thought_signatures__';

async function* ask(at, messages) {
  const { settings, thinking, google, output, choice } = at;
  const functions = at.tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: withoutNull({ name, description, parameters: parameters ?? { type: 'object', properties: {} } }),
  }));
  let model = new ChatGoogleGenerativeAI(
    withoutNull({
      model: at.model,
      apiKey: 'none',
      baseUrl: at.base_url,
      maxRetries: 0,
      temperature: settings.temperature,
      topP: settings.top_p,
      topK: settings.top_k,
      maxOutputTokens: settings.max_tokens,
      stopSequences: settings.stop,
      safetySettings: google.safety && Object.entries(google.safety).map(([category, threshold]) => ({ category, threshold })),
      json: output ? true : null,
      thinkingConfig: withoutNull({
        includeThoughts: thinking.shown || at.thoughts || null,
        thinkingBudget: thinking.budget,
        thinkingLevel: google.thinking_level,
      }),
    }),
  );
  const tools = [...functions, ...at.server_tools];
  const options = withoutNull({
    tool_choice: choice?.name ?? CHOICES[choice],
    responseSchema: output?.schema,
  });
  if (tools.length) model = model.bindTools(tools, options);
  else if (output?.schema) model = model.withConfig({ responseSchema: output.schema });
  if (at.stream) yield* await model.stream(messages);
  else yield await model.invoke(messages);
}

function system(at) {
  return at.system ? [new SystemMessage(at.system)] : [];
}

function messagesOf(at, message) {
  if (message.system) return [new SystemMessage(message.system)];
  const media = (message.user ?? []).flatMap((part) => (typeof part === 'string' ? [] : Object.values(part)));
  if (media.some((medium) => 'detail' in medium)) at.skip('it has no details of media');
  if (message.user) return [new HumanMessage({ content: message.user.map((part) => block(part)) })];
  if (message.results) return message.results.map(result);
  const calls = message.model.flatMap((part) => part.call ?? []);
  const signed = calls.filter(({ signature }) => signature).map(({ id, signature }) => [id, signature]);
  return [
    new AIMessage({
      content: message.model.filter((part) => !part.call).map(block),
      tool_calls: calls.map(({ id, name, arguments: args }) => ({ id, name, args })),
      additional_kwargs: signed.length ? { [SIGNATURES]: Object.fromEntries(signed) } : {},
    }),
  ];
}

function block(part) {
  if (typeof part === 'string') return { type: 'text', text: part };
  if ('thought' in part) {
    const own = (part.maker ?? 'google') === 'google';
    return withoutNull({ type: 'thinking', thinking: part.thought, signature: own ? part.signature : null });
  }
  const [[kind, { url, data, type }]] = Object.entries(part);
  if (BEFORE_2) return withoutNull({ type: kind, source_type: url ? 'url' : 'base64', url, data, mime_type: type });
  return url ? { type: kind, url, mimeType: type } : { type: kind, data, mimeType: type };
}

function result({ call, name, value, parts, failed }) {
  const content = parts ? parts.map(block) : typeof value === 'string' ? value : JSON.stringify(value);
  return new ToolMessage({ content, tool_call_id: call, name, status: failed ? 'error' : 'success' });
}

async function replay(at, say) {
  let whole = null;
  let given = [];
  for await (const piece of ask(at, [...system(at), new HumanMessage(at.prompt)])) {
    whole = whole?.concat(piece) ?? piece;
    const calls = callsOf(whole); // the application reads them from the sum of the pieces
    const fresh = calls.filter((call, index) => JSON.stringify(call) !== JSON.stringify(given[index]));
    say(piece.toDict(), [...texts(piece), ...fresh]);
    given = calls;
  }
  if (whole) say(whole.toDict(), end(whole));
}

async function converse(at) {
  if (at.turns === 1) {
    for await (const _ of ask(at, [...system(at), ...at.messages.flatMap((message) => messagesOf(at, message))]));
    return;
  }
  let messages = [...system(at), new HumanMessage(at.prompt)];
  let whole = null;
  for await (const piece of ask(at, messages)) whole = whole?.concat(piece) ?? piece;
  const results = whole.tool_calls.map(
    ({ id, name }, index) => new ToolMessage({ content: at.results[index], tool_call_id: id, name }),
  );
  messages.push(whole, ...(results.length ? results : [new HumanMessage(at.say)]));
  if (at.stored) {
    const saved = JSON.stringify(mapChatMessagesToStoredMessages(messages));
    messages = mapStoredMessagesToChatMessages(JSON.parse(saved));
  }
  for await (const _ of ask(at, messages));
}

function texts({ content }) {
  if (typeof content === 'string') return content ? [{ text: content }] : [];
  return content.flatMap(({ type, text, thinking }) => {
    if (type === 'thinking') return [{ thought: thinking }];
    return type === 'text' ? [{ text }] : [];
  });
}

function callsOf({ tool_calls: calls }) {
  return (calls ?? []).map(({ id, name, args }) => ({ call: { id: id ?? null, name, arguments: args } }));
}

function end({ response_metadata: metadata, additional_kwargs: more, usage_metadata: usage }) {
  const reason = metadata?.finishReason ?? more?.finishReason;
  const stated = reason ? [{ finish: String(reason) }] : [];
  if (usage) {
    stated.push({
      usage: {
        input: usage.input_tokens,
        output: usage.output_tokens,
        thoughts: usage.output_token_details?.reasoning,
        total: usage.total_tokens,
      },
    });
  }
  return stated;
}

await answer({
  module: '@langchain/google-genai',
  from: import.meta.url,
  providers: ['gemini-api', 'vertex-ai'],
  reads: [
    ...['prompt', 'system', 'messages', 'tools', 'server_tools', 'choice', 'output', 'stored'],
    ...['temperature', 'top_p', 'top_k', 'max_tokens', 'stop'].map((name) => `settings.${name}`),
    ...['google.safety', 'google.thinking_level', 'thinking.budget', 'thinking.shown'],
  ],
  replay,
  converse,
});
