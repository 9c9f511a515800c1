// @google/genai: one session of the Live API with `ai.live.connect`.
import { GoogleGenAI } from '@google/genai';

import { answer, given } from '../program.mjs';
import { Script } from '../script.mjs';

function config({ setup }) {
  const { model, generationConfig, ...rest } = setup;
  return { ...generationConfig, ...rest, sessionResumption: undefined };
}

function send(session, step) {
  if (step.kind === 'text') session.sendClientContent({ turns: step.turns.length ? step.turns : step.text });
  else if (step.kind === 'history') session.sendClientContent({ turns: step.turns, turnComplete: false });
  else if (step.kind === 'audio') session.sendRealtimeInput({ audio: { data: step.data, mimeType: step.mime_type } });
  else if (step.kind === 'video') session.sendRealtimeInput({ video: { data: step.data, mimeType: step.mime_type } });
  else session.sendRealtimeInput({ [step.kind]: step.kind === 'audioStreamEnd' ? true : {} });
}

async function replay(at, say) {
  const script = new Script(at);
  const ai = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: at.base_url, apiVersion: 'v1beta' } });
  let over = false;
  const cancelled = new Set();
  let session;
  const closed = new Promise((resolve, reject) => {
    const callbacks = {
      onmessage(message) {
        say(message, facts(message));
        for (const id of message.toolCallCancellation?.ids ?? []) cancelled.add(id);
        for (const call of message.toolCall?.functionCalls ?? []) run(call);
      },
      onerror(event) {
        if (!over) reject(event.error ?? new Error(event.message));
      },
      onclose({ code, reason }) {
        if (!over) say({ code, reason }, [{ error: { code, message: reason } }]);
        resolve();
      },
    };
    async function run(call) {
      const output = await script.result(call);
      if (cancelled.has(call.id)) return;
      session.sendToolResponse({ functionResponses: given({ id: call.id, name: call.name, response: { output } }) });
    }
    async function talk() {
      session = await ai.live.connect({ model: at.model, config: config(at.script), callbacks });
      for (let step = await script.next(); step; step = await script.next()) send(session, step);
      over = true;
      session.close();
      resolve();
    }
    talk().catch(reject);
  });
  await closed;
}

function* stated(message) {
  const { serverContent: content, usageMetadata: usage } = message;
  for (const { id, name, args } of message.toolCall?.functionCalls ?? []) yield { call: { id: id ?? null, name, arguments: args } };
  for (const id of message.toolCallCancellation?.ids ?? []) yield { cancelled: id };
  for (const { text, thought } of content?.modelTurn?.parts ?? []) if (text) yield thought ? { thought: text } : { text };
  if (content?.inputTranscription?.text) yield { input_transcript: content.inputTranscription.text };
  if (content?.outputTranscription?.text) yield { output_transcript: content.outputTranscription.text };
  if (content?.interrupted) yield { interrupted: true };
  if (usage) {
    yield {
      usage: given({
        input: usage.promptTokenCount,
        output: usage.responseTokenCount,
        thoughts: usage.thoughtsTokenCount,
        total: usage.totalTokenCount,
      }),
    };
  }
  const goesOn = (content?.interactionStatus ?? message.interactionStatus) === 'IN_PROGRESS';
  if (content?.turnComplete && !goesOn) yield { finish: content.turnCompleteReason ?? 'turnComplete' };
}

const facts = (message) => [...stated(message)];

await answer({ module: '@google/genai', from: import.meta.url, replay, providers: ['live'] });
