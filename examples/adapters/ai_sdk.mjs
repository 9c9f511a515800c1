// What an application with the AI SDK makes of a question: messages and settings.
import { given } from './program.mjs';

/** All messages. `provider`: the name of the provider's options, which a signature is in. */
export function messagesOf(at, provider) {
  return [...systemOf(at), ...at.messages.map((message) => messageOf(at, message, provider))];
}

/** The messages of a conversation that begins with a prompt. */
export function firstOf(at) {
  return [...systemOf(at), { role: 'user', content: at.prompt }];
}

function systemOf(at) {
  return at.system ? [{ role: 'system', content: at.system }] : [];
}

/** The settings and the choice, with the words of the AI SDK. */
export function settingsOf({ settings, choice }) {
  return given({
    temperature: settings.temperature,
    topP: settings.top_p,
    topK: settings.top_k,
    maxOutputTokens: settings.max_tokens,
    seed: settings.seed,
    stopSequences: settings.stop,
    presencePenalty: settings.presence_penalty,
    frequencyPenalty: settings.frequency_penalty,
    toolChoice: choice?.name ? { type: 'tool', toolName: choice.name } : choice,
  });
}

/** What the adapter reads of a question with these two. */
export const READS = ['prompt', 'system', 'messages', 'tools', 'choice', 'settings'];

function messageOf(at, message, provider) {
  if (message.system) return { role: 'system', content: message.system };
  if (message.results) return { role: 'tool', content: message.results.map(result) };
  const [[role, parts]] = Object.entries(message);
  return { role: role === 'model' ? 'assistant' : role, content: parts.map((each) => part(at, each, provider)) };
}

function signed(signature, provider) {
  return signature ? { providerOptions: { [provider]: { thoughtSignature: signature } } } : {};
}

function part(at, words, provider) {
  if (typeof words === 'string') return { type: 'text', text: words };
  if ('thought' in words) {
    const own = (words.maker ?? 'google') === 'google';
    return { type: 'reasoning', text: words.thought, ...(own ? signed(words.signature, provider) : {}) };
  }
  if (words.call) {
    const { id, name, arguments: input, signature } = words.call;
    return { type: 'tool-call', toolCallId: id, toolName: name, input, ...signed(signature, provider) };
  }
  const [medium] = Object.values(words);
  if ('detail' in medium || 'start' in medium) at.skip('it has no details of media');
  const data = medium.url ? new URL(medium.url) : Buffer.from(medium.data, 'base64');
  return { type: 'file', data, mediaType: medium.type, ...(medium.name ? { filename: medium.name } : {}) };
}

function result({ call, name, value, parts, failed }) {
  return { type: 'tool-result', toolCallId: call, toolName: name, output: outputOf({ value, parts, failed }) };
}

function outputOf({ value, parts, failed }) {
  if (parts) {
    const content = parts.map((each) => {
      if (typeof each === 'string') return { type: 'text', text: each };
      const [{ data, type }] = Object.values(each);
      return { type: 'media', data, mediaType: type };
    });
    return { type: 'content', value: content };
  }
  const isText = typeof value === 'string';
  if (failed) return { type: isText ? 'error-text' : 'error-json', value };
  return { type: isText ? 'text' : 'json', value };
}
