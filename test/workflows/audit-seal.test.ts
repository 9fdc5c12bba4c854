import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { sweep } from '../../db/transaction.ts';
import { row } from '../../db/sql.ts';
import { allFaults, entriesOf, writeEntries } from '../db/audit-log.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';

jest.setTimeout(180_000);

const eachChain = 12_000;
let stack: Stack;

beforeAll(async () => {
  stack = await startStack({ processes: ['worker-bulk'] });
}, 60_000);
afterAll(() => stack?.stop());

const count = async (condition: string) =>
  (await sweep(stack.db, (em) => row<{ n: number }>(em, `select count(*) as n from ${condition}`)))?.n ?? 0;
const unsealed = () => count('audit_entries where seal_no is null');

test('a worker killed in the middle of sealing leaves whole seals, and the next one goes on without a gap', async () => {
  const chains = [newId(), newId()];
  for (const organizationId of chains) await writeEntries(stack.db, { organizationId, count: eachChain, ageS: 600 });
  const schedule = stack.temporal.client.schedule.getHandle('maint:audit-seal');
  await until(() =>
    schedule.describe().then(
      () => true,
      () => false,
    ),
  );

  for (let kill = 1; kill <= 3; kill++) {
    await schedule.trigger();
    const before = await count('audit_seals');
    await until(async () => (await count('audit_seals')) > before, 60_000);
    await stack.kill('worker-bulk');
    expect(await allFaults(stack.db, stack.keys)).toEqual([]);
    await stack.start('worker-bulk');
  }
  await until(async () => {
    if ((await unsealed()) === 0) return true;
    await schedule.trigger();
    return false;
  }, 90_000);

  for (const organizationId of chains) {
    const numbers = (await entriesOf(stack.db, organizationId)).map(({ seq }) => seq);
    expect(numbers).toEqual(Array.from({ length: eachChain }, (_, at) => at + 1));
  }
  expect(await allFaults(stack.db, stack.keys)).toEqual([]);
});

test('a worker killed inside the transaction of a seal has sealed nothing of it', async () => {
  const organizationId = newId();
  const ids = await writeEntries(stack.db, { organizationId, count: 20, ageS: 600 });
  const schedule = stack.temporal.client.schedule.getHandle('maint:audit-seal');
  const waiting = "pg_stat_activity where wait_event_type = 'Lock' and query like 'update audit_entries%' and datname = current_database()";

  await sweep(stack.db, async (em) => {
    // Held until the worker is dead: its seal waits for this entry.
    await row(em, 'select id from audit_entries where id = ? for update', [ids[10]]);
    await schedule.trigger();
    await until(async () => (await count(waiting)) === 1, 8_000);
    await stack.kill('worker-bulk');
  });
  await until(async () => (await count(waiting)) === 0);
  expect((await entriesOf(stack.db, organizationId)).filter(({ seq }) => seq !== null)).toEqual([]);

  await stack.start('worker-bulk');
  await until(async () => {
    if ((await unsealed()) === 0) return true;
    await schedule.trigger();
    return false;
  }, 60_000);
  expect((await entriesOf(stack.db, organizationId)).map(({ id }) => id)).toEqual(ids);
  expect(await allFaults(stack.db, stack.keys)).toEqual([]);
});

test('the schedule of retention runs to its end', async () => {
  const schedule = stack.temporal.client.schedule.getHandle('maint:retention');
  await schedule.trigger();

  await until(async () => (await count("system_marks where name = 'retention'")) === 1);
  expect(await count("system_marks where name = 'audit_seal'")).toBe(1);
});
