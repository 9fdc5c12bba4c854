import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { RegisteredOperation } from '../../../api/http/operation.ts';
import { liveOperations } from '../../../api/http/registry.ts';
import { successOf } from '../../../api/http/render.ts';
import { isRoleAccess, isSessionOnly } from '../../../api/http/scopes.ts';
import { areas } from '../../../api/operations.ts';
import { row, rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { rankOf, roles } from '../../../workflows/contracts/access.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { testNamespace, type TestNamespace } from '../../support/temporal.ts';
import { bearer, makeTenant, type TestTenant } from '../../support/tenant.ts';
import { bodyOf, nullsOf, pathOf, queryNamesOf, withValue, type WalkWorld } from './walk-requests.ts';
import { freshWorld, makeWalkWorld } from './walk-world.ts';

const live = liveOperations(areas);
const guarded = live.filter((operation) => isRoleAccess(operation));
const each = (operations: readonly RegisteredOperation[]) => operations.map((operation) => [operation.operationId, operation] as const);

let place: TestNamespace;
let api: TestApi;
let tenant: TestTenant;
let stranger: TestTenant;
let world: WalkWorld;
beforeAll(async () => {
  place = await testNamespace();
  api = await startApi({
    keys: place.keys,
    env: { TEMPORAL_NAMESPACE: place.namespace, RATE_LIMITS: 'principal=off,workspace=off,anonymous=off,refresh=100000/60' },
  });
  [tenant, stranger] = await Promise.all([makeTenant(api.db, api.keys), makeTenant(api.db, api.keys)]);
  world = await makeWalkWorld(api, tenant);
});
afterAll(async () => {
  await api.close();
  await place.close();
});

interface Sent {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: { code?: string; errors?: { pointer: string | null; name: string | null }[] } | null;
}

async function send(
  operation: RegisteredOperation,
  options: { token?: string | null; url?: string; body?: unknown; method?: string; headers?: Record<string, string> } = {},
): Promise<Sent> {
  const token = options.token === undefined ? tenant.tokens.owner : options.token;
  const reply = await api.app.inject({
    method: (options.method ?? operation.method) as 'GET',
    url: options.url ?? pathOf(operation, world),
    headers: {
      ...(token === null ? {} : bearer(token)),
      ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...(options.body === undefined ? {} : { payload: JSON.stringify(options.body) }),
  });
  const isJson = String(reply.headers['content-type']).includes('json');
  return { status: reply.statusCode, headers: reply.headers, body: isJson && reply.body !== '' ? reply.json() : null };
}

/** A request that fails on its shape once every check before that is passed. */
const misshapen = (operation: RegisteredOperation, token: string | null) =>
  send(operation, { token, url: `${pathOf(operation, world)}?no_such_parameter=1` });

test.each(each(guarded))('%s needs a credential', async (_id, operation) => {
  expect(await misshapen(operation, null)).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
  expect(await misshapen(operation, 'garbled')).toMatchObject({ status: 401, body: { code: 'credential_invalid' } });
});

test.each(each(live.filter((operation) => operation.access === 'none')))(
  '%s needs none, and is not hindered by a bad one',
  async (_id, operation) => {
    expect((await misshapen(operation, 'garbled')).status).toBe(422);
  },
);

test.each(each(guarded))('%s admits the roles from its floor up, and keys where it says so', async (_id, operation) => {
  const admitted = await Promise.all(roles.map(async (role) => [role, (await misshapen(operation, tenant.tokens[role])).status]));
  const byKey = await misshapen(operation, tenant.serviceKey.plaintext);
  const floor = rankOf(operation.access as (typeof roles)[number]);

  expect(admitted).toEqual(roles.map((role) => [role, rankOf(role) < floor ? 403 : 422]));
  expect(byKey.status).toBe(isSessionOnly(operation) || rankOf('admin') < floor ? 403 : 422);
});

test.each(each(guarded.filter((operation) => operation.path.includes('{') && operation.method !== 'DELETE')))(
  '%s does not confirm another tenant’s id',
  async (_id, operation) => {
    const body = operation.body ? bodyOf(operation, world) : undefined;
    const foreign = await send(operation, { token: stranger.organizationOwner.token, body, headers: { 'if-match': '*' } });
    const random = await send(operation, {
      token: stranger.organizationOwner.token,
      body,
      url: pathOf(operation, { ...world, ids: {} }),
      headers: { 'if-match': '*' },
    });

    expect([foreign.status, random.status]).toEqual([404, 404]);
    expect(comparable(foreign)).toEqual(comparable(random));
    expect(await auditOf(foreign)).toEqual([]);
  },
);

test.each(each(live.filter((operation) => operation.path.includes('{'))))(
  '%s refuses a path parameter that is none',
  async (_id, operation) => {
    const reply = await send(operation, { token: tenant.tokens.operator, url: pathOf(operation, world, 'no-id') });

    expect(reply.status).toBe(422);
  },
);

test.each(each(live.filter((operation) => queryNamesOf(operation).length > 0)))(
  '%s refuses an empty value for each of its parameters',
  async (_id, operation) => {
    for (const name of queryNamesOf(operation)) {
      const reply = await send(operation, { url: `${pathOf(operation, world)}?${name}=` });

      expect(reply).toMatchObject({ status: 422, body: { errors: [{ name }] } });
    }
  },
);

test.each(each(live.filter((operation) => operation.body !== null)))(
  '%s refuses null for each field that is not nullable, and writes nothing',
  async (_id, operation) => {
    const before = await rowCount();
    for (const { pointer, body } of nullsOf(operation.body ?? {}, bodyOf(operation, world))) {
      const reply = await send(operation, { body });

      expect([pointer, reply.status, reply.body?.errors?.some((error) => error.pointer === pointer)]).toEqual([pointer, 422, true]);
    }
    expect(await rowCount()).toEqual(before);
  },
);

test.each(each(live.filter((operation) => ['POST', 'PUT', 'PATCH'].includes(operation.method))))(
  '%s refuses a field that it does not know',
  async (_id, operation) => {
    const body = withValue(bodyOf(operation, world) ?? {}, ['no_such_field'], 1);

    expect(await send(operation, { body })).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: '/no_such_field', rule: 'unknown_field' }] },
    });
  },
);

test('a method that does not live on a path is 405, and Allow is true', async () => {
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
  const paths = [...new Set(live.map((operation) => operation.path))];
  for (const path of paths) {
    const [operation] = live.filter((candidate) => candidate.path === path);
    if (!operation) continue;
    const alive = live.filter((candidate) => candidate.path === path).map((candidate) => candidate.method);
    for (const method of methods.filter((candidate) => !alive.includes(candidate as 'GET'))) {
      const reply = await send(operation, { method });

      expect([method, path, reply.status]).toEqual([method, path, 405]);
      expect(
        String(reply.headers['allow'])
          .split(', ')
          .filter((name) => !['HEAD', 'OPTIONS'].includes(name))
          .toSorted(),
      ).toEqual(alive.toSorted());
    }
  }
});

test.each(each(live.filter((operation) => operation.body !== null)))(
  '%s meets 25 damaged bodies without a fault of its own',
  async (_id, operation) => {
    const valid = bodyOf(operation, world);
    const places = [
      [],
      ...Object.keys(Object(valid)).map((key) => [key]),
      ['no_such_field'],
      ...Object.entries(Object(valid)).flatMap(([key, child]) =>
        typeof child === 'object' && child !== null ? Object.keys(child).map((inner) => [key, inner]) : [],
      ),
    ];

    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...places), fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }), async (at, value) => {
        expect((await send(operation, { token: tenant.tokens.viewer, body: withValue(valid, at, value) })).status).toBeLessThan(500);
        expect((await send(operation, { body: withValue(valid, at, value), headers: { 'if-match': '"0"' } })).status).toBeLessThan(500);
      }),
      { numRuns: 25, seed: 20_260_101 },
    );
  },
);

test.each(each(live))('%s takes a valid request, and leaves the audit entry that the list says', async (_id, operation) => {
  const tokens = { operator: tenant.tokens.operator, none: null } as Record<string, string | null>;
  // A logout ends the session that it is sent with.
  const token =
    operation.operationId === 'logout'
      ? tenant.organizationAdmin.token
      : operation.access in tokens
        ? tokens[operation.access]
        : tenant.tokens.owner;
  const fresh = await freshWorld(api, { tenant, world, operation });
  const reply = await send(operation, {
    token,
    body: bodyOf(operation, fresh),
    url: pathOf(operation, fresh),
    headers: { 'if-match': '*' },
  });

  expect(operation.success ?? [successOf(operation)]).toContain(reply.status);
  const entries = await auditOf(reply);
  expect(entries).toEqual(
    operation.audit === 'none' ? [] : [{ action: operation.audit, operation_id: operation.operationId, outcome: 'success' }],
  );
});

test('what was created can be read, what was deleted is gone', async () => {
  const made = await api.app.inject({
    method: 'POST',
    url: '/service-keys',
    headers: bearer(tenant.tokens.admin),
    payload: { name: 'short-lived' },
  });
  const path = String(made.headers['location']);

  expect((await api.app.inject({ url: path, headers: bearer(tenant.tokens.admin) })).statusCode).toBe(200);
  await api.app.inject({ method: 'DELETE', url: path, headers: bearer(tenant.tokens.admin) });
  expect((await api.app.inject({ url: '/auth/me', headers: bearer(made.json().plaintext) })).statusCode).toBe(401);
});

/** The audit entries of one request. */
async function auditOf({ headers }: Sent): Promise<unknown[]> {
  const sql = 'select action, operation_id, outcome from audit_entries where correlation_id = ?';
  return sweep(api.db, (em) => rows(em, sql, [headers['x-correlation-id']]));
}

/** Rows of everything that a tenant may make. */
async function rowCount(): Promise<unknown> {
  return sweep(api.db, (em) =>
    row(
      em,
      `select (select count(*) from agents) as agents, (select count(*) from agent_revisions) as revisions, (select count(*) from tools) as tools, (select count(*) from runs) as runs,
      (select count(*) from service_keys) as keys, (select count(*) from audit_entries) as audits, (select count(*) from outbox) as outbox`,
    ),
  );
}

function comparable({ status, body }: Sent): unknown {
  return { status, ...body, correlation_id: null, instance: null };
}
