// Tells the harness the events of the adapter and the facts in them: one line of JSON for each exchange.
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { ask } from './adapter.mjs';

const FACTS = {
  text: ({ text }) => ({ text }),
  thought: ({ text }) => ({ thought: text }),
  call: ({ id = null, name, args = {} }) => ({ call: { id, name, arguments: args } }),
  usage: ({ promptTokenCount, candidatesTokenCount, thoughtsTokenCount, totalTokenCount }) => ({
    usage: {
      input: promptTokenCount,
      output: candidatesTokenCount,
      thoughts: thoughtsTokenCount,
      total: totalTokenCount,
    },
  }),
  end: ({ reason }) => ({ finish: reason }),
};

function write(object) {
  let line = Buffer.from(`${JSON.stringify(object)}\n`);
  while (line.length) line = line.subarray(writeSync(Number(process.env.HARNESS_OUT), line));
}

const hello = { hello: 1, name: 'my-adapter', version: '1.0', language: 'javascript' };
write({ ...hello, turns: 1, thoughts: false, providers: ['gemini-api'] });
for await (const line of createInterface({ input: process.stdin })) {
  const { id, stream, base_url, model, prompt } = JSON.parse(line);
  if (!stream) {
    write({ id, skipped: 'the adapter asks for streams only' });
    continue;
  }
  const native = [];
  let raised = null;
  try {
    for await (const event of ask(base_url, model, prompt)) native.push(event);
  } catch (error) {
    raised = { type: error.name, message: error.message, code: error.status ?? null };
  }
  write({ id, native, facts: native.map((event) => (FACTS[event.kind] ? [FACTS[event.kind](event)] : [])), raised });
}
