import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { RunFailed, type Handlers } from '../../clients/typescript/src/index.ts';
import { connect } from './connect.ts';

// A back end whose own data an agent may use: it executes the tools `find_order` and `refund` itself, and answers the agent's questions by its own rules.
const { longhaul, agent } = connect();

const orders = new Map([
  ['4711', { item: 'watering can', price: 19 }],
  ['4712', { item: 'greenhouse', price: 1_900 }],
]);
/** Refunds by call. A call comes again if this process was killed after its work: what has been paid is not paid twice. A real back end keeps this in its database. */
const refunds = new Map<string, { readonly refunded: string }>();

const handlers: Handlers = {
  tools: {
    find_order: ({ order }) => orders.get(String(order)) ?? { error: 'no such order' },
    refund({ order }, { callId }) {
      const done = refunds.get(callId) ?? { refunded: String(order) };
      refunds.set(callId, done);
      return done;
    },
  },
  onApproval({ tool_slug: slug, args }) {
    if (slug !== 'refund') return null; // for people
    const price = orders.get(String(args?.['order']))?.price ?? Infinity;
    return price <= 100 ? { decision: 'approve' } : { decision: 'reject', comment: 'Refunds over 100 are made by phone.' };
  },
};

const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => {
    const status = error instanceof RunFailed ? 502 : 500;
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error: String(error) }));
  });
});
server.listen(Number(process.env['PORT'] ?? 0), '127.0.0.1', () => process.stdout.write(`listening ${JSON.stringify(server.address())}\n`));

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { question } = (await json(request)) as { question: string }; // a real back end would look
  const left = new AbortController();
  response.on('close', () => left.abort(new Error('the asker has left')));
  const run = await longhaul.start({ agent_slug: agent, input: { text: question } }, { signal: left.signal });
  const { output } = await run.result({ ...handlers, signal: left.signal });
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ run: run.id, answer: output?.text }));
}
