import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { makeAgent, scripted } from '../support/scenario.ts';
import type { ProcessName } from '../support/deployment.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';

const deliveries = 12;
let models: ModelServer;
let stack: Stack;

beforeAll(async () => {
  models = await startModelServer();
  stack = await startStack({ processes: ['api', 'api-2', 'worker-runs'], modelBaseUrl: models.baseUrl });
});

afterAll(async () => {
  await stack?.stop();
  await models?.close();
});

interface Receipt {
  readonly run_id: string;
}

test('an API killed between receipt and answer, and a worker after it: senders that come again get one run a delivery', async () => {
  const agent = await makeAgent(stack, []);
  const body = { agent_id: agent.id, slug: 'killed', prompt_template: '{{ body.text }}' };
  const { id, secret } = (await stack.request('POST', '/webhook-endpoints', { body })).body as { id: string; secret: string };
  const path = `/hooks/${stack.tenant.workspaceId}/killed`;
  const sent = Array.from({ length: deliveries }, (_, n) => {
    const payload = JSON.stringify({ text: scripted({ steps: [{ text: `Done ${n}.` }] }) });
    const signature = new Webhook(secret).sign(`msg_${n}`, new Date(), payload);
    const signed = {
      'webhook-id': `msg_${n}`,
      'webhook-timestamp': String(Math.floor(Date.now() / 1_000)),
      'webhook-signature': signature,
    };
    return { payload, headers: { 'content-type': 'application/json', ...signed } };
  });
  const refused: string[] = [];
  const deliver = async (n: number, name: ProcessName): Promise<Receipt | null> => {
    const reply = await fetch(stack.url(name) + path, {
      method: 'POST',
      headers: sent[n]?.headers ?? {},
      body: sent[n]?.payload ?? '',
    }).catch(() => null);
    if (reply !== null && reply.status !== 202) refused.push(`${name} ${reply.status} ${await reply.clone().text()}`);
    return reply?.status === 202 ? ((await reply.json().catch(() => null)) as Receipt | null) : null;
  };

  /** As senders do: what is not taken (503) is sent again. */
  const insist = async (n: number, name: ProcessName): Promise<Receipt | null> => {
    let receipt: Receipt | null = null;
    await until(async () => (receipt = await deliver(n, name)) !== null);
    return receipt;
  };

  const first = Promise.all(sent.map((_, n) => deliver(n, 'api')));
  // As soon as the first of them has been written: others are under way.
  await until(async () => (await countOf(id)) > 0);
  await stack.kill('api');
  await stack.kill('worker-runs');
  const lost = await first;
  const again = await Promise.all(sent.map((_, n) => insist(n, 'api-2')));
  await Promise.all([stack.start('api'), stack.start('worker-runs')]);
  const last = await Promise.all(sent.map((_, n) => insist(n, 'api')));

  expect(refused.filter((text) => !text.includes(' 503 '))).toEqual([]);
  expect(again).toEqual(last.map((receipt) => expect.objectContaining({ run_id: receipt?.run_id })));
  for (const [n, receipt] of lost.entries()) if (receipt) expect(receipt.run_id).toBe(last[n]?.run_id);
  await until(async () => (await statusesOf(id)).every((status) => status === 'succeeded'));
  expect(await statusesOf(id)).toHaveLength(deliveries);
});

async function countOf(endpointId: string): Promise<number> {
  const [found] = await sweep(stack.db, (em) =>
    rows<{ n: number }>(em, 'select count(*)::int as n from webhook_deliveries where endpoint_id = ?', [endpointId]),
  );
  return found?.n ?? 0;
}

async function statusesOf(endpointId: string): Promise<string[]> {
  const found = await sweep(stack.db, (em) => rows<{ status: string }>(em, 'select status from runs where trigger_id = ?', [endpointId]));
  return found.map(({ status }) => status);
}
