import OpenAI from 'openai';

const client = new OpenAI({ apiKey: 'none', baseURL: 'http://127.0.0.1:8080', maxRetries: 0 });
const [model, hi] = ['gemini-3.8-flash', { role: 'user', content: 'Hi' }];
const whole = await client.chat.completions.stream({ model, messages: [hi] }).finalChatCompletion();
await client.chat.completions.create({ model, messages: [hi, whole.choices[0].message, hi], stream: true });
