import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { settleModelCall, type ModelUsage } from '../../../db/billing/ledger/usage.ts';
import { newId } from '../../../db/ids.ts';
import { row } from '../../../db/sql.ts';
import { openBudgetWorld, type BudgetWorld } from './budget-world.ts';

const usage: ModelUsage = {
  model: 'm',
  provider: 'p',
  providerRequestId: null,
  isFree: true,
  tokens: { input: 1, cached_read: 0, cached_write: 0, output: 1, reasoning: 0 },
  estimated: false,
  currency: 'USD',
  reservedAt: new Date(),
  prices: [],
};

let world: BudgetWorld;
beforeAll(async () => {
  world = await openBudgetWorld();
});
afterAll(() => world?.close());

test('a bill whose transaction waited is dated when it was entered, so that one that came after its run had ended is known as late', async () => {
  const place = await world.place();
  const runId = newId();
  const waitedUntil = await place.inPlace(async (tx) => {
    await row(tx.em, 'select pg_sleep(0.02)');
    const end = await row<{ at: Date }>(tx.em, 'select clock_timestamp() as at');
    const settled = await settleModelCall(
      tx,
      {
        organizationId: place.organizationId,
        workspaceId: place.workspaceId,
        runId,
        agentId: newId(),
        agentRevisionId: newId(),
        userId: null,
        serviceKeyId: null,
        step: 1,
        attempt: 1,
      },
      usage,
    );
    expect(settled).not.toBeNull();
    return end?.at;
  });

  const [entry] = await place.sql<{ is_late: boolean }>('select created_at > ? as is_late from usage_entries where run_id = ?', [
    waitedUntil,
    runId,
  ]);
  expect(entry).toEqual({ is_late: true });
});
