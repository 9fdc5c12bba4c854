import { afterAll, beforeEach, afterEach, beforeAll, expect, test } from '@jest/globals';
import { randomKeyRing } from '../../../db/key-ring.ts';
import { createSessionTokens } from '../../../domain/identity/sessions/session-tokens.ts';
import { replaceSigningKey, rotateSigningKeys } from '../../../domain/identity/keys/signing-key-rotation.ts';
import { createSigningKeys, type SigningKeys } from '../../../domain/identity/keys/signing-keys.ts';
import { newId } from '../../../db/ids.ts';
import { change, rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { testDatabase, type TestDatabase } from '../../support/database.ts';

const keys = randomKeyRing();
const publicUrl = 'http://longhaul.test';
let database: TestDatabase;
let clockMs = 0;
const now = () => new Date(Date.now() + clockMs);
const opened: SigningKeys[] = [];

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  clockMs = 0;
  await write('delete from signing_keys');
  await newProcess();
});
afterEach(() => opened.splice(0).forEach((each) => each.close()));

const write = (sql: string, params: unknown[] = []) => sweep(database.db, (em) => change(em, sql, params));
const states = () =>
  sweep(database.db, (em) => rows<{ kid: string; state: string }>(em, 'select kid, state from signing_keys order by kid')).then((found) =>
    found.map(({ state }) => state),
  );
const turn = () => rotateSigningKeys(database.db, keys);
/** What another process of the deployment holds. */
async function newProcess(): Promise<{ signingKeys: SigningKeys; tokens: ReturnType<typeof createSessionTokens> }> {
  const signingKeys = createSigningKeys({ db: database.db, keys, now });
  opened.push(signingKeys);
  await signingKeys.ensure();
  return { signingKeys, tokens: createSessionTokens({ signingKeys, publicUrl, now }) };
}
const kidsOf = async (signingKeys: SigningKeys) => (await signingKeys.published()).map(({ kid }) => kid);
const subject = { userId: newId(), sessionId: newId() };

test('after 90 days a successor is published, a day later it signs, and a look before its time changes nothing', async () => {
  expect([await turn(), await states()]).toEqual(['none', ['current']]);

  await write("update signing_keys set current_at = now() - interval '90 days', created_at = now() - interval '90 days'");
  expect([await turn(), await turn(), await states()]).toEqual(['published', 'none', ['current', 'next']]);

  await write("update signing_keys set created_at = now() - interval '24 hours' where state = 'next'");
  expect([await turn(), await turn(), await states()]).toEqual(['replaced', 'none', ['retired', 'current']]);

  const audits = await sweep(database.db, (em) =>
    rows(em, "select action, organization_id, actor_kind from audit_entries where resource_type = 'signing_key' order by id"),
  );
  expect(audits).toEqual(['create', 'update'].map((action) => ({ action, organization_id: null, actor_kind: 'system' })));
});

test('many looks at once turn the keys once', async () => {
  await write("update signing_keys set current_at = now() - interval '90 days'");

  const turns = await Promise.all(Array.from({ length: 5 }, turn));

  expect(turns.toSorted()).toEqual(['none', 'none', 'none', 'none', 'published']);
  expect(await states()).toEqual(['current', 'next']);
});

test('next, current and what was retired within the hour are published, an older key is neither shown nor accepted', async () => {
  const first = await newProcess();
  const { token } = await first.tokens.issue(subject);
  const kid = await replaceSigningKey(database.db, keys);
  const second = await newProcess();

  expect(await kidsOf(second.signingKeys)).toEqual([kid, (await first.signingKeys.current()).kid]);
  expect(JSON.stringify(await second.signingKeys.published())).not.toContain('"d"');
  expect(await second.tokens.verify(token)).toMatchObject(subject);

  await write("update signing_keys set retired_at = now() - interval '61 minutes' where state = 'retired'");
  const third = await newProcess();
  expect(await kidsOf(third.signingKeys)).toEqual([kid]);
  await expect(third.tokens.verify(token)).rejects.toMatchObject({ code: 'credential_invalid' });
});

test('a key replaced at once reaches processes that run: within a minute they sign with it, and what it signs is accepted everywhere', async () => {
  const [one, other] = [await newProcess(), await newProcess()];
  const old = await one.tokens.issue(subject);
  const kid = await replaceSigningKey(database.db, keys);
  await write(
    "update signing_keys set current_at = current_at - interval '11 seconds', created_at = created_at - interval '11 seconds', retired_at = retired_at - interval '11 seconds'",
  );

  clockMs = 601_000; // as if the minute's clock had rung
  await one.signingKeys.published();
  clockMs = 0;
  const fresh = await one.tokens.issue(subject);

  expect((await one.signingKeys.current()).kid).toBe(kid);
  clockMs = 6_000; // the eleven seconds have passed for the other process, too
  for (const { token } of [old, fresh]) expect(await other.tokens.verify(token)).toMatchObject(subject);
});

test('for ten seconds a key that nobody has seen yet signs nothing: its predecessor does', async () => {
  const before = (await (await newProcess()).signingKeys.current()).kid;
  const kid = await replaceSigningKey(database.db, keys);

  expect((await (await newProcess()).signingKeys.current()).kid).toBe(before);
  await write(
    "update signing_keys set current_at = current_at - interval '11 seconds', created_at = created_at - interval '11 seconds', retired_at = retired_at - interval '11 seconds'",
  );
  expect((await (await newProcess()).signingKeys.current()).kid).toBe(kid);
});

test('a successor in waiting gives way to a key replaced at once, and retired keys go after a week', async () => {
  await write("update signing_keys set current_at = now() - interval '90 days'");
  await turn();
  await replaceSigningKey(database.db, keys);

  expect(await states()).toEqual(['retired', 'current']);
  await write("update signing_keys set retired_at = now() - interval '8 days' where state = 'retired'");
  await turn();
  expect(await states()).toEqual(['current']);
});
