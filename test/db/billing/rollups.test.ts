import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readAdjustedPlace } from '../../../db/billing/ledger/adjusted-place.ts';
import { insertAdjustment } from '../../../db/billing/ledger/adjustments.ts';
import { rebuildDay } from '../../../db/billing/ledger/rebuild-rollups.ts';
import { callKey } from '../../../db/billing/ledger/call-key.ts';
import { settleModelCall, type ModelUsage, type UsageSource } from '../../../db/billing/ledger/usage.ts';
import { newId } from '../../../db/ids.ts';
import { sweep } from '../../../db/transaction.ts';
import { rollupFaults } from '../../support/ledger.ts';
import { openBudgetWorld, type BudgetPlace, type BudgetWorld } from './budget-world.ts';

const statements: string[] = [];
let world: BudgetWorld;

beforeAll(async () => {
  world = await openBudgetWorld({ onQuery: (sql) => statements.push(sql) });
});
afterAll(() => world?.close());

interface Call {
  readonly run: number;
  readonly step: number;
  readonly attempt: number;
  readonly price: string;
  readonly tokens: number;
  readonly estimated: boolean;
  readonly hasHold: boolean;
}

type Act =
  | { readonly kind: 'call'; readonly call: Call; readonly times: number }
  | { readonly kind: 'adjust'; readonly run: number; readonly cost: string; readonly key: number };

const price = fc
  .integer({ min: 0, max: 999_999_999_999 })
  .map((n) => `${n / 1_000_000_000_000 < 1 ? `0.${String(n).padStart(12, '0')}` : '0'}`);
const signed = fc
  .integer({ min: -9_999_999_999, max: 9_999_999_999 })
  .filter((n) => n !== 0)
  .map((n) => `${n < 0 ? '-' : ''}${Math.floor(Math.abs(n) / 1e9)}.${String(Math.abs(n) % 1e9).padStart(9, '0')}`);
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({
    kind: fc.constant('call' as const),
    call: fc.record({
      run: fc.integer({ min: 0, max: 2 }),
      step: fc.integer({ min: 1, max: 3 }),
      attempt: fc.integer({ min: 1, max: 3 }),
      price,
      tokens: fc.integer({ min: 0, max: 2_000_000 }),
      estimated: fc.boolean(),
      hasHold: fc.boolean(),
    }),
    times: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({
    kind: fc.constant('adjust' as const),
    run: fc.integer({ min: -1, max: 2 }),
    cost: signed,
    key: fc.integer({ min: 0, max: 3 }),
  }),
);

const sourceOf = (place: BudgetPlace, runId: string, call: Pick<Call, 'step' | 'attempt'>): UsageSource => ({
  organizationId: place.organizationId,
  workspaceId: place.workspaceId,
  runId,
  agentId: runId,
  agentRevisionId: runId,
  userId: null,
  serviceKeyId: null,
  step: call.step,
  attempt: call.attempt,
});

const usageOf = (call: Pick<Call, 'price' | 'tokens' | 'estimated'>): ModelUsage => ({
  model: 'm',
  provider: 'p',
  providerRequestId: null,
  isFree: false,
  tokens: { input: call.tokens, cached_read: 0, cached_write: 1, output: 2, reasoning: 3 },
  estimated: call.estimated,
  currency: 'USD',
  reservedAt: new Date(),
  prices: [{ id: newId(), bucket: 'input', price: call.price }],
});

async function play(place: BudgetPlace, runs: readonly string[], one: Act): Promise<unknown> {
  if (one.kind === 'adjust') {
    const adjustment = { key: `k${one.key}`, cost: one.cost, currency: 'USD', at: new Date() };
    return place.inPlace(async (tx) => {
      const found = await readAdjustedPlace(tx, { workspaceId: place.workspaceId, runId: null });
      if (!found) throw new Error('no place');
      const runId = runs[one.run] ?? null;
      return insertAdjustment(tx, { ...found, runId, agentId: runId }, adjustment);
    });
  }
  const { call, times } = one;
  const runId = runs[call.run] ?? '';
  const key = callKey('run', runId, call.step, call.attempt);
  if (call.hasHold) await place.reserve({ callKey: key, estimate: '0.5', caps: [`run:${runId}`] });
  // Settled twice and more, at once.
  return Promise.all(
    Array.from({ length: times }, () => place.inPlace((tx) => settleModelCall(tx, sourceOf(place, runId, call), usageOf(call)))),
  );
}

test('for random calls, retries and adjustments: windows have spent what the ledger says, and rollups are the ledger, to the last decimal', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 14 }), fc.boolean(), async (acts, isAtOnce) => {
      const place = await world.place();
      await place.budget({ period: 'day', limit: null });
      await place.budget({ period: 'month', limit: null });
      const runs = [newId(), newId(), newId()];
      for (const runId of runs) await place.cap(runId, '100000');
      await place.reserve({ estimate: '0' });
      await place.sql("update budget_windows set fx_rate = 0.912345678901 where period = 'month' and workspace_id = ?", [
        place.workspaceId,
      ]);
      // One row a key, whoever is first: what it holds decides where it counts, so that it holds always or never.
      const first = new Map<string, boolean>();
      const same = acts.map((one): Act => {
        if (one.kind === 'adjust') return one;
        const { run, step, attempt } = one.call;
        const key = `${run}:${step}:${attempt}`;
        const hasHold = first.get(key) ?? one.call.hasHold;
        first.set(key, hasHold);
        return { ...one, call: { ...one.call, hasHold } };
      });

      if (isAtOnce) await Promise.all(same.map((one) => play(place, runs, one)));
      else for (const one of same) await play(place, runs, one);

      expect(await rollupFaults(world.database.db, place.workspaceId)).toEqual([]);
      const wrong = await place.sql(
        // A budget counts all that was reserved in its time, a cap what held in it and what corrects its run.
        `select b.id, b.spent::text, sum(c.cost)::text as ledger from budget_windows b
           left join usage_entries c on c.workspace_id = b.workspace_id and case when b.cap_key is null then c.reserved_at >= b.window_start and c.reserved_at < b.window_end
             else b.cap_key = 'run:' || c.run_id and (c.kind = 'adjustment' or exists (select from budget_holds h where h.call_key = c.call_key)) end
          where b.workspace_id = ? group by b.id having b.spent <> coalesce(sum(round(c.cost * b.fx_rate, 9)), 0) or b.reserved <> 0`,
        [place.workspaceId],
      );
      expect(wrong).toEqual([]);
      const [keys] = await place.sql<{ rows: number; keys: number }>(
        'select count(*)::int as rows, count(distinct call_key)::int as keys from usage_entries where workspace_id = ?',
        [place.workspaceId],
      );
      expect([keys?.rows, first.size + new Set(acts.flatMap((one) => (one.kind === 'adjust' ? [one.key] : []))).size]).toEqual([
        keys?.keys,
        keys?.keys,
      ]);
    }),
    { numRuns: 40 },
  );
});

test('settling is one transaction of at most five statements: lock, ledger, windows, rollup', async () => {
  const place = await world.place();
  await place.budget({ period: 'day', limit: '10' });
  const runId = newId();
  const call = { step: 1, attempt: 1, price: '1', tokens: 1_000_000, estimated: false };
  await place.reserve({ callKey: callKey('run', runId, 1, 1), estimate: '1' });

  statements.length = 0;
  await place.inPlace((tx) => settleModelCall(tx, sourceOf(place, runId, call), usageOf(call)));

  expect(statements.filter((sql) => !/^(begin|commit|select set_config)/.test(sql))).toHaveLength(4);
  expect((await place.windows()).map(({ spent }) => spent)).toEqual(['1.000001000']);
  expect(
    await place.sql('select calls::int, cost::text, cached_write_tokens::int from usage_rollups where workspace_id = ?', [
      place.workspaceId,
    ]),
  ).toEqual([{ calls: 1, cost: '1.000001000', cached_write_tokens: 1 }]);
});

test('two tries of a step are two rows, and two calls of a quarter of an hour one rollup', async () => {
  const place = await world.place();
  const runId = newId();
  for (const attempt of [1, 2, 2]) {
    const call = { step: 1, attempt, price: '1', tokens: 1, estimated: true };
    await place.inPlace((tx) => settleModelCall(tx, sourceOf(place, runId, call), usageOf(call)));
  }

  const [found] = await place.sql<{ entries: number; calls: number }>(
    'select (select count(*)::int from usage_entries where run_id = ?) as entries, (select sum(calls)::int from usage_rollups where agent_id = ?) as calls',
    [runId, runId],
  );
  expect(found).toEqual({ entries: 2, calls: 2 });
});

test('a rebuild mends what is missing, wrong or nobody’s, finds nothing a second time, and loses no call that settles meanwhile', async () => {
  const place = await world.place();
  const agents = [newId(), newId(), newId()];
  const settle = (agentId: string, step: number) => {
    const call = { step, attempt: 1, price: '1', tokens: 1_000_000, estimated: false };
    return place.inPlace((tx) => settleModelCall(tx, sourceOf(place, agentId, call), usageOf(call)));
  };
  for (const agentId of agents) await settle(agentId, 1);
  const [missing = '', wrong = ''] = agents;
  await place.sql('delete from usage_rollups where agent_id = ?', [missing]);
  await place.sql('update usage_rollups set cost = 7, calls = 9 where agent_id = ?', [wrong]);
  await place.sql(
    `insert into usage_rollups (id, organization_id, workspace_id, bucket_start, kind, currency, cost) select ?, organization_id, workspace_id, bucket_start, 'tool', 'USD', 3
       from usage_rollups where agent_id = ?`,
    [newId(), wrong],
  );
  const day = new Date().toISOString().slice(0, 10);
  const rebuild = () => sweep(world.database.db, (em) => rebuildDay(em, { workspaceId: place.workspaceId, day }));

  const fresh = Array.from({ length: 4 }, () => newId());
  // Whichever comes first finds it; all three run while calls settle.
  const rebuilds = [rebuild()];
  const calls = Array.from({ length: 12 }, (_, n) => settle([...agents, ...fresh][n % 7] ?? '', n + 2));
  rebuilds.push(rebuild(), rebuild());
  const [mended] = await Promise.all([Promise.all(rebuilds), ...calls]);

  expect(Math.max(...mended)).toBeGreaterThanOrEqual(1);
  await rebuild();
  expect(await rollupFaults(world.database.db, place.workspaceId)).toEqual([]);
  expect(await rebuild()).toBe(0);
});
