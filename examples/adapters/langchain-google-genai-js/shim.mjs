// @langchain/google-genai: `ChatGoogleGenerativeAI.stream` and `invoke`.
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatGoogleGenerativeAI } from '@langchain/google-genai';

import { answer } from '../program.mjs';

async function* ask(at, messages) {
  const functionDeclarations = at.tools.map(({ name, description, parameters }) => ({
    name,
    description,
    parameters,
  }));
  let model = new ChatGoogleGenerativeAI({
    model: at.model,
    apiKey: 'none',
    baseUrl: at.base_url,
    maxRetries: 0,
    thinkingConfig: { includeThoughts: true },
  });
  if (functionDeclarations.length) model = model.bindTools([{ functionDeclarations }]);
  if (at.stream) yield* await model.stream(messages);
  else yield await model.invoke(messages);
}

async function replay(at, say) {
  let whole = null;
  let given = [];
  for await (const piece of ask(at, [new HumanMessage(at.prompt)])) {
    whole = whole?.concat(piece) ?? piece;
    const calls = callsOf(whole); // the application reads them from the sum of the pieces
    const fresh = calls.filter((call, index) => JSON.stringify(call) !== JSON.stringify(given[index]));
    say(piece.toDict(), [...texts(piece), ...fresh]);
    given = calls;
  }
  if (whole) say(whole.toDict(), end(whole));
}

async function converse(at) {
  const messages = [new HumanMessage(at.prompt)];
  let whole = null;
  for await (const piece of ask(at, messages)) whole = whole?.concat(piece) ?? piece;
  const results = whole.tool_calls.map(
    ({ id, name }, index) => new ToolMessage({ content: at.results[index], tool_call_id: id, name }),
  );
  messages.push(whole, ...(results.length ? results : [new HumanMessage(at.say)]));
  for await (const _ of ask(at, messages));
}

function texts({ content }) {
  if (typeof content === 'string') return content ? [{ text: content }] : [];
  return content.flatMap(({ type, text, thinking }) => {
    if (type === 'thinking') return [{ thought: thinking }];
    return type === 'text' ? [{ text }] : [];
  });
}

function callsOf({ tool_calls: calls }) {
  return (calls ?? []).map(({ id, name, args }) => ({ call: { id: id ?? null, name, arguments: args } }));
}

function end({ response_metadata: metadata, additional_kwargs: more, usage_metadata: usage }) {
  const reason = metadata?.finishReason ?? more?.finishReason;
  const stated = reason ? [{ finish: String(reason) }] : [];
  if (usage) {
    stated.push({
      usage: {
        input: usage.input_tokens,
        output: usage.output_tokens,
        thoughts: usage.output_token_details?.reasoning,
        total: usage.total_tokens,
      },
    });
  }
  return stated;
}

await answer({
  module: '@langchain/google-genai',
  from: import.meta.url,
  providers: ['gemini-api', 'vertex-ai'],
  replay,
  converse,
});
