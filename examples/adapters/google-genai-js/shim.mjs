// @google/genai: `generateContentStream` and `generateContent`, and a chat for two turns.
import { GoogleGenAI } from '@google/genai';

import { answer } from '../program.mjs';

function client(at) {
  return new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: at.base_url } });
}

function config(at) {
  const functionDeclarations = at.tools.map(({ name, description, parameters }) => ({
    name,
    description,
    parametersJsonSchema: parameters,
  }));
  return {
    thinkingConfig: { includeThoughts: true },
    ...(functionDeclarations.length ? { tools: [{ functionDeclarations }] } : {}),
  };
}

async function replay(at, say) {
  const asked = { model: at.model, contents: at.prompt, config: config(at) };
  const { models } = client(at);
  if (!at.stream) {
    const whole = await models.generateContent(asked);
    return say(whole, facts(whole));
  }
  for await (const piece of await models.generateContentStream(asked)) say(piece, facts(piece));
}

async function converse(at) {
  const chat = client(at).chats.create({ model: at.model, config: config(at) });
  const calls = [];
  const send = (message) => (at.stream ? chat.sendMessageStream({ message }) : chat.sendMessage({ message }));
  const first = await send(at.prompt);
  if (at.stream) for await (const piece of first) calls.push(...callsOf(piece));
  else calls.push(...callsOf(first));
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

await answer({ module: '@google/genai', from: import.meta.url, replay, converse });
