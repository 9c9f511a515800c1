import { ChatGoogleGenerativeAI } from '@langchain/google-genai';

const server = { apiKey: 'none', baseUrl: 'http://127.0.0.1:8080', maxRetries: 0 };
const model = new ChatGoogleGenerativeAI({ model: 'gemini-3.8-flash', ...server });
let whole = null;
for await (const piece of await model.stream('Hi')) whole = whole?.concat(piece) ?? piece;
for await (const piece of await model.stream([['human', 'Hi'], whole, ['human', 'Go on.']])) void piece;
