import { googleAI } from '@genkit-ai/google-genai';
import { genkit } from 'genkit';

const ai = genkit({ plugins: [googleAI({ apiKey: 'none', baseUrl: 'http://127.0.0.1:8080' })] });
const asked = { model: googleAI.model('gemini-3.8-flash'), prompt: 'Hi', returnToolRequests: true };
const { messages } = await ai.generateStream(asked).response;
await ai.generateStream({ ...asked, messages }).response;
