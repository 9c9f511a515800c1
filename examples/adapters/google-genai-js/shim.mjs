// @google/genai: `generateContentStream` and `generateContent`, and a chat for two turns.
import { GoogleGenAI } from '@google/genai';

import { answer, given, versionOf } from '../program.mjs';

const BEFORE_2 = versionOf('@google/genai', import.meta.url).startsWith('1.');
const MODES = { auto: 'AUTO', none: 'NONE', required: 'ANY' };

function client(at) {
  return new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: at.base_url } });
}

function config(at) {
  const functionDeclarations = at.tools.map(({ name, description, parameters }) => ({
    name,
    description,
    parametersJsonSchema: parameters ?? undefined,
  }));
  const { settings, thinking, google, output } = at;
  if (google.labels && BEFORE_2) at.skip('its client of the Gemini API has no labels');
  const native = at.server_tools.filter((tool) => !('retrieval' in tool)); // it is only on Vertex AI
  const tools = [...(functionDeclarations.length ? [{ functionDeclarations }] : []), ...native];
  const both = functionDeclarations.length && native.length;
  const calling = at.choice && {
    mode: MODES[at.choice] ?? 'ANY',
    ...(at.choice.name ? { allowedFunctionNames: [at.choice.name] } : {}),
  };
  return given({
    systemInstruction: at.system || null,
    tools: tools.length ? tools : null,
    toolConfig:
      calling || both
        ? given({ functionCallingConfig: calling, includeServerSideToolInvocations: both ? true : null })
        : null,
    thinkingConfig: given({
      includeThoughts: thinking.shown || at.thoughts || null,
      thinkingBudget: thinking.budget,
      thinkingLevel: google.thinking_level,
    }),
    temperature: settings.temperature,
    topP: settings.top_p,
    topK: settings.top_k,
    maxOutputTokens: settings.max_tokens,
    seed: settings.seed,
    stopSequences: settings.stop,
    presencePenalty: settings.presence_penalty,
    frequencyPenalty: settings.frequency_penalty,
    responseMimeType: output ? 'application/json' : null,
    responseJsonSchema: output?.schema,
    safetySettings: google.safety && Object.entries(google.safety).map(([category, threshold]) => ({ category, threshold })),
    labels: google.labels,
    serviceTier: google.tier,
    cachedContent: google.cached,
  });
}

function content(message) {
  if (message.system) return { role: 'user', parts: [{ text: message.system }] }; // it has no later system text
  if (message.results) return { role: 'user', parts: message.results.map(result) };
  const [[role, parts]] = Object.entries(message);
  return { role, parts: parts.map(part) };
}

function part(words) {
  if (typeof words === 'string') return { text: words };
  if ('thought' in words) {
    const own = (words.maker ?? 'google') === 'google';
    return given({ text: words.thought, thought: true, thoughtSignature: own ? words.signature : null });
  }
  if (words.call) {
    const { id, name, arguments: args, signature } = words.call;
    return given({ functionCall: { id, name, args }, thoughtSignature: signature });
  }
  const [medium] = Object.values(words);
  const video = given({
    startOffset: medium.start === undefined ? null : `${medium.start}s`,
    endOffset: medium.end === undefined ? null : `${medium.end}s`,
    fps: medium.fps,
  });
  return given({
    fileData: medium.url ? { fileUri: medium.url, mimeType: medium.type } : null,
    inlineData: medium.data ? { data: medium.data, mimeType: medium.type } : null,
    mediaResolution: medium.detail ? { level: `MEDIA_RESOLUTION_${medium.detail.toUpperCase()}` } : null,
    videoMetadata: Object.keys(video).length ? video : null,
  });
}

function result({ call, name, value, parts, failed }) {
  const text = parts?.filter((each) => typeof each === 'string').join('');
  const media = parts?.filter((each) => typeof each !== 'string').map((each) => part(each));
  return {
    functionResponse: given({
      id: call,
      name,
      response: { [failed ? 'error' : 'output']: parts ? text : value },
      parts: media?.length ? media : null,
    }),
  };
}

async function replay(at, say) {
  await ask(at, at.prompt, say);
}

async function ask(at, contents, say) {
  const asked = { model: at.model, contents, config: config(at) };
  const { models } = client(at);
  if (!at.stream) {
    const whole = await models.generateContent(asked);
    return say(whole, facts(whole));
  }
  for await (const piece of await models.generateContentStream(asked)) say(piece, facts(piece));
}

async function converse(at) {
  if (at.turns === 1) return ask(at, at.messages.map(content), () => {});
  let chat = client(at).chats.create({ model: at.model, config: config(at) });
  const calls = [];
  const send = (message) => (at.stream ? chat.sendMessageStream({ message }) : chat.sendMessage({ message }));
  const first = await send(at.prompt);
  if (at.stream) for await (const piece of first) calls.push(...callsOf(piece));
  else calls.push(...callsOf(first));
  if (at.stored) {
    const history = JSON.parse(JSON.stringify(chat.getHistory()));
    chat = client(at).chats.create({ model: at.model, config: config(at), history });
  }
  const results = calls.map(({ id, name }, index) => ({
    functionResponse: { id: id ?? undefined, name, response: { output: at.results[index] } },
  }));
  for await (const _ of await chat.sendMessageStream({ message: results.length ? results : at.say }));
}

function callsOf(piece) {
  return facts(piece).flatMap((fact) => fact.call ?? []);
}

function facts(piece) {
  const stated = [];
  for (const candidate of piece.candidates ?? []) {
    if (candidate.index) continue;
    for (const { text, thought, functionCall: call } of candidate.content?.parts ?? []) {
      if (typeof text === 'string') stated.push(thought ? { thought: text } : { text });
      if (call?.name && !call.partialArgs && !call.willContinue) {
        stated.push({ call: { id: call.id ?? null, name: call.name, arguments: call.args ?? {} } });
      }
    }
    if (candidate.finishReason) stated.push({ finish: String(candidate.finishReason) });
  }
  if (piece.usageMetadata) {
    const { promptTokenCount, candidatesTokenCount, thoughtsTokenCount, totalTokenCount } = piece.usageMetadata;
    stated.push({
      usage: {
        input: promptTokenCount,
        output: candidatesTokenCount,
        thoughts: thoughtsTokenCount,
        total: totalTokenCount,
      },
    });
  }
  if (piece.promptFeedback?.blockReason) stated.push({ finish: piece.promptFeedback.blockReason });
  return stated;
}

await answer({
  module: '@google/genai',
  from: import.meta.url,
  providers: ['gemini-api', 'vertex-ai'],
  reads: [
    ...['prompt', 'system', 'messages', 'tools', 'server_tools', 'choice', 'output', 'settings', 'google', 'stored'],
    ...['thinking.budget', 'thinking.shown'],
  ],
  replay,
  converse,
});
