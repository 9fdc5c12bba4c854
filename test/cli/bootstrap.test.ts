import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { verify } from '@node-rs/argon2';
import { bootstrap, type BootstrapAccess } from '../../cli/bootstrap.ts';
import { callerOfKey } from '../../domain/identity/callers/caller.ts';
import { findLogin, findServiceKey } from '../../db/identity/lookup/credential-lookup.ts';
import { randomKeyRing } from '../../db/key-ring.ts';
import { newServiceKeyPlaintext, serviceKeyHashes } from '../../db/identity/keys/service-key-format.ts';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';

const keys = randomKeyRing();
const secrets = { operatorPassword: randomUUID(), ownerPassword: randomUUID(), serviceKey: newServiceKeyPlaintext() };
const options = { publicUrl: 'http://127.0.0.1:3000', internalUrl: null, defaultModelId: 'builtin/extractive', known: null, secrets };
let database: TestDatabase;

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

const start = async (over: Partial<Parameters<typeof bootstrap>[1]> = {}) =>
  (await bootstrap({ db: database.db, keys }, { ...options, ...over })).access;
const ask = <T>(sql: string, params: unknown[] = []) => sweep(database.db, (em) => rows<T>(em, sql, params));
const countRows = async () => {
  const tables = ['users', 'organizations', 'workspaces', 'service_keys', 'agents', 'agent_revisions', 'tools', 'audit_entries'];
  const counts = await Promise.all(tables.map(async (table) => (await ask<{ n: number }>(`select count(*) as n from ${table}`))[0]?.n));

  return Object.fromEntries(tables.map((table, index) => [table, counts[index]]));
};

/** Whether each credential of an access works. */
async function works(access: BootstrapAccess): Promise<{ owner: boolean; operator: boolean; key: boolean }> {
  const fits = async (email: string, password: string) => verify((await findLogin(database.db, email))?.passwordHash ?? '', password);
  const found = await findServiceKey(database.db, serviceKeyHashes(access.service_key, keys.peppers), null);
  const caller = found && callerOfKey(found.key, found.creator);

  return {
    owner: await fits(access.email, access.password),
    operator: await fits(access.operator_email, access.operator_password),
    key: caller?.role === 'admin' && caller.workspaceId === access.workspace_id,
  };
}

test('two first starts at once make one deployment, a further one repeats nothing', async () => {
  const [access, other] = await Promise.all([start(), start()]);
  const before = await countRows();

  const again = await start({ known: access });

  expect(other).toEqual(access);
  expect(again).toEqual(access);
  expect(await countRows()).toEqual(before);
  expect(before).toMatchObject({ users: 2, organizations: 1, workspaces: 1, agents: 1, agent_revisions: 1, tools: 1 });
  expect(await works(again)).toEqual({ owner: true, operator: true, key: true });
});

test("the agent is active, has a web_fetch tool and may reach the API's origin, also when the port has changed", async () => {
  const first = await start();
  const access = await start({ known: first, publicUrl: 'http://127.0.0.1:3999' });

  const [agent] = await ask<{ kind: string; model: string }>(
    `select t.kind, v.document ->> 'model' as model from agents a join agent_revisions v on v.id = a.active_revision_id
    join agent_refs r on r.revision_id = v.id join tools t on t.id = r.target_id where a.id = ?`,
    [access.agent_id],
  );
  const [settings] = await ask<{ egress_allowlist: unknown }>(
    'select egress_allowlist from organization_settings where organization_id = ?',
    [access.organization_id],
  );

  expect(agent).toEqual({ kind: 'web_fetch', model: 'builtin/extractive' });
  expect(access.base_url).toBe('http://127.0.0.1:3999');
  expect(settings?.egress_allowlist).toEqual([{ host: '127.0.0.1', port: 3_999, allow_http: true }]);
});

test('where containers reach the API stands on the allow-list, too, also when it is told later', async () => {
  const first = await start();
  const access = await start({ known: first, internalUrl: 'http://api:3000' });
  const [settings] = await ask<{ egress_allowlist: object[] }>(
    'select egress_allowlist from organization_settings where organization_id = ?',
    [access.organization_id],
  );

  expect(settings?.egress_allowlist).toContainEqual({ host: '127.0.0.1', port: 3_000, allow_http: true });
  expect(settings?.egress_allowlist).toContainEqual({ host: 'api', port: 3_000, allow_http: true });
});

test('a new default model becomes a new active revision, once; a revision made by people stays', async () => {
  const active = (agentId: string) =>
    ask<{ number: number; model: string }>(
      "select v.number, v.document ->> 'model' as model from agents a join agent_revisions v on v.id = a.active_revision_id where a.id = ?",
      [agentId],
    );
  const first = await start();

  await start({ known: first, defaultModelId: 'openai/gpt-test' });
  await start({ known: first, defaultModelId: 'openai/gpt-test' });
  expect(await active(first.agent_id)).toEqual([{ number: 2, model: 'openai/gpt-test' }]);

  await ask("update agent_revisions set note = 'by hand', created_by = jsonb_build_object('kind', 'user', 'id', null) where agent_id = ?", [
    first.agent_id,
  ]);
  await start({ known: first });
  expect(await active(first.agent_id)).toEqual([{ number: 2, model: 'openai/gpt-test' }]);
});

test('a start that was killed before it had written its access goes on with the same secrets', async () => {
  const killed = await start();

  expect(await start()).toEqual(killed);
  expect(await works(killed)).toEqual({ owner: true, operator: true, key: true });
});

test.each([
  ['an empty one', null],
  ['that of another database', (access: BootstrapAccess) => ({ ...access, organization_id: randomUUID() })],
])('a state folder that knows nothing of this database, %s, is refused and changes nothing', async (_what, strange) => {
  const access = await start();
  const before = await countRows();
  const others = { operatorPassword: randomUUID(), ownerPassword: randomUUID(), serviceKey: newServiceKeyPlaintext() };

  await expect(start({ secrets: others, known: strange && strange(access) })).rejects.toThrow(
    /already has the user \S+, but this state folder does not know its secret/,
  );

  expect(await countRows()).toEqual(before);
  expect(await works(access)).toEqual({ owner: true, operator: true, key: true });
});

test('access is made anew when that is asked for: passwords and key work, the old ones do not', async () => {
  const before = await start();
  const after = await start({ resets: true });

  expect(await works(after)).toEqual({ owner: true, operator: true, key: true });
  expect(await works(before)).toEqual({ owner: false, operator: false, key: false });
  expect({ ...after, password: '', operator_password: '', service_key: '' }).toEqual({
    ...before,
    password: '',
    operator_password: '',
    service_key: '',
  });
  expect(await start({ known: after })).toEqual(after);
});

test('a key that was revoked is replaced by one that nobody has seen', async () => {
  const access = await start({ resets: true });
  await ask('update service_keys set revoked_at = now() where revoked_at is null');

  const next = await start({ known: access });

  expect(next.service_key).not.toBe(access.service_key);
  expect(await works(next)).toEqual({ owner: true, operator: true, key: true });
});
