import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { RegisteredOperation } from '../../../api/http/operation/operation.ts';
import { takesAnyQuery } from '../../../api/http/reply/page.ts';
import { liveOperations, specifiedOperations } from '../../../api/http/operation/registry.ts';
import { areas } from '../../../api/operations.ts';
import { aim, groundFor } from '../../access/aim.ts';
import { authorizedActor } from '../../access/checks/audit.ts';
import { checksums } from '../../access/checksums.ts';
import { nullsOf, pathParametersOf, pathWith, queryNamesOf, withValue } from '../../access/requests.ts';
import { openStage, type Ask, type Sent, type Stage } from '../../access/stage.ts';
import { isFull } from '../../chaos/whole.ts';
import type { Actor } from '../../access/world/actors.ts';
import { bearer } from '../../support/tenant.ts';

// Shapes alone: who may send what is walked by test/access.
const live = liveOperations(areas);
const notYet = specifiedOperations(areas);
const withJson = live.filter((operation) => operation.body !== null && operation.form !== true && operation.multipart !== true);
/** Raw handlers, raw bodies and forms with a file are read by rules of their own: JSON-RPC on /mcp is open by design, and so is what a sender tells a hook. */
const isHeldAgainstSchema = ({ kind, multipart, rawBody }: RegisteredOperation) =>
  kind !== 'raw' && multipart !== true && rawBody === undefined;
const each = (operations: readonly RegisteredOperation[]) => operations.map((operation) => [operation.operationId, operation] as const);

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage?.close());

/** Somebody who is admitted, with a valid request that may be used up. */
async function ready(operation: RegisteredOperation): Promise<{ actor: Actor; ask: Ask }> {
  const ground = await groundFor(stage, operation);
  const actor = await stage.world.enter(authorizedActor(operation), ground);
  return { actor, ask: await aim(stage, operation, { actor, ground, isFresh: operation.method !== 'GET' }) };
}

const faultsOf = (sent: Sent) => (Array.isArray(sent.body?.['errors']) ? sent.body['errors'] : []);

const idsOf = (operation: RegisteredOperation) => pathParametersOf(operation).filter(({ kind }) => kind !== null);

test.each(each(live.filter((operation) => idsOf(operation).length > 0)))(
  '%s refuses a path parameter that is none',
  async (_id, operation) => {
    const params = Object.fromEntries(pathParametersOf(operation).map(({ name, kind }) => [name, kind === null ? 'name' : 'no-id']));
    const sent = await stage.send(operation, stage.world.actor('operator'), { url: pathWith(operation, params) });

    expect(sent.status).toBe(422);
  },
);

test.each(each(live.filter((operation) => queryNamesOf(operation).length > 0 && !takesAnyQuery(operation))))(
  '%s refuses an empty value for each of its parameters',
  async (_id, operation) => {
    const { actor, ask } = await ready(operation);
    for (const name of queryNamesOf(operation)) {
      const sent = await stage.send(operation, actor, { url: `${ask.url.split('?')[0]}?${name}=` });

      expect([name, sent.status, faultsOf(sent).some((fault) => fault.name === name)]).toEqual([name, 422, true]);
    }
  },
);

test.each(each(withJson.filter(isHeldAgainstSchema)))(
  '%s refuses null for each field that is not nullable, and writes nothing',
  async (_id, operation) => {
    const { actor, ask } = await ready(operation);
    const before = await checksums(stage.world.rows);
    for (const { pointer, body } of nullsOf(operation.body ?? {}, ask.body)) {
      const sent = await stage.send(operation, actor, { ...ask, body });

      expect([pointer, sent.status, faultsOf(sent).some((fault) => fault.pointer === pointer)]).toEqual([pointer, 422, true]);
    }
    expect(await checksums(stage.world.rows)).toEqual(before);
  },
);

test.each(
  each(
    live.filter(
      (operation) => ['POST', 'PUT', 'PATCH'].includes(operation.method) && isClosed(operation) && isHeldAgainstSchema(operation),
    ),
  ),
)('%s refuses a field that it does not know', async (_id, operation) => {
  const { actor, ask } = await ready(operation);
  const sent = await stage.send(operation, actor, { ...ask, body: withValue(ask.body ?? {}, ['no_such_field'], 1) });

  expect([sent.status, faultsOf(sent)]).toMatchObject([422, [{ pointer: '/no_such_field', rule: 'unknown_field' }]]);
});

test('a method that does not live on a path is 405, and Allow is true', async () => {
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
  for (const operation of new Map(live.map((candidate) => [candidate.path, candidate])).values()) {
    const ids = pathParametersOf(operation).map(({ name }) => [name, crypto.randomUUID()]);
    const url = pathWith(operation, Object.fromEntries(ids));
    // Another template may fit as well: an id could be called `current`.
    const alive = new Set(live.filter((candidate) => fits(candidate, url)).map(({ method }) => method));
    // Those that are specified and not there yet are 404, whatever else lives on their path.
    const later = new Set(notYet.filter((candidate) => fits(candidate, url)).map(({ method }) => method));
    for (const method of methods.filter((candidate) => !alive.has(candidate) && !later.has(candidate))) {
      const reply = await stage.api.app.inject({ method, url, headers: stage.world.actor('owner A').headers });
      const allowed = String(reply.headers['allow']).split(', ');

      expect([method, url, reply.statusCode]).toEqual([method, url, 405]);
      expect(allowed.filter((name) => !['HEAD', 'OPTIONS'].includes(name)).toSorted()).toEqual([...alive].toSorted());
    }
  }
});

test.each(each(withJson))('%s meets damaged bodies without a fault of its own', async (_id, operation) => {
  const { actor, ask } = await ready(operation);
  const viewer = stage.world.actor('viewer A1');
  const places = [[], ...placesIn(ask.body), ['no_such_field']];

  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...places), fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }), async (at, value) => {
      const damaged: Ask = { ...ask, body: withValue(ask.body, at, value), headers: { ...ask.headers, 'if-match': '"0"' } };
      expect((await stage.send(operation, viewer, damaged)).status).toBeLessThan(500);
      expect((await stage.send(operation, actor, damaged)).status).toBeLessThan(500);
    }),
    { numRuns: isFull ? 25 : 5, seed: 20_260_101 },
  );
});

test('what was created can be read, what was deleted is gone', async () => {
  const { headers } = stage.world.actor('admin A1');
  const made = await stage.api.app.inject({ method: 'POST', url: '/service-keys', headers, payload: { name: 'short-lived' } });
  const path = String(made.headers['location']);

  expect((await stage.api.app.inject({ url: path, headers })).statusCode).toBe(200);
  await stage.api.app.inject({ method: 'DELETE', url: path, headers });
  expect((await stage.api.app.inject({ url: '/auth/me', headers: bearer(made.json().plaintext) })).statusCode).toBe(401);
});

/** Fields of a body, and those of the objects in it. */
function placesIn(body: unknown): string[][] {
  return Object.entries(Object(body)).flatMap(([key, child]) => [
    [key],
    ...(typeof child === 'object' && child !== null ? Object.keys(child).map((inner) => [key, inner]) : []),
  ]);
}

/** Forms and the registration of clients are open by design, and have tests of their own. */
function isClosed(operation: RegisteredOperation): boolean {
  return operation.form !== true && operation.operationId !== 'registerOauthClient';
}

function fits({ path }: RegisteredOperation, url: string): boolean {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(url);
}
