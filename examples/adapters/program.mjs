// The loop of an adapter program: exchanges in on stdin, answers out on the descriptor HARNESS_OUT.
import { readFileSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const out = Number(process.env.HARNESS_OUT ?? 1);

function write(object) {
  const replace = (_, value) => (value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value);
  let line = Buffer.from(JSON.stringify(object, replace) + '\n');
  while (line.length) {
    try {
      line = line.subarray(writeSync(out, line));
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error; // the pipe is full
    }
  }
}

class Skipped extends Error {}

function raisedBy(error) {
  return {
    type: error?.name ?? typeof error,
    message: String(error?.message ?? error),
    code: error?.status ?? error?.statusCode ?? error?.code ?? null,
    traceback: error?.stack ?? '',
  };
}

/** Answers each line with the events that `replay(at, say)` says, each with its facts. A line of
 *  the second turn calls `converse(at)`. `at.skip(reason)` ends both: the adapter can't ask for this. */
export async function answer({ module, from, replay, converse }) {
  let stray = null; // an error that nobody awaited
  process.on('unhandledRejection', (error) => (stray ??= error));
  process.on('uncaughtException', (error) => (stray ??= error));
  write({ hello: 1, name: module, version: versionOf(module, from), turns: converse ? 2 : 1 });
  for await (const line of createInterface({ input: process.stdin })) {
    const at = JSON.parse(line);
    at.skip = (reason) => {
      throw new Skipped(reason);
    };
    const native = [];
    const facts = [];
    let raised = null;
    stray = null;
    try {
      await (at.turn === 2 ? converse : replay)(at, (event, stated) => {
        native.push(event);
        facts.push(stated);
      });
      raised = stray;
    } catch (error) {
      raised = error;
    }
    if (raised instanceof Skipped) write({ id: at.id, skipped: raised.message });
    else write({ id: at.id, native, facts, raised: raised && raisedBy(raised) });
  }
  process.exit(0); // whatever the client keeps open
}

function versionOf(module, from) {
  const main = createRequire(from).resolve(module);
  const folder = main.slice(0, main.lastIndexOf(`node_modules/${module}/`));
  return JSON.parse(readFileSync(`${folder}node_modules/${module}/package.json`)).version;
}
