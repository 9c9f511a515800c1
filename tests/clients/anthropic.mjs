// Streams one message with @anthropic-ai/sdk and prints its events, one JSON object a line.
// usage: node anthropic.mjs BASE_URL REQUEST

import Anthropic from '@anthropic-ai/sdk';

const [baseURL, request] = process.argv.slice(2);
const client = new Anthropic({ apiKey: 'none', baseURL, maxRetries: 0 });
const print = (line) => console.log(JSON.stringify(line));

try {
  const options = { ...JSON.parse(request), stream: true };
  for await (const event of await client.messages.create(options)) print(event);
  print({ end: 'complete' });
} catch (error) {
  print({ end: 'error', name: error.name, status: error.status ?? null, message: error.message });
}
