import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { createStorage } from '../../ports/storage/storage.ts';
import { newStorageKey } from '../../ports/storage/key.ts';
import { storageDirOf } from '../support/api.ts';
import { makeTenant, type TestTenant } from '../support/tenant.ts';
import { makeAgent, scripted, startEffectServer, startRun, writeTool, type EffectServer } from '../support/scenario.ts';
import { until } from '../support/temporal.ts';
import { openOperatorWorld, type OperatorWorld } from './operator-world.ts';
import { fillTables, rowsByTable, tenantTables } from './row-samples.ts';

/** More than a transaction deletes. */
const failures = 5_500;
let effects: EffectServer;
let world: OperatorWorld;
let admin: pg.Client;
let tables: string[];

beforeAll(async () => {
  effects = await startEffectServer();
  world = await openOperatorWorld(['api', 'worker-runs', 'worker-bulk'], { egressPorts: [effects.port], isOwn: true });
  admin = new pg.Client({ connectionString: world.stack.adminUrl });
  await admin.connect();
  tables = tenantTables(world.stack.db);
});

afterAll(async () => {
  await admin?.end();
  await world?.close();
  effects?.close();
});

test('a purge killed again and again in the middle empties every table but the ledger, and nobody else’s', async () => {
  const { stack } = world;
  const { organizationId, organizationOwner, serviceKey } = stack.tenant;
  await liveALittle();
  const neighbour = await makeTenant(stack.db, stack.keys);
  const filled = tables.filter((table) => table !== 'purges');
  await fillTables(admin, filled, stack.tenant);
  await fillTables(admin, filled, neighbour);
  // A tick would judge it meanwhile.
  await admin.query('update alert_rules set is_active = false where organization_id = $1', [neighbour.organizationId]);
  await admin.query(
    `insert into login_failures (id, at, account_hash, organization_id, ip_truncated, reason)
     select gen_random_uuid(), now(), '\\x00', $1, '127.0.0.0/24', 'password' from generate_series(1, ${failures})`,
    [organizationId],
  );
  const kept = await storeFiles(neighbour.organizationId);
  const before = await rowsByTable(admin, tables, organizationId);
  const beside = await sums(neighbour);
  expect(Object.entries(before).filter(([table, count]) => count === 0 && table !== 'purges')).toEqual([]);

  const cached = await world.cacheFrames('organization_id', organizationId);
  const cachedBeside = await world.cacheFrames('organization_id', neighbour.organizationId);

  await world.operate('DELETE', `/organizations/${organizationId}`);
  const purge = await askForPurge('first');
  for (const step of ['messages', 'secrets', 'users']) {
    await until(async () => hasReached(await progress(), step));
    await stack.kill('worker-bulk', 'SIGKILL');
    await stack.start('worker-bulk');
  }
  await until(async () => (await progress())['status'] === 'succeeded');

  expect(Object.entries(await rowsByTable(admin, tables, organizationId)).filter(([, count]) => count > 0)).toEqual([
    ['purges', 1],
    ['usage_entries', expect.any(Number)],
    ['usage_rollups', expect.any(Number)],
  ]);
  expect([await cached(), (await cachedBeside()) > 0]).toEqual([0, true]);
  // The run that was stopped is settled too.
  expect((await rowsByTable(admin, ['usage_entries'], organizationId))['usage_entries']).toBeGreaterThanOrEqual(
    before['usage_entries'] ?? 1,
  );
  expect(await sums(neighbour)).toEqual(beside);
  expect(await storedKeys()).toEqual([kept]);
  expect(Object.values(await rowsByTable(admin, filled, neighbour.organizationId))).not.toContain(0);
  const counts = (await progress())['counts'] as Record<string, number>;
  expect(counts['login_failures']).toBeGreaterThanOrEqual(failures);
  expect(counts['messages']).toBeGreaterThanOrEqual(before['messages'] ?? 0);
  const byOperator = { outcome: 'success', actor_kind: 'operator', actor_id: stack.tenant.users.operator.id, organization_id: null };
  expect(await tablesNaming(organizationId)).toEqual(['audit_entries', 'organizations', 'purges', 'usage_entries', 'usage_rollups']);
  expect(
    await world.admin(
      'select action, outcome, actor_kind, actor_id, organization_id, changes from audit_entries where resource_id = $1 order by id',
      [organizationId],
    ),
  ).toEqual([
    { ...byOperator, action: 'submit', changes: { reason: { from: null, to: 'contract over' } } },
    {
      ...byOperator,
      action: 'purge',
      changes: {
        reason: { from: null, to: 'contract over' },
        rows: { from: null, to: expect.any(Number) },
        tables: { from: null, to: expect.any(Number) },
      },
    },
  ]);
  expect(
    await world.admin('select name, slug, status, suspended_reason, purged_at is not null as gone from organizations where id = $1', [
      organizationId,
    ]),
  ).toEqual([{ name: 'Purged', slug: `purged:${organizationId}`, status: 'deleting', suspended_reason: null, gone: true }]);
  expect(purge['organization_id']).toBe(organizationId);
  const answers = await Promise.all([
    stack.request('GET', `/organizations/${organizationId}`, { credential: stack.tenant.tokens.operator }),
    stack.request('POST', `/organizations/${organizationId}/resume`, { credential: stack.tenant.tokens.operator }),
    stack.request('GET', '/auth/me', { credential: organizationOwner.token }),
    stack.request('GET', '/auth/me', { credential: serviceKey.plaintext }),
  ]);
  expect(answers.map((answer) => answer.status)).toEqual([404, 404, 401, 401]);
});

/** A run with messages, steps, a tool call, frames, usage, a stream token and a session of an impersonation. */
async function liveALittle(): Promise<void> {
  const { stack } = world;
  const { tokens, users } = stack.tenant;
  const tool = writeTool('purge-me', effects);
  const agent = await makeAgent(stack, [tool]);
  const run = await startRun(
    stack,
    agent.id,
    scripted({ steps: [{ tool_calls: [{ name: 'purge-me', arguments: { n: 1 } }] }, { text: 'Done.' }] }),
    {
      sessionKey: 'talk',
    },
  );
  await until(async () => (await world.statuses())['succeeded'] === 1);
  await stack.request('POST', `/runs/${run.id}/stream-token`);
  await world.operate('POST', '/impersonations', { user_id: users.member.id, reason: 'Looks at what will go' });
  // Still at work when the purge comes: it is stopped first.
  await startRun(stack, agent.id, scripted({ steps: [{ tokens: 600, delay_ms: 100 }] }));
  await stack.request('POST', '/agents', {
    body: { slug: 'kept-reply', name: 'A' },
    headers: { 'idempotency-key': 'a' },
    credential: tokens.admin,
  });
}

/** Bytes of every kind that the organization can have, and one of a neighbour, whose key is given. */
async function storeFiles(neighbourId: string): Promise<string> {
  const { organizationId, workspaceId, serviceKey, tokens } = world.stack.tenant;
  await sendFile(serviceKey.plaintext, {});
  // An operator without a view: at first nobody knows whose bytes these are.
  await sendFile(tokens.operator, { workspace_id: workspaceId });
  const storage = await openStorage();
  await storage.put(newStorageKey(organizationId), [Buffer.from('no row names it')]);
  const kept = newStorageKey(neighbourId);
  await storage.put(kept, [Buffer.from('kept')]);
  expect(await storedKeys()).toHaveLength(4);
  return kept;
}

async function sendFile(credential: string, fields: Readonly<Record<string, string>>): Promise<void> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append('file', new Blob(['of the organization']), 'a.txt');
  const headers = { authorization: `Bearer ${credential}` };
  const answer = await fetch(`${world.stack.url()}/attachments`, { method: 'POST', headers, body: form });
  expect([answer.status, await answer.text()]).toEqual([201, expect.any(String)]);
}

const openStorage = () => createStorage({ kind: 'folder', folder: storageDirOf(world.stack.redisPrefix) });

async function storedKeys(): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of (await openStorage()).list('')) keys.push(key);
  return keys;
}

async function askForPurge(key: string): Promise<Record<string, unknown>> {
  const { organizationId } = world.stack.tenant;
  const body = { reason: 'contract over', confirm: await world.slug() };
  return world.operate('POST', `/organizations/${organizationId}/purge`, body, { 'idempotency-key': key });
}

async function progress(): Promise<Record<string, unknown>> {
  const [row] = await world.admin('select status, step, counts, last_error from purges where organization_id = $1', [
    world.stack.tenant.organizationId,
  ]);
  return row ?? {};
}

function hasReached(purge: Record<string, unknown>, step: string): boolean {
  const counts = purge['counts'] as Record<string, number> | undefined;
  return purge['step'] === step || counts?.[step] !== undefined || purge['status'] === 'succeeded';
}

/** What schedules and relays touch by themselves: counted, not compared. */
const moving = new Set(['outbox', 'audit_entries', 'audit_seals']);

/** A checksum of everything the tenant has. */
async function sums(tenant: TestTenant): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const table of tables.filter((name) => !moving.has(name))) {
    const { rows } = await admin.query<{ sum: string }>(
      `select md5(coalesce(string_agg(t::text, ',' order by t::text), '')) as sum from ${table} t where organization_id = $1`,
      [tenant.organizationId],
    );
    found[table] = rows[0]?.sum ?? '';
  }
  return found;
}

/** Tables in which the id stands anywhere. */
async function tablesNaming(id: string): Promise<string[]> {
  const { rows } = await admin.query<{ name: string }>("select tablename as name from pg_tables where schemaname = 'public' order by 1");
  const naming: string[] = [];
  for (const { name } of rows) {
    const found = await admin.query(
      `select from ${name} t where position($1 in t::text) > 0 or position(encode(convert_to($1, 'UTF8'), 'hex') in t::text) > 0 limit 1`,
      [id],
    );
    if (found.rowCount) naming.push(name);
  }
  return naming;
}
