// LangGraph's JavaScript server with one graph. Says its address as a line of JSON when it serves.
import { startServer } from '@langchain/langgraph-api/server';

const port = Number(process.env['PORT']);
const graphs = { agent: './graph.mjs:graph' };

await startServer({ port, nWorkers: 10, host: '127.0.0.1', cwd: import.meta.dirname, graphs });
process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`);
