// Holds a session of the Live API with @google/genai and prints what its application would see, one JSON object a line.
// usage: node live.mjs BASE_URL MODEL MODALITY PROMPT…

import { GoogleGenAI } from '@google/genai';

const [baseUrl, model, modality, ...prompts] = process.argv.slice(2);
const ai = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl, apiVersion: 'v1beta' } });
const print = (line) => console.log(JSON.stringify(line));

function next() {
  const text = prompts.shift();
  if (text === undefined) session.close();
  else session.sendClientContent({ turns: [{ role: 'user', parts: [{ text }] }] });
}

const callbacks = {
  onmessage({ toolCall, serverContent: content, usageMetadata: usage }) {
    for (const { id, name, args } of toolCall?.functionCalls ?? []) {
      print({ call: name, args });
      session.sendToolResponse({ functionResponses: { id, name, response: { output: 'rain' } } });
    }
    for (const { text } of content?.modelTurn?.parts ?? []) if (text) print({ text });
    if (content?.outputTranscription?.text) print({ spoken: content.outputTranscription.text });
    if (usage) print({ total: usage.totalTokenCount });
    if (content?.turnComplete) next();
  },
  onclose({ code, reason }) {
    print({ close: code, reason });
  },
};
const session = await ai.live.connect({ model, config: { responseModalities: [modality] }, callbacks });
next();
