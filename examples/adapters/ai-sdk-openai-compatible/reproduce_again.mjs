import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText } from 'ai';

const gemini = createOpenAICompatible({ name: 'gemini', baseURL: 'http://127.0.0.1:8080' });
const [model, hi] = [gemini('gemini-3.8-flash'), { role: 'user', content: 'Hi' }];
const first = streamText({ model, messages: [hi], maxRetries: 0 });
const messages = [hi, ...(await first.response).messages, hi];
await streamText({ model, messages, maxRetries: 0 }).consumeStream();
