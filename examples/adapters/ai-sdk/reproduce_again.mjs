import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { streamText } from 'ai';

const google = createGoogleGenerativeAI({ apiKey: 'none', baseURL: 'http://127.0.0.1:8080/v1beta' });
const [model, hi] = [google('gemini-3.8-flash'), { role: 'user', content: 'Hi' }];
const first = streamText({ model, messages: [hi], maxRetries: 0 });
const messages = [hi, ...(await first.response).messages, hi];
await streamText({ model, messages, maxRetries: 0 }).consumeStream();
