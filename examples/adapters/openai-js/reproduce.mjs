import OpenAI from 'openai';

const client = new OpenAI({ apiKey: 'none', baseURL: 'http://127.0.0.1:8080', maxRetries: 0 });
const messages = [{ role: 'user', content: 'Hi' }];
const stream = client.chat.completions.stream({ model: 'gemini-3.8-flash', messages });
stream.on('tool_calls.function.arguments.done', (event) => console.log(event));
console.dir(await stream.finalChatCompletion(), { depth: 9 });
