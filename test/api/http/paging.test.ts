import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { verifyCursor, signCursor } from '../../../api/http/reply/page.ts';
import { randomKeyRing } from '../../../db/key-ring.ts';
import { change } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { bearer, makeTenant, type TestTenant } from '../../support/tenant.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

interface PageBody {
  readonly items: { readonly id: string; readonly created_at: string }[];
  readonly next_cursor: string | null;
  readonly total: number | null;
}

const read = async (token: string, url: string): Promise<{ status: number; body: PageBody & { code?: string } }> => {
  const reply = await api.app.inject({ url, headers: bearer(token) });
  return { status: reply.statusCode, body: reply.json() };
};

/** All ids of a list, page by page, and how many pages it took. */
async function walk(token: string, url: string): Promise<{ ids: string[]; pages: number }> {
  const ids: string[] = [];
  let cursor: string | null = null;
  for (let pages = 1; ; pages += 1) {
    const { body } = await read(token, cursor ? `${url}&cursor=${cursor}` : url);
    ids.push(...body.items.map((item) => item.id));
    cursor = body.next_cursor;
    if (cursor === null) return { ids, pages };
  }
}

/** Rows of one statement in one transaction: all have one created_at. */
async function insertAgents(tenant: TestTenant, count: number): Promise<void> {
  await sweep(api.db, (em) =>
    change(
      em,
      `insert into agents (id, scope, organization_id, workspace_id, slug, name, attributes, row_version, created_at, updated_at)
      select uuidv7(), 'workspace', ?, ?, 'bulk-' || n, 'Bulk ' || n, '{}', 1, now(), now() from generate_series(1, ?) n`,
      [tenant.organizationId, tenant.workspaceId, count],
    ),
  );
}

test('rows of one bulk insert are all met, each once, and page 2 is not empty', async () => {
  const tenant = await makeTenant(api.db, api.keys);
  await insertAgents(tenant, 120);

  const { ids, pages } = await walk(tenant.tokens.viewer, '/agents?limit=50');

  expect([new Set(ids).size, ids.length, pages]).toEqual([120, 120, 3]);
  expect(ids).toEqual(ids.toSorted().toReversed());
});

test('with limit=1 a list of n rows ends after n pages', async () => {
  const tenant = await makeTenant(api.db, api.keys);
  await insertAgents(tenant, 4);

  expect((await walk(tenant.tokens.viewer, '/agents?limit=1')).pages).toBe(4);
});

test('keyset mode has no total, offset mode an exact one and no cursor', async () => {
  const tenant = await makeTenant(api.db, api.keys);
  await insertAgents(tenant, 7);

  expect((await read(tenant.tokens.viewer, '/agents?limit=3')).body).toMatchObject({ total: null, next_cursor: expect.any(String) });
  expect((await read(tenant.tokens.viewer, '/agents?limit=3&offset=6')).body).toMatchObject({
    total: 7,
    next_cursor: null,
    items: [expect.anything()],
  });
  expect((await read(tenant.tokens.viewer, '/agents?offset=1000')).body).toMatchObject({ total: 7, items: [] });
});

test('a cursor is worth something on its own list, under its own filters and in its own tenant only', async () => {
  const [tenant, other] = [await makeTenant(api.db, api.keys), await makeTenant(api.db, api.keys)];
  await insertAgents(tenant, 3);
  const cursor = (await read(tenant.tokens.admin, '/agents?limit=1')).body.next_cursor ?? '';
  const flipped = `${cursor.startsWith('a') ? 'b' : 'a'}${cursor.slice(1)}`;

  const refused = [
    [tenant.tokens.admin, `/agents?cursor=${flipped}`],
    [tenant.tokens.admin, `/agents?cursor=${cursor}A`],
    [tenant.tokens.admin, `/agents?cursor=${cursor.slice(0, -1)}`],
    [other.tokens.admin, `/agents?cursor=${cursor}`],
    [tenant.tokens.admin, `/tools?cursor=${cursor}`],
    [tenant.tokens.admin, `/agents?q=bulk&cursor=${cursor}`],
    [tenant.tokens.admin, `/agents?cursor=${cursor}&offset=1`],
    [tenant.tokens.admin, '/agents?cursor=nonsense'],
  ] as const;
  for (const [token, url] of refused) expect((await read(token, url)).body.code).toBe('cursor_invalid');
  expect((await read(tenant.tokens.admin, `/agents?limit=2&cursor=${cursor}`)).body.items).toHaveLength(2);
});

test.each(['limit=0', 'limit=201', 'offset=-1', 'offset=1000001', 'limit=x', 'cursor='])('%s is 422', async (query) => {
  const { tokens } = await makeTenant(api.db, api.keys);

  expect((await read(tokens.viewer, `/agents?${query}`)).status).toBe(422);
});

test('a position survives sealing and opening exactly, whatever it holds', () => {
  const { cursorKeys } = randomKeyRing();
  const binding = Buffer.alloc(16, 7);

  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 60 }), { minLength: 1, maxLength: 4 }), (position) => {
      expect(verifyCursor(signCursor(position, cursorKeys, binding), cursorKeys, binding)).toEqual(position);
    }),
  );
});

test('a cursor outlives one change of the key, not two, and no change of a bit', () => {
  const [old, current, next] = [randomKeyRing(), randomKeyRing(), randomKeyRing()].map((ring) => ring.cursorKeys[0]);
  if (!old || !current || !next) throw new Error('three keys wanted');
  const binding = Buffer.alloc(16, 7);
  const cursor = signCursor(['a'], [old], binding);
  const bytes = Buffer.from(cursor, 'base64url');

  expect(verifyCursor(cursor, [current, old], binding)).toEqual(['a']);
  expect(() => verifyCursor(cursor, [next, current], binding)).toThrow();
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(() => verifyCursor(changed.toString('base64url'), [old], binding)).toThrow();
  }
});

test('an instant of a reply is a filter that finds its row', async () => {
  const { tokens } = await makeTenant(api.db, api.keys);
  const made = await api.app.inject({
    method: 'POST',
    url: '/agents',
    headers: bearer(tokens.admin),
    payload: { slug: 'timed', name: 'Timed', revision: { model: 'builtin/extractive', instructions: 'Answer.' }, activate: true },
  });
  const run = await api.app.inject({
    method: 'POST',
    url: '/runs',
    headers: bearer(tokens.member),
    payload: { agent_id: made.json().id, input: { text: 'Hello' } },
  });
  const at = run.json().created_at as string;

  expect(at).toMatch(/\.\d{3}Z$/);
  expect((await read(tokens.viewer, `/runs?from=${at}`)).body.items.map((item) => item.id)).toEqual([run.json().id]);
  expect((await read(tokens.viewer, `/runs?to=${at}`)).body.items).toEqual([]);
});
