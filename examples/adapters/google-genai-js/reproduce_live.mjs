import { GoogleGenAI } from '@google/genai';
const ai = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: process.argv[2], apiVersion: 'v1beta' } });
const callbacks = { onmessage: (message) => console.log(JSON.stringify(message)), onclose: ({ code, reason }) => console.log(code, reason) };
const session = await ai.live.connect({ model: 'gemini-3.8-live', config: { responseModalities: ['TEXT'] }, callbacks });
session.sendClientContent({ turns: 'Hello.' });
