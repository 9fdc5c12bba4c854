import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { Webhook } from 'standardwebhooks';
import { emitAlert } from '../../db/alerts/emit.ts';
import { AlertRule } from '../../db/alerts/alert-rule.entity.ts';
import { newId } from '../../db/ids.ts';
import { organizationTenant, sweep, systemActor, transact } from '../../db/transaction.ts';
import { rows } from '../../db/sql.ts';
import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';
import { answer, startReceiver, type Receiver } from '../alerts/delivery-world.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
let receiver: Receiver;
let stack: Stack;

beforeAll(async () => {
  receiver = await startReceiver();
  stack = await startStack({
    processes: ['api', 'worker-runs'],
    modelBaseUrl: `http://127.0.0.1:${receiver.port}/v1`,
    egressPorts: [receiver.port],
  });
  await ask('PUT', '/secrets/hook', { value: secret, scope: 'workspace', workspace_id: stack.tenant.workspaceId });
  await ask('PUT', '/secrets/slack', { value: urlOf('/services/T0/s3cret'), scope: 'workspace', workspace_id: stack.tenant.workspaceId });
});
afterAll(async () => {
  await stack?.stop();
  receiver?.close();
});
beforeEach(() => {
  receiver.answers = [];
  receiver.received.length = 0;
});

const urlOf = (path: string) => `http://127.0.0.1:${receiver.port}${path}`;
const sql = <T>(text: string, params: readonly unknown[] = []) => sweep(stack.db, (em) => rows<T>(em, text, params));

async function ask<T>(method: string, path: string, body?: object): Promise<T> {
  const reply = await stack.request(method, path, body === undefined ? {} : { body });
  if (reply.status >= 300) throw new Error(`${method} ${path} answered ${reply.status}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

interface RuleBody {
  readonly id: string;
}

const hook = (path = '/hook') => ({ kind: 'webhook', url: urlOf(path), secret_name: 'hook' });
const makeRule = (more: object) =>
  ask<RuleBody>('POST', '/alert-rules', { name: 'Rule', kind: 'spend', operator: 'gt', threshold: '25', ...more });

/** Opens an alert as a tick does; the worker's relay starts its deliveries. Gives the id of the only one. */
async function fire(ruleId: string): Promise<string> {
  const tenant = organizationTenant(stack.tenant.organizationId);
  await transact(stack.db, { tenant, actor: systemActor, correlationId: newId() }, async (tx) => {
    const rule = await tx.em.findOneOrFail(AlertRule, { id: ruleId });
    const reading = { severity: 'critical', title: 'Too much', value: '30', threshold: '25' } as const;
    await emitAlert(
      tx,
      rule,
      { event: 'firing', status: 'firing', fingerprint: 'all', windowKey: 'w', labels: {}, ...reading },
      new Date(),
    );
  });
  const [delivery] = await sql<{ id: string }>('select id from alert_deliveries where rule_id = ?', [ruleId]);
  return delivery?.id ?? '';
}

const deliveryOf = async (id: string) =>
  (await sql<{ status: string; attempts: number }>('select status, attempts from alert_deliveries where id = ?', [id]))[0];
const settled = (id: string) => until(async () => ['sent', 'dead'].includes((await deliveryOf(id))?.status ?? ''));

test('a test of a rule tells what came of each target; the sixth in a minute is 429', async () => {
  const rule = await makeRule({ targets: [hook(), { kind: 'slack', secret_name: 'slack' }, hook('/gone'), { kind: 'admins' }] });
  receiver.answers = [(response) => response.writeHead(response.req.url === '/gone' ? 410 : 200).end()];

  const tested = await ask<{ results: object[] }>('POST', `/alert-rules/${rule.id}/test`);

  expect(tested.results).toEqual([
    { target_index: 0, kind: 'webhook', outcome: 'sent', status_code: 200, latency_ms: expect.any(Number), error: null },
    { target_index: 1, kind: 'slack', outcome: 'sent', status_code: 200, latency_ms: expect.any(Number), error: null },
    { target_index: 2, kind: 'webhook', outcome: 'failed', status_code: 410, latency_ms: expect.any(Number), error: 'HTTP 410' },
    {
      target_index: 3,
      kind: 'admins',
      outcome: 'failed',
      status_code: null,
      latency_ms: expect.any(Number),
      error: 'this deployment sends no mail',
    },
  ]);
  const sent = receiver.received.find(({ path }) => path === '/hook');
  expect(new Webhook(secret).verify(sent?.body ?? '', sent?.headers as Record<string, string>)).toMatchObject({
    type: 'alert.test',
    data: { id: null },
  });
  for (let at = 0; at < 4; at += 1) await ask('POST', `/alert-rules/${rule.id}/test`);
  const sixth = await stack.request('POST', `/alert-rules/${rule.id}/test`);
  expect([sixth.status, Number(sixth.headers.get('retry-after')) > 0]).toEqual([429, true]);
});

test('a worker killed between sending and its record sends again, under the same webhook-id', async () => {
  const rule = await makeRule({ targets: [hook()] });
  let isKilled = false;
  receiver.answers = [
    () => {
      // The receiver has it, and hasn't said so yet.
      void stack.kill('worker-runs').then(() => (isKilled = true));
    },
    answer(200),
  ];

  const id = await fire(rule.id);
  await until(() => isKilled);
  await stack.start('worker-runs');
  await settled(id);

  expect(await deliveryOf(id)).toEqual({ status: 'sent', attempts: 2 });
  expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([id, id]);
});

test('a receiver that fails gets it after ten seconds, and no history holds address, secret or text', async () => {
  const rule = await makeRule({ targets: [hook('/hook?token=t0ken')] });
  receiver.answers = [answer(503), answer(200)];
  const startedAt = Date.now();

  const id = await fire(rule.id);
  await settled(id);

  expect(Date.now() - startedAt).toBeGreaterThan(7_500);
  expect(await deliveryOf(id)).toEqual({ status: 'sent', attempts: 2 });
  const handle = stack.temporal.client.workflow.getHandle(workflowIds.delivery(id));
  await handle.result();
  const history = JSON.stringify(await handle.fetchHistory());
  const payloads = [...history.matchAll(/"data":"([^"]*)"/g)].map(([, data = '']) => Buffer.from(data, 'base64').toString());
  expect(history + payloads.join()).not.toMatch(/t0ken|whsec_|127\.0\.0\.1:|Too much/);
});

test('a tick whose worker is killed in the middle opens one alert, and its notice arrives', async () => {
  const rule = await makeRule({ kind: 'runs_waiting', operator: 'gte', threshold: 0, targets: [hook('/tick')] });
  const [other, watching] = [new pg.Client(stack.adminUrl), new pg.Client(stack.adminUrl)];
  await Promise.all([other.connect(), watching.connect()]);
  try {
    // Holds the tick where it has measured and written nothing.
    await other.query('begin');
    await other.query('select from alert_rules where id = $1 for update', [rule.id]);
    const workflowId = `alert-tick-${newId()}`;
    const handle = await stack.temporal.client.workflow.start('alertTick', { workflowId, taskQueue: taskQueues.runs, args: [] });
    await until(async () => (await waitingForLocks(watching)) > 0);
    await stack.kill('worker-runs');
    await other.query('commit');
    await stack.start('worker-runs');
    await handle.result();
  } finally {
    await Promise.all([other.end(), watching.end()]);
  }

  await until(() => receiver.received.some(({ path }) => path === '/tick'));
  expect(await sql('select status, severity from alerts where rule_id = ?', [rule.id])).toEqual([
    { status: 'firing', severity: 'critical' },
  ]);
  expect(await sql('select event from alert_deliveries where rule_id = ?', [rule.id])).toEqual([{ event: 'firing' }]);
  expect(await ask('GET', `/alert-rules/${rule.id}`)).toMatchObject({ state: 'firing', last_evaluated_at: expect.any(String) });
});

async function waitingForLocks(client: pg.Client): Promise<number> {
  const { rows: found } = await client.query<{ n: number }>(
    "select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%alert_rules%'",
  );
  return found[0]?.n ?? 0;
}
