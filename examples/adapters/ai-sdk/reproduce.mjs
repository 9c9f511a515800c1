import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { streamText } from 'ai';

const google = createGoogleGenerativeAI({ apiKey: 'none', baseURL: 'http://127.0.0.1:8080/v1beta' });
const asked = { model: google('gemini-3.8-flash'), prompt: 'Hi', maxRetries: 0 };
for await (const part of streamText(asked).fullStream) console.dir(part, { depth: 5 });
