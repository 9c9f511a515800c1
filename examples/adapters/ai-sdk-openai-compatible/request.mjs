import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText } from 'ai';

const gemini = createOpenAICompatible({ name: 'gemini', apiKey: 'none', baseURL: 'http://127.0.0.1:8080/v1beta/openai' });
const call = { type: 'tool-call', toolCallId: 'a', toolName: 'f', input: {} };
const result = { type: 'tool-result', toolCallId: 'a', toolName: 'f', output: { type: 'error-text', value: 'no' } };
const messages = [{ role: 'user', content: 'Hi' }, { role: 'assistant', content: [call] }, { role: 'tool', content: [result] }];
await generateText({ model: gemini('gemini-3.5-flash'), messages, maxRetries: 0 });
