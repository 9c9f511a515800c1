import { googleAI } from '@genkit-ai/google-genai';
import { genkit } from 'genkit';

const ai = genkit({ plugins: [googleAI({ apiKey: 'none', baseUrl: 'http://127.0.0.1:8080' })] });
const inputJsonSchema = JSON.parse(process.argv[2]);
const tools = [ai.dynamicTool({ name: 'f', description: 'd', inputJsonSchema }, async () => '')];
const config = JSON.parse(process.argv[3]);
await ai.generate({ model: googleAI.model('gemini-3.5-flash'), prompt: 'Hi', tools, config });
