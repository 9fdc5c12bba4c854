import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { verifyWebhook, WebhookVerificationError } from '../../clients/typescript/src/index.ts';

// Receives callbacks and alerts of a deployment. WEBHOOK_SECRETS holds the secrets, with commas between them: during a rotation both.
const secrets = (process.env['WEBHOOK_SECRETS'] ?? '').split(',').filter(Boolean);
/** A delivery may come more than once, under the same id. A real receiver keeps this in its database. */
const seen = new Set<string>();

const server = createServer((request, response) => {
  receive(request, response).catch((error: unknown) => {
    response.writeHead(error instanceof WebhookVerificationError ? 401 : 500).end();
  });
});
server.listen(Number(process.env['PORT'] ?? 0), '127.0.0.1', () => process.stdout.write(`listening ${JSON.stringify(server.address())}\n`));

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const event = await verifyWebhook(await buffer(request), request.headers, secrets);
  const id = String(request.headers['webhook-id']);
  if (!seen.has(id)) process.stdout.write(`event ${JSON.stringify(event)}\n`);
  seen.add(id);
  response.writeHead(204).end();
}
