// Streams one answer with @google/genai and prints what its application would see, one JSON object a line.
// usage: node genai.mjs BASE_URL MODEL PROMPT

import { GoogleGenAI } from '@google/genai';

const [baseUrl, model, contents] = process.argv.slice(2);
const ai = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl, apiVersion: 'v1beta' } });
const print = (line) => console.log(JSON.stringify(line));

try {
  for await (const response of await ai.models.generateContentStream({ model, contents })) {
    for (const part of response.candidates?.[0]?.content?.parts ?? []) print({ part });
    if (response.usageMetadata) print({ usage: response.usageMetadata });
  }
  print({ end: 'complete' });
} catch (error) {
  print({ error: error.name, status: error.status ?? null, message: error.message });
}
