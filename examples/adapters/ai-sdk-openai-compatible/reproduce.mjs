import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText } from 'ai';

const gemini = createOpenAICompatible({ name: 'gemini', baseURL: 'http://127.0.0.1:8080' });
const asked = { model: gemini('gemini-3.8-flash'), prompt: 'Hi', maxRetries: 0 };
for await (const part of streamText(asked).fullStream) console.dir(part, { depth: 5 });
