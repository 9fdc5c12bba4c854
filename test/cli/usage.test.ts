import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomKeyRing } from '../../db/key-ring.ts';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { fullTest } from '../chaos/whole.ts';
import { testBudgets } from '../support/budgets.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { rollupFaults, seedLedger } from '../support/ledger.ts';
import { makeTenant, type TestTenant } from '../support/tenant.ts';
import { longhaul, longhaulProcess } from './command.ts';

const keys = randomKeyRing();
let database: TestDatabase;
let tenant: TestTenant;

beforeAll(async () => {
  database = await testDatabase();
  tenant = await makeTenant(database.db, keys);
});
afterAll(() => database.drop());

const ask = <T>(sql: string, params: unknown[] = []) => sweep(database.db, (em) => rows<T>(em, sql, params));
const run = (...args: string[]) => longhaul(['usage', ...args], { database, keys });
const entries = () =>
  ask<{ cost: string }>("select cost::text as cost from usage_entries where workspace_id = ? and kind = 'adjustment' order by id", [
    tenant.workspaceId,
  ]);

test('usage adjust corrects ledger, window and rollup once a key, also twice at once, and the audit log says by how much and why', async () => {
  const budgets = testBudgets(database.db, tenant);
  await budgets.day('10');
  const wanted = ['adjust', '--workspace', tenant.workspaceId, '--amount=-1.250000001', '--key', 'case-1', '--reason', 'billed twice'];

  const both = await Promise.all([run(...wanted), longhaulProcess(['usage', ...wanted], { database, keys }).ended]);
  const other = await run(...wanted.map((word) => (word.startsWith('--amount') ? '--amount=2' : word)));

  expect(both.map(({ code }) => code)).toEqual([0, 0]);
  expect(both.map(({ output }) => output.split(':')[0]).toSorted()).toEqual(['Corrected', 'The key has already made this correction']);
  expect([other.code, other.output]).toEqual([1, expect.stringContaining('a different correction, of -1.250000001 USD')]);
  expect(await entries()).toEqual([{ cost: '-1.250000001' }]);
  expect(await budgets.windows()).toMatchObject([{ name: 'day', spent: '-1.250000001', reserved: '0' }]);
  expect(await rollupFaults(database.db, tenant.workspaceId)).toEqual([]);
  const audits = await ask(
    "select action, actor_kind, workspace_id, changes -> 'cost' ->> 'to' as cost, changes -> 'reason' ->> 'to' as reason from audit_entries where resource_type = 'usage_entry'",
  );
  expect(audits).toEqual([
    { action: 'create', actor_kind: 'system', workspace_id: tenant.workspaceId, cost: '-1.250000001', reason: 'billed twice' },
  ]);
});

test('a key with another time, run or amount is refused, and told what differs; without a time it is the same correction', async () => {
  const before = await entries();
  const wanted = ['adjust', '--workspace', tenant.workspaceId, '--amount=3', '--key', 'case-at', '--at', '2026-01-31T10:15:00Z'];
  const made = await run(...wanted);
  const ask = (at: string) => run(...wanted.map((word) => (word.startsWith('2026-') ? at : word)));

  const [same, otherZone, other, untimed] = [
    await run(...wanted),
    await ask('2026-01-31T11:15:00+01:00'),
    await ask('2026-01-31T10:15:01Z'),
    await run(...wanted.slice(0, -2)),
  ];
  const twice = await run(
    ...wanted.map((word) => (word.startsWith('2026-') ? '2026-02-01T00:00:00Z' : word === '--amount=3' ? '--amount=4' : word)),
  );

  expect([made, same, otherZone, untimed].map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  for (const { output } of [same, otherZone, untimed])
    expect(output).toContain('has already made this correction: 3.00 USD at 2026-01-31T10:15:00.000Z');
  expect([other.code, other.output]).toEqual([1, expect.stringContaining('a different correction, at 2026-01-31T10:15:00.000Z')]);
  expect([twice.code, twice.output]).toEqual([
    1,
    expect.stringContaining('a different correction, of 3.00 USD, at 2026-01-31T10:15:00.000Z'),
  ]);
  expect(await entries()).toHaveLength(before.length + 1);
});

test('what is no correction is refused and writes nothing', async () => {
  const before = await entries();
  const good = { '--workspace': tenant.workspaceId, '--amount': '1', '--key': 'k' };
  const wrong: [Record<string, string>, string][] = [
    [{ '--workspace': 'here' }, '--workspace'],
    [{ '--workspace': crypto.randomUUID() }, 'no such workspace'],
    [{ '--run': crypto.randomUUID() }, 'no such workspace'],
    [{ '--amount': '1e3' }, '--amount'],
    [{ '--amount': '0.0000000001' }, '--amount'],
    [{ '--amount': '0' }, '--amount'],
    [{ '--key': 'two words' }, '--key'],
    [{ '--at': '2999-01-01T00:00:00Z' }, '--at'],
    [{ '--at': '2026-02-31' }, '--at'],
    [{ '--at': '2026-02-31T00:00:00Z' }, '--at'],
  ];

  const ended = await Promise.all(
    wrong.map(([change]) => run('adjust', ...Object.entries({ ...good, ...change }).map(([name, value]) => `${name}=${value}`))),
  );

  expect(ended.map(({ code, output }, at) => [code, output.includes(wrong[at]?.[1] ?? '?') ? wrong[at]?.[1] : output])).toEqual(
    wrong.map(([, told]) => [1, told]),
  );
  expect(await entries()).toEqual(before);
});

fullTest(
  'usage rebuild that is killed in the middle goes on when it runs again; it mends, says so once, and then finds nothing',
  async () => {
    const days = Array.from({ length: 40 }, (_, n) => new Date(Date.UTC(2026, 0, 1 + n, 12)).toISOString());
    await seedLedger(
      database.db,
      tenant,
      days.flatMap((occurredAt) => Array.from({ length: 20 }, () => ({ occurredAt, cost: '0.1' }))),
    );
    await ask('update usage_rollups set cost = cost + 1 where workspace_id = ?', [tenant.workspaceId]);
    const audits = async () => (await ask("select 1 from audit_entries where resource_type = 'usage_rollup'")).length;

    const first = longhaulProcess(['usage', 'rebuild'], { database, keys });
    for (const end = Date.now() + 240_000; (await audits()) === 0 && Date.now() < end;)
      await new Promise((resolve) => setTimeout(resolve, 5));
    first.child.kill('SIGKILL');
    await first.ended;
    const second = await run('rebuild');
    const mended = await audits();
    const third = await run('rebuild');

    expect([second.code, third.code]).toEqual([0, 0]);
    expect(third.output).toContain(' 0 sums corrected');
    expect(await rollupFaults(database.db, tenant.workspaceId)).toEqual([]);
    // A day and entry: those of the first run before it was killed, and the others.
    expect([mended, await audits()]).toEqual([mended, mended]);
    expect(mended).toBeGreaterThanOrEqual(days.length);
  },
);
