import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openPeople, type People } from '../users/people.ts';

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

/** Two operators and nobody else of their rank. */
async function twoOperators() {
  const tenant = await people.tenant();
  const other = await people.user(tenant, { role: 'operator', scope: 'platform' });
  const both = [tenant.users.operator, other] as const;
  await people.rows(`update users set is_active = false where role = 'operator' and id <> all(?::uuid[]) returning 1`, [
    `{${both.map(({ id }) => id).join(',')}}`,
  ]);
  return both;
}

test.each([
  ['deactivate', 'POST', '/deactivate'],
  ['delete', 'DELETE', ''],
] as const)('of two operators who %s each other at once one stays', async (_what, method, suffix) => {
  for (let round = 0; round < 5; round += 1) {
    const [one, other] = await twoOperators();

    const answers = await Promise.all([
      people.call(one.token, method, `/users/${other.id}${suffix}`),
      second.call(other.token, method, `/users/${one.id}${suffix}`),
    ]);
    const left = await people.rows(`select id from users where role = 'operator' and is_active and deleted_at is null`);

    expect(left).toHaveLength(1);
    // Whoever was put out before the look at the credential is 401.
    expect(answers.map(({ status }) => status).toSorted()[1]).toBeGreaterThanOrEqual(401);
  }
});
