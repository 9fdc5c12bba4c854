import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { startApi, type TestApi } from '../support/api.ts';
import { bearer, makeTenant } from '../support/tenant.ts';
import { longhaulProcess } from './command.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

test('keys rotate --signing: a new key beside the one that retires, whose tokens still work on a running API', async () => {
  const { database, keys, db } = api;
  const tenant = await makeTenant(db, keys);
  const me = () => fetch(`${api.url}/auth/me`, { headers: bearer(tenant.tokens.member) }).then(({ status }) => status);
  expect(await me()).toBe(200);

  const { code, output } = await longhaulProcess(['keys', 'rotate', '--signing'], { database, keys }).ended;

  expect([code, await me()]).toEqual([0, 200]);
  const found = await sweep(db, (em) =>
    rows<{ kid: string; state: string }>(em, 'select kid, state from signing_keys order by state desc'),
  );
  expect(found.map(({ state }) => state)).toEqual(['retired', 'current']);
  expect(output).toContain(found[1]?.kid);
  expect((await api.deps.identity.signingKeys.published()).length).toBeGreaterThan(0);
});
