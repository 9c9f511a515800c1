// What an application with OpenAI's Chat Completions makes of a question: messages, tools and options.
import { given } from './program.mjs';

/** What the adapter reads of a question with these functions. */
export const READS = [
  ...['prompt', 'system', 'messages', 'tools', 'choice', 'output', 'stored'],
  ...['temperature', 'top_p', 'max_tokens', 'stop', 'seed', 'presence_penalty', 'frequency_penalty'].map((name) => `settings.${name}`),
  ...['thinking.effort', 'thinking.budget', 'thinking.shown', 'google.safety', 'google.labels', 'google.cached'],
];

export function messagesOf(at) {
  return [...systemOf(at), ...at.messages.flatMap(messagesOfOne)];
}

/** The messages of a conversation that begins with a prompt. */
export function firstOf(at) {
  return [...systemOf(at), { role: 'user', content: at.prompt }];
}

function systemOf(at) {
  return at.system ? [{ role: 'system', content: at.system }] : [];
}

export function optionsOf({ tools, choice, output, settings, thinking }) {
  const { temperature, top_p, max_tokens, stop, seed, presence_penalty, frequency_penalty } = settings;
  const format = output === 'json' ? { type: 'json_object' } : output && { type: 'json_schema', json_schema: output };
  return given({
    ...{ temperature, top_p, max_tokens, stop, seed, presence_penalty, frequency_penalty },
    tools: tools.length ? tools.map(tool) : null,
    tool_choice: choice?.name ? { type: 'function', function: choice } : choice,
    response_format: format,
    reasoning_effort: thinking.effort,
  });
}

function tool({ name, description, parameters }) {
  return { type: 'function', function: given({ name, description, parameters }) };
}

/** What Google's compatible endpoint has beside OpenAI's options. */
export function googleOf({ thinking, google, thoughts }) {
  const config = given({ include_thoughts: thinking.shown || thoughts || null, thinking_budget: thinking.budget });
  return given({
    thinking_config: Object.keys(config).length ? config : null,
    safety_settings: google.safety && Object.entries(google.safety).map(([category, threshold]) => ({ category, threshold })),
    labels: google.labels,
    cached_content: google.cached,
  });
}

function messagesOfOne(message) {
  if (message.system) return [{ role: 'system', content: message.system }];
  if (message.user) return [{ role: 'user', content: message.user.flatMap(part) }];
  if (message.results) {
    return message.results.map((result) => ({ role: 'tool', tool_call_id: result.call, content: contentOf(result) }));
  }
  const texts = message.model.filter((each) => typeof each === 'string');
  const calls = message.model.flatMap((each) => each.call ?? []);
  return [
    {
      role: 'assistant',
      content: texts.length ? texts.join('\n') : null,
      ...(calls.length ? { tool_calls: calls.map(call) } : {}),
    },
  ];
}

function call({ id, name, arguments: input, signature }) {
  const extra = signature ? { extra_content: { google: { thought_signature: signature } } } : {};
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input) }, ...extra };
}

function contentOf({ value, parts, failed }) {
  if (parts) return parts.flatMap(part);
  const content = failed ? { error: value } : value;
  return typeof content === 'string' ? content : JSON.stringify(content);
}

function part(words) {
  if (typeof words === 'string') return [{ type: 'text', text: words }];
  const [[kind, { url, data, type, detail, name }]] = Object.entries(words);
  const place = url ?? `data:${type};base64,${data}`;
  if (kind === 'image') return [{ type: 'image_url', image_url: given({ url: place, detail }) }];
  if (url) return []; // only images can be given by URL
  if (kind === 'audio') return [{ type: 'input_audio', input_audio: { data, format: type.slice(6) } }];
  return [{ type: 'file', file: given({ file_data: place, filename: name }) }];
}
