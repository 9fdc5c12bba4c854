import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { TestTenant } from '../../support/tenant.ts';
import { makeAgent } from '../world.ts';
import { openPeople, type People } from './people.ts';

let people: People;
/** A second process of the same deployment. */
let second: People;

beforeAll(async () => {
  people = await openPeople();
  const { database, keys, redisPrefix } = people.api;
  second = await openPeople({ database, keys, redisPrefix });
});

afterAll(async () => {
  await second.close();
  await people.close();
});

/** Opens the stream of a run that no worker takes; `end` gives what had come when the server closed it. */
async function openStream(tenant: TestTenant, token: string): Promise<{ status: number; end: Promise<string> }> {
  const agent = await makeAgent(people, tenant.tokens.admin);
  const run = await people.call(tenant.tokens.admin, 'POST', '/runs', { body: { agent_id: agent.id, input: { text: 'Hi' } } });
  const reply = await fetch(`${people.api.url}/runs/${run.body.id}/stream`, { headers: { authorization: `Bearer ${token}` } });
  return { status: reply.status, end: reply.text() };
}

/** What came until the end of a stream that nobody looks at by themselves: only being told can end it. */
async function endOnceTold(end: Promise<string>, change: () => Promise<{ status: number }>): Promise<string> {
  const { limits } = people.api.deps.hub;
  const { accessMs } = limits;
  Object.assign(limits, { accessMs: 86_400_000 });
  try {
    expect(await change()).toMatchObject({ status: 200 });
    return await end;
  } finally {
    Object.assign(limits, { accessMs });
  }
}

test('a change of home on another process ends the streams that it no longer allows, as soon as it is told', async () => {
  const tenant = await people.tenant({ workspaces: 2 });
  const [, other] = tenant.workspaceIds;
  const { id, token } = tenant.users.member;
  const { status, end } = await openStream(tenant, token);

  const text = await endOnceTold(end, () =>
    second.call(tenant.organizationOwner.token, 'PUT', `/users/${id}/role`, {
      body: { role: 'member', scope: 'workspace', workspace_id: other },
    }),
  );

  expect(status).toBe(200);
  expect(text).toContain('not_found');
});

test('deactivation on another process ends the streams of the user and of the keys that they made', async () => {
  const tenant = await people.tenant();
  const { id, token } = tenant.users.admin;
  const key = await people.call(token, 'POST', '/service-keys', { body: { name: 'k', role: 'viewer' } });
  const [own, ofKey] = [await openStream(tenant, token), await openStream(tenant, key.body.plaintext)];
  const both = Promise.all([own.end, ofKey.end]).then((texts) => texts.join(''));

  const text = await endOnceTold(both, () => second.call(tenant.organizationOwner.token, 'POST', `/users/${id}/deactivate`));

  expect([own.status, ofKey.status]).toEqual([200, 200]);
  expect(text).toContain('session_revoked');
  expect(text).toContain('credential_invalid');
});
