import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { gateway } from './gateway.mjs';

const GEMINI = process.env.HARNESS_GATEWAY_ADDRESS ?? '127.0.0.1:8790'; // the harness answers here in place of Gemini
const CASSETTES = ['text', 'framing', 'parallel-calls', 'finish-reasons'].map((name) => `gemini-api/${name}`);

test('the gateway keeps all that Gemini sent', async () => {
  const server = gateway(`http://${GEMINI}`).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const target = `gateway openai-chat: http://127.0.0.1:${server.address().port}?turns=1&thoughts=false&language=javascript`;
  const judge = ['gemini-conformance', 'judge', target, '--questions', 'none', '--cassettes', ...CASSETTES];
  const [status, output] = await new Promise((resolve) =>
    execFile('uvx', judge, (error, stdout, stderr) => resolve([error ? error.code : 0, `${stdout}${stderr}`])),
  );
  server.close();
  server.closeAllConnections();
  assert.equal(status, 0, output);
});
