import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { areas } from '../../../api/operations.ts';
import { rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { bearer, type TestTenant } from '../../support/tenant.ts';
import { makeBase } from '../knowledge/knowledge-fixture.ts';
import { makeAgent, openWorld, type Answer, type World } from '../world.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world?.close());

interface Spending {
  readonly path: string;
  readonly body: object;
  readonly isForAdmins?: boolean;
}

/** What each operation that spends is asked for, in a workspace with an agent, an ended run, a tool, a schedule and a hook that has taken a delivery. A new one needs a line. */
async function spendingOf(tenant: TestTenant): Promise<Readonly<Record<string, Spending>>> {
  const agent = await makeAgent(world, tenant.tokens.admin);
  const item = { agent_id: agent.id, input: { text: 'Hi' } };
  const run = await world.call(tenant.tokens.member, 'POST', '/runs', { body: item });
  await sweep(world.api.db, (em) =>
    rows(em, `update runs set status = 'failed', finish_reason = 'error', finished_at = now() where id = ?`, [run.body.id]),
  );
  const tool = await world.call(tenant.tokens.admin, 'POST', '/tools', { body: { slug: 'page', kind: 'web_fetch', description: 'x' } });
  const hook = { agent_id: agent.id, slug: 'orders', verification: 'none' };
  const endpoint = await world.call(tenant.tokens.admin, 'POST', '/webhook-endpoints', { body: hook });
  const delivery = await world.call('', 'POST', `/hooks/${tenant.workspaceId}/orders`, { body: {} });
  const planned = { agent_id: agent.id, name: 'Nightly', prompt_template: 'Hi', cron: '0 0 * * *' };
  const schedule = await world.call(tenant.tokens.admin, 'POST', '/schedules', { body: planned });
  return {
    triggerSchedule: { path: `/schedules/${schedule.body.id}/trigger`, body: { overlap: 'allow_all' } },
    backfillSchedule: {
      path: `/schedules/${schedule.body.id}/backfill`,
      body: { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' },
      isForAdmins: true,
    },
    createRun: { path: '/runs', body: item },
    createRunBatch: { path: '/runs/batch', body: { items: [item, item] } },
    retryRun: { path: `/runs/${run.body.id}/retry`, body: {} },
    createEvaluation: {
      path: '/evaluations',
      body: { agent_id: agent.id, dataset: { items: [{ input: 'Hi' }] }, evaluators: [{ key: 't', type: 'turns', params: { max: 1 } }] },
    },
    createMaintenanceRun: {
      path: `/knowledge-bases/${await makeBase(world, tenant)}/maintenance-runs`,
      body: { tasks: ['verify'] },
      isForAdmins: true,
    },
    replayWebhookDelivery: {
      path: `/webhook-endpoints/${endpoint.body.id}/deliveries/${delivery.body.delivery_id}/replay`,
      body: {},
    },
    testTool: { path: `/tools/${tool.body.id}/test`, body: { arguments: { url: 'https://example.com' } } },
  };
}

/** Whether all that was asked for was refused with 402. */
function isRefused({ status, body }: Answer): boolean {
  if (status === 402) return body.code === 'budget_exceeded';
  return body.created === 0 && body.items.every((item: { error: { code: string } | null }) => item.error?.code === 'budget_exceeded');
}

test('a budget of "0" refuses every operation that spends with 402, whoever the caller, from the first call on', async () => {
  const tenant = await world.tenant();
  const spending = await spendingOf(tenant);
  await world.call(tenant.tokens.admin, 'PUT', `/budgets/${tenant.workspaceId}`, { body: { limit_amount: '0', is_enforced: true } });
  const { tokens, organizationOwner, serviceKey, workspaceId, organizationId } = tenant;
  const narrowed = { 'x-view-organization': organizationId, 'x-view-workspace': workspaceId };
  const callers: Record<string, Record<string, string>> = {
    'member': bearer(tokens.member),
    'admin': bearer(tokens.admin),
    'owner': bearer(organizationOwner.token),
    'key': bearer(serviceKey.plaintext),
    'key in a name': { ...bearer(serviceKey.plaintext), 'x-acting-user': tenant.users.member.id },
    'operator': { ...bearer(tokens.operator), ...narrowed },
  };

  const passed: string[] = [];
  for (const [name, headers] of Object.entries(callers))
    for (const [operation, { path, body, isForAdmins }] of Object.entries(spending)) {
      if (isForAdmins && name.match(/member|in a name/)) continue;
      const answer = await world.call('', 'POST', path, { headers, body });
      if (!isRefused(answer)) passed.push(`${operation} by ${name}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 200)}`);
    }

  expect(passed).toEqual([]);
  const declared = areas.flatMap(({ operations }) =>
    operations.filter(({ spends }) => spends === true).map(({ operationId }) => operationId),
  );
  // A copy into a model that costs nothing is not refused; one that costs is (`test/workflows/reembed-ends`).
  expect(declared.toSorted()).toEqual([...Object.keys(spending), 'reembedKnowledgeBase'].toSorted());
});

test('the status names the instant at which calls pass again: before it they are refused, from it on they are not', async () => {
  const tenant = await world.tenant();
  const { createRun } = await spendingOf(tenant);
  await world.call(tenant.tokens.admin, 'PUT', `/budgets/${tenant.workspaceId}`, {
    body: { period: 'day', limit_amount: '1', is_enforced: true },
  });
  /** As if the clock stood so far before the end of the spent window. */
  const endsIn = (interval: string) =>
    sweep(world.api.db, (em) =>
      rows<{ end: string }>(
        em,
        `update budget_windows set spent = 1, window_start = now() - interval '1 day', window_end = date_trunc('milliseconds', now()) + ?::interval
          where workspace_id = ? returning to_char(window_end at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as end`,
        [interval, tenant.workspaceId],
      ),
    );
  const start = () => world.call(tenant.tokens.member, 'POST', createRun?.path ?? '', { body: createRun?.body });

  const [window] = await endsIn('1 minute');
  const { body: status } = await world.call(tenant.tokens.viewer, 'GET', `/budgets/${tenant.workspaceId}/status?period=day`);
  const before = await start();
  await endsIn('0 seconds');
  const after = await start();

  expect(status).toMatchObject({ decision: 'blocked', window_end: window?.end });
  expect([before.status, after.status]).toEqual([402, 202]);
  const { body: next } = await world.call(tenant.tokens.viewer, 'GET', `/budgets/${tenant.workspaceId}/status?period=day`);
  expect(next).toMatchObject({ decision: 'allow', spent: '0.00' });
});
