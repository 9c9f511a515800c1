// Streams one chat completion with openai and prints its messages, one JSON object a line.
// usage: node openai.mjs BASE_URL REQUEST

import OpenAI from 'openai';

const [baseURL, request] = process.argv.slice(2);
const client = new OpenAI({ apiKey: 'none', baseURL: `${baseURL}/v1beta/openai`, maxRetries: 0 });
const print = (line) => console.log(JSON.stringify(line));

try {
  const options = { ...JSON.parse(request), stream: true };
  for await (const message of await client.chat.completions.create(options)) print(message);
  print({ end: 'complete' });
} catch (error) {
  print({ end: 'error', name: error.name, status: error.status ?? null, message: error.message });
}
