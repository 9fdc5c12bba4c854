import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { sweep } from '../../db/transaction.ts';
import { change, row, rows } from '../../db/sql.ts';
import { allFaults, entriesOf, writeEntries } from '../db/audit-log.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { withAdmin } from '../support/template.ts';
import { until } from '../support/temporal.ts';
import { matrixTest } from '../chaos/whole.ts';

const eachChain = 6_000;
let stack: Stack;

beforeAll(async () => {
  stack = await startStack({ processes: ['worker-bulk'] });
});
afterAll(() => stack?.stop());

const count = async (condition: string) =>
  (await sweep(stack.db, (em) => row<{ n: number }>(em, `select count(*) as n from ${condition}`)))?.n ?? 0;
const asAdmin = (sql: string) => withAdmin(stack.adminUrl, (admin) => admin.query(sql));
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

  for (let kill = 1; kill <= 2; kill++) {
    await schedule.trigger();
    const before = await count('audit_seals');
    await until(async () => (await count('audit_seals')) > before);
    await stack.kill('worker-bulk');
    expect(await allFaults(stack.db, stack.keys)).toEqual([]);
    await stack.start('worker-bulk');
  }
  await until(async () => {
    if ((await unsealed()) === 0) return true;
    await schedule.trigger();
    return false;
  });

  for (const organizationId of chains) {
    const numbers = (await entriesOf(stack.db, organizationId)).map(({ seq }) => seq);
    expect(numbers).toEqual(Array.from({ length: eachChain }, (_, at) => at + 1));
  }
  expect(await allFaults(stack.db, stack.keys)).toEqual([]);
});

matrixTest('a worker killed inside the transaction of a seal has sealed nothing of it', async () => {
  const organizationId = newId();
  const ids = await writeEntries(stack.db, { organizationId, count: 20, ageS: 600 });
  const schedule = stack.temporal.client.schedule.getHandle('maint:audit-seal');
  const waiting =
    "pg_stat_activity where wait_event_type = 'Lock' and query like '%update \"audit_entries\"%' and datname = current_database()";

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
  });
  expect((await entriesOf(stack.db, organizationId)).map(({ id }) => id)).toEqual(ids);
  expect(await allFaults(stack.db, stack.keys)).toEqual([]);
});

test('a worker killed in the middle of erasing old runs has erased whole batches, and the next one erases the rest', async () => {
  const { organizationId } = stack.tenant;
  await sweep(stack.db, (em) =>
    change(em, 'update organization_settings set run_retention_days = 30 where organization_id = ?', [organizationId]),
  );
  await plantOldRuns(60);
  const left = () => count(`runs where organization_id = '${organizationId}' and deleted_at is null`);
  const told = async () => (await sweep(stack.db, (em) => rows<{ n: string }>(em, purgedRuns, [organizationId]))).map(({ n }) => Number(n));
  // The sweeper's role sees nothing of the sessions of the app's.
  const waiting = async () =>
    (await asAdmin("select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()")).rowCount;
  const schedule = stack.temporal.client.schedule.getHandle('maint:retention');

  await sweep(stack.db, async (em) => {
    // The 31st, in the second batch, is held until the worker is dead.
    await row(
      em,
      'select id from runs where id = (select id from runs where organization_id = ? order by finished_at offset 30 limit 1) for update',
      [organizationId],
    );
    await schedule.trigger();
    await until(async () => (await waiting()) === 1);
    await stack.kill('worker-bulk');
  });
  await until(async () => (await waiting()) === 0);
  expect([await left(), await told()]).toEqual([40, [20]]);

  await stack.start('worker-bulk');
  await until(async () => {
    if ((await left()) === 0) return true;
    await schedule.trigger();
    return false;
  });
  expect(await told()).toEqual([20, 20, 20]);
  expect(await count(`run_streams where organization_id = '${organizationId}'`)).toBe(0);
  expect(await count(`usage_entries where organization_id = '${organizationId}'`)).toBe(60);
});

const purgedRuns =
  "select changes -> 'purged_runs' ->> 'to' as n from audit_entries where organization_id = ? and resource_type = 'run' and action = 'purge'";

/** Runs that ended 40 days ago, each in a conversation of its own, with a stream and what it cost. */
async function plantOldRuns(howMany: number): Promise<void> {
  const { organizationId, workspaceId } = stack.tenant;
  await withAdmin(stack.adminUrl, async (admin) => {
    await admin.query('set session_replication_role = replica');
    const tables: [string, string][] = [
      ['conversations (id, organization_id, workspace_id, agent_id)', `select id, '${organizationId}', '${workspaceId}', id from made`],
      [
        `runs (id, organization_id, workspace_id, agent_id, agent_revision_id, conversation_id, root_run_id, agent_slug, source, created_by_kind, input, limits,
           usage_own, usage_subtree, status, finish_reason, finished_at)`,
        `select id, '${organizationId}', '${workspaceId}', id, id, id, id, 'agent', 'api', 'system', '{"text": "Hi"}', '{}', '{}', '{}', 'succeeded', 'stop',
           now() - interval '40 days' + at * interval '1 second' from made`,
      ],
      [
        'run_streams (run_id, organization_id, workspace_id, root_run_id, ended)',
        `select id, '${organizationId}', '${workspaceId}', id, true from made`,
      ],
      [
        'usage_entries (id, organization_id, workspace_id, occurred_at, reserved_at, call_key, source_kind, source_id, run_id, kind, cost, currency)',
        `select id, '${organizationId}', '${workspaceId}', now(), now(), 'run:' || id || ':1:1:0', 'run', id, id, 'llm', 1, 'USD' from made`,
      ],
    ];
    await admin.query(`create temp table made as select uuidv7() as id, at from generate_series(1, ${howMany}) as at`);
    for (const [into, from] of tables) await admin.query(`insert into ${into} ${from}`);
  });
}

test('the schedule of retention runs to its end', async () => {
  const schedule = stack.temporal.client.schedule.getHandle('maint:retention');
  await schedule.trigger();

  await until(async () => (await count("system_marks where name = 'retention'")) === 1);
  expect(await count("system_marks where name = 'audit_seal'")).toBe(1);
});
