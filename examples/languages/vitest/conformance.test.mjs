import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

const CASSETTES = ['text', 'framing', 'parallel-calls', 'finish-reasons'].map((name) => `gemini-api/${name}`);

test('the adapter keeps all that Gemini sent', { timeout: 120_000 }, () => {
  const judge = ['gemini-conformance', 'judge', 'serve: node program.mjs', '--questions', 'none'];
  const { status, stdout, stderr } = spawnSync('uvx', [...judge, '--cassettes', ...CASSETTES], { encoding: 'utf8' });
  expect(status, `${stdout}${stderr}`).toBe(0);
});
