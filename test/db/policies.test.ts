import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { EntityMetadata } from '@mikro-orm/core';
import pg from 'pg';
import { newId } from '../../db/ids.ts';
import { tableKinds } from '../access/table-kinds.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { insertRow, type RowValues, sampleRow } from './rows.ts';

const kinds = tableKinds;
const tables = Object.keys(kinds);
const tenantTables = tables.filter((table) => kinds[table] !== 'platform');

const refusal = /row-level security|permission denied/;

interface Tenant {
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
}

const mine: Tenant = { organizationId: newId(), workspaceId: newId() };
const sibling: Tenant = { organizationId: mine.organizationId, workspaceId: newId() };
const foreign: Tenant = { organizationId: newId(), workspaceId: newId() };
const nowhere: Tenant = { organizationId: null, workspaceId: null };

let database: TestDatabase;
let admin: pg.Client;
let app: pg.Client;

beforeAll(async () => {
  database = await testDatabase();
  admin = await connect(database.adminUrl);
  app = await connect(database.appUrl);
  // Past foreign keys: each table stands alone here.
  await admin.query('set session_replication_role = replica');
  for (const table of tables) {
    await insertRow(admin, table, sampleRow(metaOf(table), mine));
    if (table !== 'organizations' && table !== 'organization_settings' && kinds[table] !== 'platform') await seedOthers(table);
  }
  await insertRow(admin, 'organizations', sampleRow(metaOf('organizations'), foreign));
  await insertRow(admin, 'organization_settings', sampleRow(metaOf('organization_settings'), foreign));
});

afterAll(async () => {
  await Promise.all([admin.end(), app.end()]);
  await database.drop();
});

describe.each(tenantTables)('%s', (table) => {
  const isOrganizationWide = [
    'organizations',
    'organization_settings',
    'data_keys',
    'login_failures',
    'oauth_transactions',
    'purges',
    'audit_seals',
    'knowledge_embedding_cache',
  ].includes(table);
  const seesSiblings = isOrganizationWide || kinds[table] === 'person';

  test('shows a workspace caller its own rows and no foreign one', async () => {
    await withSettings(tenantSettings(mine), async () => {
      const organizations = await organizationsIn(table);

      expect(organizations).toContain(mine.organizationId);
      expect(organizations).not.toContain(foreign.organizationId);
      if (!seesSiblings) expect(await countIn(table, sibling)).toBe(0);
    });
  });

  test('shows an organization caller every workspace', async () => {
    if (isOrganizationWide) return;
    await withSettings({ ...tenantSettings(mine), ws: '{}', wsAll: 'on' }, async () => {
      expect(await countIn(table, sibling)).toBe(1);
      expect(await countIn(table, foreign)).toBe(0);
    });
  });

  test('lets nobody change, delete or add a foreign row, or give one away', async () => {
    await withSettings(tenantSettings(mine), async () => {
      const column = table === 'organizations' ? 'id' : 'organization_id';
      await expectUntouched(`delete from ${table} where ${column} = $1`);
      await expectUntouched(`update ${table} set ${updatedColumn(table)} = ${updatedColumn(table)} where ${column} = $1`);
      await expect(attempt(() => app.query(`update ${table} set ${column} = $1`, [foreign.organizationId]))).rejects.toThrow(refusal);
      await expect(attempt(() => insertRow(app, table, { ...sampleRow(metaOf(table), foreign), ...freshIds(table) }))).rejects.toThrow(
        refusal,
      );
    });
  });

  test('is an error outside a tenant, and empty for nobody', async () => {
    await expect(attempt(() => app.query(`select count(*) from ${table}`))).rejects.toThrow();

    // Every deployment begins with a playbook of the platform.
    const hasPlatformRow = kinds[table] === 'open' || kinds[table] === 'child' || table === 'review_playbooks';
    const visible = hasPlatformRow ? [null] : [];
    await withSettings(tenantSettings(nowhere), async () => expect(await organizationsIn(table)).toEqual(visible));
  });
});

test('rows without an organization: people see those of platform and open tables, write only the open ones', async () => {
  await withSettings(tenantSettings(mine), async () => {
    await expect(attempt(() => insertRow(app, 'outbox', sampleRow(metaOf('outbox'), nowhere)))).resolves.toBeUndefined();
    await expect(attempt(() => insertRow(app, 'audit_entries', sampleRow(metaOf('audit_entries'), nowhere)))).resolves.toBeUndefined();
    await expect(attempt(() => insertRow(app, 'agents', platformAgent()))).rejects.toThrow('row-level security');
    await expect(attempt(() => insertRow(app, 'tool_versions', sampleRow(metaOf('tool_versions'), nowhere)))).rejects.toThrow(
      'row-level security',
    );
    await expect(attempt(() => insertRow(app, 'model_prices', sampleRow(metaOf('model_prices'), nowhere)))).rejects.toThrow(
      'row-level security',
    );
  });
});

test('a platform row is seen by every tenant while it is active, and changed by an operator alone', async () => {
  const active = platformAgent();
  const idle: RowValues = { ...platformAgent(), is_active: false };
  await insertRow(admin, 'agents', active);
  await insertRow(admin, 'agents', idle);
  const seen = async () =>
    (await app.query<{ id: string }>('select id from agents where id = any($1)', [[active['id'], idle['id']]])).rows.map((row) => row.id);
  const change = () => app.query("update agents set name = 'changed' where id = any($1)", [[active['id'], idle['id']]]);

  await withSettings(tenantSettings(mine), async () => {
    expect(await seen()).toEqual([active['id']]);
    expect((await change()).rowCount).toBe(0);
  });
  await withSettings({ ...tenantSettings(nowhere), operator: 'on' }, async () => {
    expect(await seen()).toHaveLength(2);
    expect((await change()).rowCount).toBe(2);
  });
});

test('a person sees itself from outside its organization', async () => {
  const userId = newId();
  await insertRow(admin, 'users', { ...sampleRow(metaOf('users'), foreign), id: userId });

  await withSettings({ ...tenantSettings(mine), user: userId }, async () => {
    expect((await app.query('select from users where id = $1', [userId])).rowCount).toBe(1);
  });
});

test.each(['usage_entries', 'audit_entries', 'agent_revisions', 'tool_versions'])('%s is append-only for the app', async (table) => {
  await withSettings({ ...tenantSettings(mine), operator: 'on' }, async () => {
    await expect(attempt(() => app.query(`delete from ${table}`))).rejects.toThrow('permission denied');
    await expect(attempt(() => app.query(`update ${table} set created_at = now()`))).rejects.toThrow('permission denied');
  });
});

test('all frames but the first and fences are written by the gate alone, and a stream is not renumbered by the app', async () => {
  await withSettings(tenantSettings(mine), async () => {
    const fresh = (table: string) => ({ ...sampleRow(metaOf(table), mine), ...freshIds(table) });
    const opening = { first_seq: 1, last_seq: 1, frames: ['{}'] };
    const write = (table: string, values: object) => attempt(() => insertRow(app, table, { ...fresh(table), ...values }));

    await expect(write('run_stream_scopes', {})).rejects.toThrow('permission denied');
    await expect(write('run_frame_chunks', { first_seq: 2, last_seq: 2 })).rejects.toThrow('row-level security');
    await expect(write('run_frame_chunks', { ...opening, last_seq: 9 })).rejects.toThrow('row-level security');
    await expect(write('run_frame_chunks', { ...opening, frames: ['{}', '{}'] })).rejects.toThrow('row-level security');
    await expect(write('run_frame_chunks', { ...opening, organization_id: newId() })).rejects.toThrow('row-level security');
    await expect(attempt(() => app.query("update run_frame_chunks set frames = '{}'"))).rejects.toThrow('permission denied');
    const { run_id: runId } = (await app.query<{ run_id: string }>('select run_id from run_streams')).rows[0] ?? {};
    await app.query('delete from run_frame_chunks');
    await write('run_frame_chunks', { ...opening, run_id: runId });
    await expect(write('run_frame_chunks', { ...opening, run_id: runId })).rejects.toThrow('duplicate key');
    await expect(attempt(() => app.query('update run_streams set head_seq = 0'))).rejects.toThrow('permission denied');
    expect((await app.query('update run_streams set cancel_requested = true')).rowCount).toBe(1);
  });
});

interface Settings {
  readonly org: string;
  readonly user: string;
  readonly ws: string;
  readonly wsAll: string;
  readonly operator: string;
}

function tenantSettings(tenant: Tenant): Settings {
  return {
    org: tenant.organizationId ?? 'none',
    user: 'none',
    ws: tenant.workspaceId ? `{${tenant.workspaceId}}` : '{}',
    wsAll: 'off',
    operator: 'off',
  };
}

async function withSettings(settings: Settings, work: () => Promise<void>): Promise<void> {
  await app.query('begin');
  try {
    await app.query(
      `select set_config('app.org', $1, true), set_config('app.user', $2, true), set_config('app.ws', $3, true),
         set_config('app.ws_all', $4, true), set_config('app.operator', $5, true)`,
      [settings.org, settings.user, settings.ws, settings.wsAll, settings.operator],
    );
    await work();
  } finally {
    await app.query('rollback');
  }
}

// Keeps the transaction usable after a refusal.
async function attempt<R>(work: () => Promise<R>): Promise<R> {
  await app.query('savepoint attempt').catch(() => app.query('begin').then(() => app.query('savepoint attempt')));
  try {
    return await work();
  } catch (error) {
    await app.query('rollback to savepoint attempt');
    throw error;
  }
}

async function expectUntouched(statement: string): Promise<void> {
  const outcome = await attempt(() => app.query(statement, [foreign.organizationId])).catch((error: unknown) => String(error));
  if (typeof outcome === 'string') expect(outcome).toContain('permission denied');
  else expect(outcome.rowCount).toBe(0);
}

async function seedOthers(table: string): Promise<void> {
  await insertRow(admin, table, sampleRow(metaOf(table), foreign));
  if (table !== 'data_keys' && table !== 'login_failures') await insertRow(admin, table, sampleRow(metaOf(table), sibling));
  const mayBeNowhere = kinds[table] === 'open' || kinds[table] === 'child';
  if (mayBeNowhere) await insertRow(admin, table, sampleRow(metaOf(table), nowhere));
}

async function organizationsIn(table: string): Promise<unknown[]> {
  const column = table === 'organizations' ? 'id' : 'organization_id';
  const { rows } = await app.query<{ organization: string | null }>(`select distinct ${column} as organization from ${table}`);
  return rows.map((row) => row.organization);
}

async function countIn(table: string, tenant: Tenant): Promise<number> {
  const column = table === 'workspaces' ? 'id' : 'workspace_id';
  const hasWorkspace = table === 'workspaces' || metaOf(table).props.some((property) => property.fieldNames[0] === 'workspace_id');
  const { rows } = await app.query<{ count: string }>(
    hasWorkspace
      ? `select count(*) from ${table} where ${column} = $1`
      : `select least(count(*), 1) as count from ${table} where organization_id = $1`,
    [hasWorkspace ? tenant.workspaceId : tenant.organizationId],
  );
  return Number(rows[0]?.count);
}

function updatedColumn(table: string): string {
  return table === 'run_streams' ? 'cancel_requested' : (metaOf(table).props.at(-1)?.fieldNames[0] ?? 'id');
}

function freshIds(table: string): Record<string, string> {
  return table === 'organizations' || table === 'workspaces' ? { id: newId() } : {};
}

function platformAgent(): RowValues {
  return { ...sampleRow(metaOf('agents'), nowhere), scope: 'platform', is_active: true };
}

function metaOf(table: string): EntityMetadata {
  const found = [...database.db.app.getMetadata().getAll().values()].find((meta) => meta.tableName === table);
  if (!found) throw new Error(`No entity of ${table}`);
  return found;
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}
