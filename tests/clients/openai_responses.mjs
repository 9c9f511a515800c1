// Streams one response with openai and prints its events, one JSON object a line.
// usage: node openai_responses.mjs BASE_URL REQUEST

import OpenAI from 'openai';

const [baseURL, request] = process.argv.slice(2);
const client = new OpenAI({ apiKey: 'none', baseURL: `${baseURL}/v1`, maxRetries: 0 });
const print = (line) => console.log(JSON.stringify(line));

try {
  const options = { ...JSON.parse(request), stream: true };
  for await (const event of await client.responses.create(options)) print(event);
  print({ end: 'complete' });
} catch (error) {
  print({ end: 'error', name: error.name, status: error.status ?? null, message: error.message });
}
