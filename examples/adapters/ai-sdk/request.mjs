import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { generateText, jsonSchema, tool } from 'ai';

const google = createGoogleGenerativeAI({ apiKey: 'none', baseURL: 'http://127.0.0.1:8080/v1beta' });
const tools = { f: tool({ description: 'd', inputSchema: jsonSchema(JSON.parse(process.argv[2])) }) };
const call = { type: 'tool-call', toolCallId: 'a', toolName: 'f', input: {} };
const result = { type: 'tool-result', toolCallId: 'a', toolName: 'f', output: { type: 'error-text', value: 'no' } };
const messages = [{ role: 'user', content: 'Hi' }, { role: 'assistant', content: '' }, { role: 'user', content: 'Well?' }];
messages.push({ role: 'assistant', content: [call] }, { role: 'tool', content: [result] }, ...JSON.parse(process.argv[3]));
await generateText({ model: google('gemini-3.5-flash'), messages, tools, maxRetries: 0 });
