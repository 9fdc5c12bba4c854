import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { row } from '../../db/sql.ts';
import { organizationTenant, systemActor, transact } from '../../db/transaction.ts';
import type { Databases } from '../../db/databases.ts';
import { createShares } from '../../db/shares.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ poolMax: 4 });
});
afterAll(() => database.drop());

/** Transactions of one organization that hold their connections until they are let go. */
function hold(db: Databases, organizationId: string, count: number) {
  const go = Promise.withResolvers<void>();
  const begun: Promise<void>[] = [];
  const ended = Array.from({ length: count }, () => {
    const has = Promise.withResolvers<void>();
    begun.push(has.promise);
    return within(db, organizationId, async () => {
      has.resolve();
      await go.promise;
    });
  });
  return { begun, letGo: () => go.resolve(), ended };
}

function within(db: Databases, organizationId: string, work: () => Promise<void>) {
  const options = { tenant: organizationTenant(organizationId), actor: systemActor, correlationId: newId() };
  return transact(db, options, async (tx) => {
    await row(tx.em, 'select 1 as one');
    await work();
  });
}

test('an organization whose transactions all wait leaves connections for every other', async () => {
  const crowd = hold(database.db, newId(), 12);
  await Promise.all(crowd.begun.slice(0, 2));

  // Both of those that are kept free, at once, while the crowd holds its share and ten more of it wait.
  const others = hold(database.db, newId(), 2);
  await Promise.all(others.begun);
  others.letGo();
  crowd.letGo();
  await Promise.all([...others.ended, ...crowd.ended]);
});

test('a share is given back by commit, by rollback and by a transaction that could not begin', async () => {
  const organizationId = newId();
  const fails = () => within(database.db, organizationId, () => Promise.reject(new Error('no')));
  for (let tries = 0; tries < 5; tries += 1) await expect(fails()).rejects.toThrow('no');
  for (let tries = 0; tries < 5; tries += 1) await within(database.db, organizationId, async () => undefined);

  const closed = await testDatabase({ poolMax: 4 });
  await closed.drop();
  for (let tries = 0; tries < 5; tries += 1)
    await expect(within(closed.db, organizationId, async () => undefined)).rejects.not.toThrow('Too much is under way');
});

test('who waits for too long is told to come back, and loses the place', async () => {
  const shares = createShares({ poolMax: 3, waitMs: 50 });
  const giveBack = await shares.take('a');

  await expect(shares.take('a')).rejects.toMatchObject({ code: 'service_unavailable', context: { reason: 'organization_busy' } });
  giveBack();
  giveBack();
  (await shares.take('a'))();
  // Given back twice it is still one share.
  const again = await shares.take('a');
  await expect(shares.take('a')).rejects.toMatchObject({ code: 'service_unavailable' });
  again();
});
