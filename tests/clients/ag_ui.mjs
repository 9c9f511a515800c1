// Reads runs with @ag-ui/client. Each line of stdin is the body of an answer as a JSON string; the line
// that is printed for it has the messages, the last outcome, the error of the run and the client's refusal.
// usage: node ag_ui.mjs

import { HttpAgent } from '@ag-ui/client';
import { createInterface } from 'node:readline';

let warnings = [];
console.warn = (...words) => warnings.push(words.join(' '));
console.error = () => {};

for await (const line of createInterface({ input: process.stdin })) {
  const seen = { outcome: null, error: null, refusal: null };
  warnings = [];
  const headers = { 'content-type': 'text/event-stream' };
  const agent = new HttpAgent({ url: 'http://127.0.0.1/', fetch: async () => new Response(JSON.parse(line), { headers }) });
  const subscriber = {
    onRunFinishedEvent: ({ event }) => { seen.outcome = event.outcome ?? { type: 'success' }; },
    onRunErrorEvent: ({ event }) => { seen.error = event.message; },
    onRunFailed: ({ error }) => { seen.refusal = error.message; },
  };
  try {
    await agent.runAgent({}, subscriber);
  } catch (error) {
    seen.refusal = error.message;
  }
  const dropped = warnings.filter((text) => text.includes('Dropping') || text.includes('Removed unrecognised material'));
  process.stdout.write(`${JSON.stringify({ messages: agent.messages, ...seen, dropped })}\n`);
}
