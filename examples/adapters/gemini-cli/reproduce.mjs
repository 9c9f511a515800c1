import { AuthType, Config } from '@google/gemini-cli-core';

Object.assign(process.env, { GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: 'http://127.0.0.1:8080' });
const config = new Config({ sessionId: '1', targetDir: '.', cwd: '.', model: 'gemini-3.8-flash', maxAttempts: 1 });
await config.refreshAuth(AuthType.USE_GEMINI);
await config.initialize();
const gemini = config.getGeminiClient();
const events = gemini.sendMessageStream([{ text: 'Hi' }], new AbortController().signal, '1');
for await (const event of events) console.log(JSON.stringify(event));
console.log('the history that the next message sends:', JSON.stringify(gemini.getHistory()));
