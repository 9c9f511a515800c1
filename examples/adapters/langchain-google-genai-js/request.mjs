import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import { ChatGoogleGenerativeAI } from '@langchain/google-genai';

const server = { apiKey: 'none', baseUrl: 'http://127.0.0.1:8080', maxRetries: 0 };
const tool = { type: 'function', function: { name: 'f', description: 'd', parameters: JSON.parse(process.argv[2]) } };
const model = new ChatGoogleGenerativeAI({ model: 'gemini-3.5-flash', ...server }).bindTools([tool, ...JSON.parse(process.argv[3])]);
const said = new AIMessage({ content: '', tool_calls: ['a', 'b'].map((id) => ({ id, name: 'f', args: { id } })) });
const image = { type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgo=' };
const results = ['b', 'a'].map((id) => new ToolMessage({ content: [{ type: 'text', text: `of ${id}` }, image], tool_call_id: id, name: 'f' }));
await model.invoke([new HumanMessage('Hi'), said, ...results, ...(process.argv[4] ? [new SystemMessage('Be brief.')] : [])]);
