import { googleAI } from '@genkit-ai/google-genai';
import { genkit } from 'genkit';

const ai = genkit({ plugins: [googleAI({ apiKey: 'none', baseUrl: 'http://127.0.0.1:8080' })] });
const model = googleAI.model('gemini-3.8-flash');
const { stream, response } = ai.generateStream({ model, prompt: 'Hi', returnToolRequests: true });
for await (const chunk of stream) console.log(JSON.stringify(chunk.content));
console.dir((await response).toJSON(), { depth: 4 });
