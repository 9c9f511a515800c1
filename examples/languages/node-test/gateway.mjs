// The gateway under test: a client asks it with OpenAI's Chat Completions, and it asks Gemini. Yours takes its place.
import { createServer } from 'node:http';

const LIMITS = { STOP: 'stop', MAX_TOKENS: 'length' }; // any other reason is a filter's

export function gateway(gemini) {
  return createServer(async (request, response) => {
    try {
      const { model, messages } = JSON.parse(Buffer.concat(await request.toArray()).toString());
      await answer(`${gemini}/v1beta/models/${model}:streamGenerateContent?alt=sse`, messages, response);
    } catch (error) {
      const body = JSON.stringify({ error: { code: error.status ?? 502, message: error.message } });
      if (response.headersSent) response.end(`data: ${body}\n\n`);
      else response.writeHead(error.status ?? 502, { 'content-type': 'application/json' }).end(body);
    }
  });
}

async function answer(address, messages, response) {
  const contents = messages.map(({ role, content }) => ({ role: role === 'user' ? role : 'model', parts: [{ text: content }] }));
  const asked = await fetch(address, { method: 'POST', body: JSON.stringify({ contents }) });
  if (!asked.ok) throw Object.assign(new Error(await asked.text()), { status: asked.status });
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const write = (message) => response.write(`data: ${JSON.stringify({ object: 'chat.completion.chunk', ...message })}\n\n`);
  let calls = 0;
  let usage = null;
  for await (const line of lines(asked.body)) {
    if (!line.startsWith('data:')) continue;
    const { candidates, usageMetadata } = JSON.parse(line.slice(5));
    for (const { functionCall, thought, text } of candidates?.[0]?.content?.parts ?? []) {
      if (functionCall) {
        const { id = `call_${calls}`, name, args = {} } = functionCall;
        const call = { index: calls, id, type: 'function', function: { name, arguments: JSON.stringify(args) } };
        write({ choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: null }] });
        calls += 1;
      } else if (text) {
        write({ choices: [{ index: 0, delta: { [thought ? 'reasoning_content' : 'content']: text }, finish_reason: null }] });
      }
    }
    usage = usageMetadata ?? usage;
    const reason = candidates?.[0]?.finishReason;
    const word = calls && reason === 'STOP' ? 'tool_calls' : (LIMITS[reason] ?? 'content_filter');
    if (reason) write({ choices: [{ index: 0, delta: {}, finish_reason: word }] });
  }
  if (usage) write({ choices: [], usage: tokens(usage) });
  response.end('data: [DONE]\n\n');
}

async function* lines(body) {
  let rest = '';
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const complete = (rest + text).split('\n');
    rest = complete.pop();
    yield* complete;
  }
  yield rest;
}

function tokens({ promptTokenCount = 0, candidatesTokenCount = 0, thoughtsTokenCount = 0, totalTokenCount }) {
  return {
    prompt_tokens: promptTokenCount,
    completion_tokens: candidatesTokenCount + thoughtsTokenCount,
    completion_tokens_details: { reasoning_tokens: thoughtsTokenCount },
    total_tokens: totalTokenCount,
  };
}
