import { GoogleGenAI } from '@google/genai';

const httpOptions = { baseUrl: 'http://127.0.0.1:8080' };
const chat = new GoogleGenAI({ apiKey: 'none', httpOptions }).chats.create({ model: 'gemini-3.8-flash' });
for await (const piece of await chat.sendMessageStream({ message: 'Hi' })) console.log(JSON.stringify(piece));
console.log('the history that the next message sends:', JSON.stringify(chat.getHistory(true)));
