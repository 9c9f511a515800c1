// Streams one interaction with @google/genai and prints its events, one JSON object a line.
// usage: node interactions.mjs BASE_URL REQUEST

import { GoogleGenAI } from '@google/genai';

const [baseUrl, request] = process.argv.slice(2);
const ai = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl, retryOptions: { attempts: 1 } } });
const print = (line) => console.log(JSON.stringify(line));

try {
  const options = { ...JSON.parse(request), stream: true };
  for await (const event of await ai.interactions.create(options)) print(event);
  print({ end: 'complete' });
} catch (error) {
  print({ end: 'error', name: error.name, status: error.status ?? null, message: error.message });
}
