import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { tendBudgets } from '../../../activities/maintenance/budget-activities.ts';
import { newId } from '../../../db/ids.ts';
import { runsAsActivities, type RunsAsActivities } from '../../support/runs-as-activities.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;
let place: RunsAsActivities;
let tenant: TestTenant;
let agentId: string;

beforeAll(async () => {
  world = await openWorld();
  place = runsAsActivities(world);
  tenant = await world.tenant();
  agentId = (await makeAgent(world, tenant.tokens.admin)).id;
});
afterAll(() => world.close());

/** A run that ended two minutes ago. */
async function endedRun(): Promise<string> {
  const { body } = await world.call(tenant.tokens.member, 'POST', '/runs', { body: { agent_id: agentId, input: { text: 'Hi' } } });
  await world.call(tenant.tokens.member, 'POST', `/runs/${body.id}/cancel`, { body: {} });
  await place.query("update runs set finished_at = finished_at - interval '2 minutes' where id = ?", [body.id]);
  return body.id as string;
}

/** Steps of a run whose calls are in flight, as a lost worker leaves them. */
function plantCalls(runId: string, { count, inputTokens }: { readonly count: number; readonly inputTokens: number }) {
  const call = { messageId: newId(), model: 'compatible/scripted', provider: 'compatible', isFree: true, inputTokens, currency: 'USD' };
  return place.query(
    `insert into run_steps (id, organization_id, workspace_id, run_id, step, kind, name, in_flight)
     select gen_random_uuid(), ?, ?, ?, n, 'model', 'm', ?::jsonb from generate_series(1, ?) as n`,
    [
      tenant.organizationId,
      tenant.workspaceId,
      runId,
      JSON.stringify({ attempt: 1, ...call, reservedAt: new Date().toISOString(), prices: [] }),
      count,
    ],
  );
}

test('a call is settled behind more than a batch of calls that can not be, in one round', async () => {
  const [stuck, lost] = [await endedRun(), await endedRun()];
  await plantCalls(stuck, { count: 501, inputTokens: 1e20 }); // beyond the ledger's column
  await plantCalls(lost, { count: 1, inputTokens: 7 });

  await tendBudgets({ db: world.api.db, log: pino({ level: 'silent' }), dispatch: () => Promise.resolve() }, AbortSignal.timeout(100_000));

  const settled = await place.query("select run_id, estimated, input_tokens::int as input from usage_entries where kind = 'llm'", []);
  expect(settled).toEqual([{ run_id: lost, estimated: true, input: 7 }]);
  expect(await place.query('select count(*)::int as count from run_steps where in_flight is not null', [])).toEqual([{ count: 501 }]);
});
