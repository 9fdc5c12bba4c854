import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RegisteredOperation } from '../../api/http/operation.ts';
import { querySchemaOf } from '../../api/http/page.ts';
import { liveOperations } from '../../api/http/registry.ts';
import { isRoleAccess } from '../../api/http/scopes.ts';
import { areas } from '../../api/operations.ts';
import { newId } from '../../db/ids.ts';
import { startApi, type TestApi } from '../support/api.ts';
import { withAdmin } from '../support/template.ts';
import { testNamespace, until, type TestNamespace } from '../support/temporal.ts';
import { bearer, makeTenant, makeUser, type TestTenant, type TestUser } from '../support/tenant.ts';
import { bodyOf, idPlacesOf, pathOf, queryIdsOf, withValue, type WalkWorld } from './http/walk-requests.ts';
import { freshWorld, makeWalkWorld } from './http/walk-world.ts';

// Two organizations with the same kinds of rows, walked by the list of operations: what is mounted later is in at once.
const live = liveOperations(areas);
const guarded = live.filter((operation) => isRoleAccess(operation) && operation.kind !== 'raw');
const mutations = guarded.filter((operation) => operation.method !== 'GET' && operation.operationId !== 'logout');
const lists = guarded.filter((operation) => operation.kind === 'list');
const each = (operations: readonly RegisteredOperation[]) => operations.map((operation) => [operation.operationId, operation] as const);

let place: TestNamespace;
let api: TestApi;
let a: TestTenant;
let b: TestTenant;
/** Owner of A's second workspace. */
let second: TestUser;
let inA: WalkWorld;
let inA2: WalkWorld;
let inB: WalkWorld;
beforeAll(async () => {
  place = await testNamespace();
  api = await startApi({
    keys: place.keys,
    env: { TEMPORAL_NAMESPACE: place.namespace, RATE_LIMITS: 'principal=off,workspace=off' },
  });
  [a, b] = await Promise.all([makeTenant(api.db, api.keys, { workspaces: 2 }), makeTenant(api.db, api.keys)]);
  const { organizationId, workspaceIds } = a;
  second = await makeUser(api.db, api.keys, { role: 'owner', scope: 'workspace', organizationId, workspaceId: workspaceIds[1] ?? '' });
  [inA, inA2, inB] = [await makeWalkWorld(api, a), await makeWalkWorld(api, a, second), await makeWalkWorld(api, b)];
  await until(isAllSent);
});
afterAll(async () => {
  await api.close();
  await place.close();
});

interface Ask {
  readonly headers?: Readonly<Record<string, string>>;
  readonly url: string;
  readonly body?: unknown;
}

async function send({ method }: RegisteredOperation, { headers, url, body }: Ask) {
  const payload = body === undefined ? {} : { payload: body as object };
  const reply = await api.app.inject({ method: method as 'GET', url, headers: { 'if-match': '*', ...headers }, ...payload });
  const json: Record<string, unknown> | null = reply.body === '' ? null : reply.json();
  return { status: reply.statusCode, text: reply.body, body: json, comparable: { ...json, correlation_id: null, instance: null } };
}

const actorsOfA = (): [string, Record<string, string>][] => [
  ['nobody', {}],
  ...(['viewer', 'member', 'admin', 'owner'] as const).map((role): [string, Record<string, string>] => [role, bearer(a.tokens[role])]),
  ['organization admin', bearer(a.organizationAdmin.token)],
  ['organization owner', bearer(a.organizationOwner.token)],
  ['owner of the second workspace', bearer(second.token)],
  ['service key', bearer(a.serviceKey.plaintext)],
  ['admin as another', { ...bearer(a.organizationAdmin.token), 'x-acting-user': a.users.member.id }],
  ['operator in A', { ...bearer(a.tokens.operator), 'x-view-organization': a.organizationId }],
];

test('nothing of B changes while every mutation runs as every actor of A, with B’s ids and with A’s', async () => {
  const before = await checksumsOf(b.organizationId);

  const byStrangers: unknown[] = [];
  for (const operation of mutations) {
    for (const [actor, headers] of actorsOfA()) {
      const { status } = await send(operation, { headers, url: pathOf(operation, inB), body: bodyOf(operation, inB) });
      if (operation.path.includes('{') && status < 400) byStrangers.push([operation.operationId, actor, status]);
    }
  }
  for (const operation of mutations) {
    const fresh = await freshWorld(api, { tenant: a, world: inA, operation });
    await send(operation, { headers: bearer(a.tokens.owner), url: pathOf(operation, fresh), body: bodyOf(operation, fresh) });
  }

  expect(byStrangers).toEqual([]);
  expect(await checksumsOf(b.organizationId)).toEqual(before);
});

test.each(each(mutations.filter((operation) => operation.path.includes('{'))))(
  '%s answers every actor of A alike for an id of B and for one of nobody',
  async (_id, operation) => {
    for (const [actor, headers] of actorsOfA()) {
      const body = bodyOf(operation, inA);
      const foreign = await send(operation, { headers, url: pathOf(operation, inB), body });
      const unknown = await send(operation, { headers, url: pathOf(operation, { ...inB, ids: {} }), body });

      expect([actor, foreign.comparable]).toEqual([actor, unknown.comparable]);
    }
  },
);

test.each(each(mutations.filter((operation) => [...idPlacesOf(operation.body)].length > 0)))(
  '%s takes an id of B, or of another workspace, in its body for one that does not exist, and no empty one',
  async (_id, operation) => {
    const headers = bearer(a.tokens.owner);
    for (const { path, kind } of idPlacesOf(operation.body)) {
      const withId = (id: string) =>
        send(operation, { headers, url: pathOf(operation, inA), body: withValue(bodyOf(operation, inA), path, id) });
      const unknown = await withId(newId());
      const empty = await withId('');

      expect([path, unknown.status]).toEqual([path, path.at(-1) === 'base_revision_id' ? 409 : 422]);
      for (const { ids } of [inB, inA2])
        expect([path, (await withId(ids[kind] ?? newId())).comparable]).toEqual([path, unknown.comparable]);
      expect([path, empty.body]).toEqual([
        path,
        expect.objectContaining({ status: 422, errors: [expect.objectContaining({ rule: 'format' })] }),
      ]);
    }
  },
);

test.each(each(lists.filter((operation) => queryIdsOf(operation).length > 0)))(
  '%s filtered by an id of B, or of another workspace, is as empty as by an unknown one',
  async (_id, operation) => {
    for (const { name, kind } of queryIdsOf(operation)) {
      const filtered = (id: string) => send(operation, { headers: bearer(a.tokens.owner), url: `${pathOf(operation, inA)}?${name}=${id}` });
      const unknown = await filtered(newId());

      expect([name, unknown.status, unknown.body?.['items']]).toEqual([name, 200, []]);
      for (const { ids } of [inB, inA2]) expect([name, (await filtered(ids[kind] ?? newId())).body]).toEqual([name, unknown.body]);
      expect((await filtered('')).status).toBe(422);
    }
  },
);

test.each(each(guarded.filter((operation) => operation.method === 'GET')))(
  '%s shows nothing of B, nor of another workspace to whoever has one',
  async (_id, operation) => {
    const isForOperators = operation.access === 'operator';
    const ownHeaders = isForOperators ? { ...bearer(a.tokens.operator), 'x-view-workspace': a.workspaceId } : bearer(a.tokens.admin);
    const own = await send(operation, { headers: ownHeaders, url: pathOf(operation, inA) });
    const paged = querySchemaOf(operation).properties['limit'] ? '?limit=200' : '';
    const others = await send(operation, { headers: bearer(second.token), url: pathOf(operation, inA2) + paged });

    expect(own.status).toBe(200);
    expect(idsIn(own.text).filter((id) => foreignIds(inA).includes(id))).toEqual([]);
    expect(idsIn(others.text).filter((id) => foreignIds(inA2).includes(id))).toEqual([]);
  },
);

test('a list shows the rows of the own workspace and of no other', async () => {
  for (const operation of lists.filter((list) => !list.path.includes('{'))) {
    const { body } = await send(operation, { headers: bearer(second.token), url: operation.path });
    const items = body?.['items'] as { workspace_id: string | null }[];
    const places = new Set(items.map((item) => item.workspace_id));
    // Rows of the whole organization are everybody's.
    places.delete(null);

    expect([operation.operationId, [...places]]).toEqual([operation.operationId, [second.workspaceId]]);
  }
});

test('an empty id in a header is 422', async () => {
  const [operation] = lists;
  if (!operation) throw new Error('no list is mounted');
  const status = async (headers: Record<string, string>) => (await send(operation, { headers, url: operation.path })).status;

  expect(await status({ ...bearer(a.tokens.admin), 'x-acting-user': '' })).toBe(422);
  expect(await status({ ...bearer(a.tokens.operator), 'x-view-organization': '' })).toBe(422);
  expect(await status({ ...bearer(a.tokens.operator), 'x-view-workspace': '' })).toBe(422);
});

/** Ids of the worlds that somebody at home in one of them must never read. */
function foreignIds(home: WalkWorld): string[] {
  const own = Object.values(home.ids);
  return [inA, inA2, inB].flatMap(({ ids }) => Object.values(ids)).filter((id) => !own.includes(id));
}

function idsIn(text: string): string[] {
  return text.match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? [];
}

/** What the making of the rows has sent out is noted after its replies. */
async function isAllSent(): Promise<boolean> {
  return withAdmin(api.database.adminUrl, async (admin) => (await admin.query('select from outbox where sent_at is null')).rowCount === 0);
}

/** One checksum for each table that has rows of organizations. */
async function checksumsOf(organizationId: string): Promise<Record<string, string>> {
  return withAdmin(api.database.adminUrl, async (admin) => {
    const { rows: tables } = await admin.query<{ name: string }>(
      `select table_name as name from information_schema.columns where table_schema = 'public' and column_name = 'organization_id' union select 'organizations'`,
    );
    const sums = tables.map(
      ({ name }) =>
        `select '${name}' as name, count(*) || ':' || md5(coalesce(string_agg(t::text, E'\\n' order by t::text), '')) as sum
         from "${name}" t where ${name === 'organizations' ? 'id' : 'organization_id'} = $1`,
    );
    const { rows } = await admin.query<{ name: string; sum: string }>(sums.join(' union all '), [organizationId]);
    return Object.fromEntries(rows.map(({ name, sum }) => [name, sum]));
  });
}
