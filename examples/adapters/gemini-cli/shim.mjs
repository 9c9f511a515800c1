// The Gemini CLI's core: the turn that its terminal shows, without the terminal. Nothing runs the tools.
import { AuthType, Config, GeminiEventType as Type } from '@google/gemini-cli-core';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { answer } from '../program.mjs';

const folder = mkdtempSync(join(tmpdir(), 'gemini-cli-'));
process.env.GEMINI_CLI_HOME = folder;
process.env.GEMINI_API_KEY = 'none';

// Each answer has a separate session. A session that is not disposed of keeps its listeners, and rebuilds its prompt for every later session.
async function inSession(at, ask) {
  if (!at.stream) at.skip('the Gemini CLI requests only streams');
  const config = new Config({
    sessionId: String(at.id),
    targetDir: folder,
    cwd: folder,
    model: at.model,
    debugMode: false,
    maxAttempts: 1,
    usageStatisticsEnabled: false,
    telemetry: { enabled: false },
  });
  process.env.GOOGLE_GEMINI_BASE_URL = at.base_url;
  try {
    await config.refreshAuth(AuthType.USE_GEMINI);
    await config.initialize();
    await ask(config.getGeminiClient());
  } finally {
    await config.dispose();
  }
}

async function* send(gemini, at, parts) {
  yield* gemini.sendMessageStream(parts, new AbortController().signal, String(at.id));
}

async function replay(at, say) {
  await inSession(at, async (gemini) => {
    for await (const event of send(gemini, at, [{ text: at.prompt }])) say(event, facts(event));
    say({ history: gemini.getHistory() }, []); // signatures are kept here
  });
}

async function converse(at) {
  if (at.turns === 1) return replay(at, () => {});
  await inSession(at, async (gemini) => {
    const results = [];
    for await (const { type, value } of send(gemini, at, [{ text: at.prompt }])) {
      if (type !== Type.ToolCallRequest) continue;
      const response = { output: at.results[results.length] };
      results.push({ functionResponse: { id: value.callId, name: value.name, response } });
    }
    for await (const _ of send(gemini, at, results.length ? results : [{ text: at.say }]));
  });
}

function facts({ type, value }) {
  if (type === Type.Content) return [{ text: value }];
  if (type === Type.Thought) {
    const subject = value.subject && `**${value.subject}**`;
    return [{ thought: subject + value.description }];
  }
  if (type === Type.ToolCallRequest) {
    return [{ call: { id: value.callId, name: value.name, arguments: value.args } }];
  }
  if (type === Type.Error) {
    return [{ error: { code: value.error.status ?? null, message: value.error.message } }];
  }
  if (type === Type.InvalidStream) return [{ error: { code: value.type, message: value.message } }];
  if (type !== Type.Finished) return [];
  const usage = value.usageMetadata && {
    input: value.usageMetadata.promptTokenCount,
    output: value.usageMetadata.candidatesTokenCount,
    thoughts: value.usageMetadata.thoughtsTokenCount,
    total: value.usageMetadata.totalTokenCount,
  };
  return [{ finish: String(value.reason) }, ...(usage ? [{ usage }] : [])];
}

await answer({ module: '@google/gemini-cli-core', from: import.meta.url, reads: ['prompt'], replay, converse });
