// The agent of the comparison: one streamed model call.
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ChatOpenAI } from '@langchain/openai';

const model = new ChatOpenAI({
  model: 'scripted',
  apiKey: 'none',
  streaming: true,
  maxRetries: 0,
  configuration: { baseURL: process.env['MODEL_BASE_URL'] },
});

const call = async ({ messages }) => ({ messages: [await model.invoke(messages)] });

export const graph = new StateGraph(MessagesAnnotation).addNode('call', call).addEdge(START, 'call').addEdge('call', END).compile();
