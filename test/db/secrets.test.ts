import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomKeyRing } from '../../db/key-ring.ts';
import { newId } from '../../db/ids.ts';
import { emptyOutgoing, sweep, systemActor, transact, workspaceTenant } from '../../db/transaction.ts';
import { resolveSecret } from '../../domain/secrets/resolve-secret.ts';
import type { NamingRow } from '../../db/secrets/nearest-secret.ts';
import { secretBinding } from '../../db/encrypted-columns.ts';
import { change, row } from '../../db/sql.ts';
import { encrypt } from '../../db/envelope.ts';
import type { Scope } from '../../workflows/contracts/access.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { makeWorld, type World } from './world.ts';

const keys = randomKeyRing();
let database: TestDatabase;
let world: World;
let other: World;

beforeAll(async () => {
  database = await testDatabase();
  world = await makeWorld(database.db, 2);
  other = await makeWorld(database.db);
});
afterAll(() => database.drop());

const workspaceId = () => world.workspaceIds[0] ?? '';

interface Given {
  readonly scope: Scope;
  readonly toolId?: string;
  readonly name: string;
  readonly value: string;
  readonly home?: World;
}

/** Writes a secret as the API does. */
async function put({ scope, toolId, name, value, home = world }: Given): Promise<string> {
  const id = newId();
  const place = {
    organizationId: scope === 'platform' ? null : home.organizationId,
    workspaceId: scope === 'workspace' ? (home.workspaceIds[0] ?? null) : null,
    toolId: toolId ?? null,
    name,
    valueVersion: 1,
  };
  await sweep(database.db, async (em) => {
    const envelope = await encrypt(em, keys, secretBinding(place), Buffer.from(value));
    await change(
      em,
      'insert into secrets (id, scope, organization_id, workspace_id, tool_id, name, value_envelope) values (?, ?, ?, ?, ?, ?, ?)',
      [id, scope, place.organizationId, place.workspaceId, place.toolId, name, envelope],
    );
  });
  return id;
}

async function makeTool(scope: Scope, home = world): Promise<string> {
  const id = newId();
  await sweep(database.db, (em) =>
    change(
      em,
      `insert into tools (id, scope, organization_id, workspace_id, slug, kind, description, input_schema, concurrency, effect)
       values (?, ?, ?, ?, ?, 'http', 'x', '{}', 'read', 'read')`,
      [
        id,
        scope,
        scope === 'platform' ? null : home.organizationId,
        scope === 'workspace' ? (home.workspaceIds[0] ?? null) : null,
        `tool-${id}`,
      ],
    ),
  );
  return id;
}

/** What an activity of a run in the first workspace gets. */
async function resolve(name: string, naming: Partial<NamingRow> & Pick<NamingRow, 'scope'>, at = workspaceId()): Promise<string | null> {
  const options = { tenant: workspaceTenant(world.organizationId, at), actor: systemActor, correlationId: newId() };
  const named = { toolId: null, organizationId: world.organizationId, workspaceId: at, ...naming };
  return (await transact(database.db, options, (tx) => resolveSecret(tx, keys, { name, row: named }))).value;
}

test("a tool's own value goes before that of workspace, organization and platform", async () => {
  const name = 'nearest';
  const toolId = await makeTool('platform');

  expect(await resolve(name, { scope: 'platform', toolId })).toBeNull();
  await put({ scope: 'platform', name, value: 'of the platform' });
  expect(await resolve(name, { scope: 'platform', toolId })).toBe('of the platform');
  await put({ scope: 'organization', name, value: 'of the organization' });
  expect(await resolve(name, { scope: 'platform', toolId })).toBe('of the organization');
  await put({ scope: 'workspace', name, value: 'of the workspace' });
  expect(await resolve(name, { scope: 'platform', toolId })).toBe('of the workspace');
  await put({ scope: 'platform', toolId, name, value: 'its own' });
  expect(await resolve(name, { scope: 'platform', toolId })).toBe('its own');
  expect(await resolve(name, { scope: 'platform' })).toBe('of the workspace');
});

test('no row takes a value from a scope wider than its own', async () => {
  const name = 'wider';
  await put({ scope: 'platform', name, value: 'of the platform' });
  await put({ scope: 'organization', name: 'org_only', value: 'of the organization' });

  expect(await resolve(name, { scope: 'workspace' })).toBeNull();
  expect(await resolve(name, { scope: 'organization' })).toBeNull();
  expect(await resolve(name, { scope: 'platform' })).toBe('of the platform');
  expect(await resolve('org_only', { scope: 'workspace' })).toBeNull();
  expect(await resolve('org_only', { scope: 'organization' })).toBe('of the organization');
});

test('a value of another workspace, tenant or tool is never taken', async () => {
  const name = 'foreign';
  const [mine, sibling] = [await makeTool('workspace'), await makeTool('workspace')];
  await put({ scope: 'workspace', name, value: 'foreign', home: other });
  await put({ scope: 'organization', name, value: 'foreign', home: other });
  await put({ scope: 'workspace', toolId: sibling, name, value: "a sibling's" });
  await put({ scope: 'workspace', name: 'first_only', value: 'of the first' });

  expect(await resolve(name, { scope: 'platform', toolId: mine })).toBeNull();
  expect(await resolve(name, { scope: 'workspace', toolId: sibling })).toBe("a sibling's");
  expect(await resolve('first_only', { scope: 'organization' }, world.workspaceIds[1])).toBeNull();
});

test('what is left out is left out by the query itself, not by the policies alone', async () => {
  const [theirs, name] = [await makeTool('workspace', other), 'unguarded'];
  await put({ scope: 'workspace', name, value: 'foreign', home: other });
  await put({ scope: 'organization', name, value: 'foreign', home: other });
  await put({ scope: 'workspace', toolId: theirs, name, value: 'foreign', home: other });
  const row = { scope: 'platform', toolId: theirs, organizationId: world.organizationId, workspaceId: workspaceId() } as const;
  const tenant = workspaceTenant(world.organizationId, workspaceId());

  // On the sweeper's pool the policies hide nothing.
  const found = await sweep(database.db, (em) =>
    resolveSecret({ em, tenant, actor: systemActor, correlationId: newId(), outgoing: emptyOutgoing() }, keys, { name, row }),
  );
  expect(found).toBeNull();
});

test('a use is marked at most once a minute and changes neither version nor update time', async () => {
  const id = await put({ scope: 'workspace', name: 'marked', value: 'x' });
  const read = () =>
    sweep(database.db, (em) =>
      row<Record<string, unknown>>(em, 'select last_used_at, updated_at, version from secrets where id = ?', [id]),
    );
  const before = await read();

  await resolve('marked', { scope: 'workspace' });
  const first = await read();
  await resolve('marked', { scope: 'workspace' });

  expect(before?.['last_used_at']).toBeNull();
  expect(first?.['last_used_at']).not.toBeNull();
  expect(await read()).toEqual(first);
  expect(first).toMatchObject({ updated_at: before?.['updated_at'], version: before?.['version'] });
});

test('an envelope moved to another secret, or an older one put back, does not open', async () => {
  const [a, b] = [
    await put({ scope: 'workspace', name: 'moved_a', value: 'a' }),
    await put({ scope: 'workspace', name: 'moved_b', value: 'b' }),
  ];
  await sweep(database.db, (em) =>
    change(em, 'update secrets set value_envelope = (select o.value_envelope from secrets o where o.id = ?) where id = ?', [a, b]),
  );
  await sweep(database.db, (em) => change(em, 'update secrets set value_version = 2 where id = ?', [a]));

  await expect(resolve('moved_b', { scope: 'workspace' })).rejects.toThrow();
  await expect(resolve('moved_a', { scope: 'workspace' })).rejects.toThrow();
});
