// The adapter under test: asks Gemini, and turns the stream into events. Yours takes its place.

/** Yields `{kind: 'text' | 'thought' | 'call' | 'usage' | 'end' | 'other', …}`. Throws for an HTTP error, for an
 *  error in the stream, and if the connection breaks. */
export async function* ask(baseUrl, model, prompt) {
  const response = await fetch(`${baseUrl}/v1beta/models/${model}:streamGenerateContent?alt=sse`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-goog-api-key': process.env.GEMINI_API_KEY ?? 'none' },
    body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text: prompt }] }] }),
  });
  if (!response.ok) throw failure(response.status, await response.text());
  for await (const line of lines(response.body)) {
    if (!line.startsWith('data:')) continue;
    const { error, promptFeedback, candidates, usageMetadata } = JSON.parse(line.slice(5));
    if (error) throw failure(error.code, error.message);
    for (const part of candidates?.[0]?.content?.parts ?? []) {
      if (part.functionCall) yield { kind: 'call', ...part.functionCall, part };
      else if (part.text === undefined) yield { kind: 'other', part };
      else yield { kind: part.thought ? 'thought' : 'text', text: part.text, part };
    }
    if (usageMetadata) yield { kind: 'usage', ...usageMetadata };
    const reason = promptFeedback?.blockReason ?? candidates?.[0]?.finishReason;
    if (reason) yield { kind: 'end', reason };
  }
}

function failure(status, message) {
  return Object.assign(new Error(message), { status });
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
