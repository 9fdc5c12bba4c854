import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { deleteExpired, dropDeadLinks, expireUnlinked } from '../../../db/attachments/attachment-sweep.ts';
import { keysWithoutRow } from '../../../db/attachments/storage-keys.ts';
import { newStorageKey } from '../../../ports/storage/key.ts';
import { sweep } from '../../../db/transaction.ts';
import { change, row } from '../../../db/sql.ts';
import { runsAsActivities } from '../../support/runs-as-activities.ts';
import { withAdmin } from '../../support/template.ts';
import { until } from '../../support/temporal.ts';
import { makeAgent, openWorld, type World } from '../world.ts';
import { download, png, upload } from './uploads.ts';

let world: World;
const asJson = { accept: 'application/json' };

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const start = (token: string, agentId: string, ids: readonly unknown[], more: object = {}) =>
  world.call(token, 'POST', '/runs', {
    body: { agent_id: agentId, input: { text: 'Look', attachments: ids.map((id) => ({ attachment_id: id })) }, ...more },
  });
const sql = (text: string, params: readonly unknown[]) => sweep(world.api.db, (em) => change(em, text, params));

test('a run names its files in its input, its message and its lists, and everybody who sees the run sees them', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const { body: file } = await upload(world, tokens.member, png, { filename: 'a.png' });
  const ref = { attachment_id: file['id'], media_type: 'image/png', name: 'a.png', bytes: png.length };

  const before = await download(world, tokens.viewer, file['id'], asJson);
  const started = await start(tokens.member, agent.id, [file['id']]);
  const [read, listed, messages, after] = await Promise.all([
    world.call(tokens.viewer, 'GET', `/runs/${started.body.id}`),
    world.call(tokens.viewer, 'GET', '/runs'),
    world.call(tokens.viewer, 'GET', `/runs/${started.body.id}/messages`),
    download(world, tokens.viewer, file['id'], asJson),
  ]);

  expect([before.status, started.status, after.status]).toEqual([404, 202, 200]);
  for (const run of [started.body, read.body, listed.body.items[0]])
    expect(run.input).toEqual({ text: 'Look', attachments: [ref], truncated: false });
  expect(messages.body.items[0].content).toEqual([
    { type: 'text', text: 'Look' },
    { type: 'attachment', ...ref },
  ]);
  expect(after.body).toMatchObject({ linked: true, expires_at: null });
});

test('a file that the caller does not see is the same 422 as none, and nothing is started', async () => {
  const [mine, other] = await Promise.all([world.tenant(), world.tenant()]);
  const agent = await makeAgent(world, mine.tokens.admin);
  const [foreign, ofAdmin] = await Promise.all([upload(world, other.tokens.member, 'x'), upload(world, mine.tokens.admin, 'x')]);

  const refused = await Promise.all(
    [foreign.body['id'], crypto.randomUUID(), ofAdmin.body['id']].map((id) => start(mine.tokens.member, agent.id, [id])),
  );
  const runs = await world.call(mine.tokens.admin, 'GET', '/runs');

  for (const { status, body } of refused)
    expect([status, body.errors]).toEqual([
      422,
      [expect.objectContaining({ pointer: '/input/attachments/0/attachment_id', rule: 'reference', params: { kind: 'attachment' } })],
    ]);
  expect(runs.body.items).toEqual([]);
});

test('a file named twice, 21 files and a rejected one are refused', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const { body: file } = await upload(world, tokens.member, 'x');

  const twice = await start(tokens.member, agent.id, [file['id'], file['id']]);
  const many = await start(
    tokens.member,
    agent.id,
    Array.from({ length: 21 }, () => crypto.randomUUID()),
  );
  await sql(`update attachments set state = 'rejected' where id = ?`, [file['id']]);
  const rejected = await start(tokens.member, agent.id, [file['id']]);
  const bytes = await download(world, tokens.member, file['id']);

  expect([twice.status, many.status]).toEqual([422, 422]);
  expect([rejected.status, rejected.body.context.reason]).toEqual([409, 'attachment_not_ready']);
  expect([bytes.status, bytes.body['context']]).toEqual([409, { reason: 'attachment_not_ready', state: 'rejected' }]);
});

test('a run holds its files past their day; when it goes they are given a day, then they are gone', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const [{ body: held }, { body: loose }] = await Promise.all([
    upload(world, tokens.member, 'held'),
    upload(world, tokens.member, 'loose'),
  ]);
  const { body: run } = await start(tokens.member, agent.id, [held['id']]);
  const past = `update attachments set expires_at = now() - interval '1 second' where id = ?`;
  const exists = async (id: unknown) =>
    (await sweep(world.api.db, (em) => row(em, 'select 1 from attachments where id = ?', [id]))) !== null;
  const pass = async () => {
    await sweep(world.api.db, (em) => dropDeadLinks(em, 100));
    await sweep(world.api.db, (em) => expireUnlinked(em, 100));
    return sweep(world.api.db, (em) => deleteExpired(em, 100));
  };

  await sql(past, [loose['id']]);
  const first = await pass();
  expect([first.length, await exists(held['id']), await exists(loose['id'])]).toEqual([1, true, false]);

  await sql('update runs set deleted_at = now() where id = ?', [run.id]);
  const second = await pass();
  const waiting = await download(world, tokens.member, held['id'], asJson);
  expect([second.length, waiting.body['linked'], waiting.body['expires_at']]).toEqual([0, false, expect.any(String)]);

  await sql(past, [held['id']]);
  expect(await pass()).toHaveLength(1);
});

test('a message may name a file that its run holds already, before the run has begun and after', async () => {
  const tenant = await world.tenant();
  const place = runsAsActivities(world);
  const agent = await makeAgent(world, tenant.tokens.admin);
  const [{ body: held }, { body: more }] = await Promise.all([
    upload(world, tenant.tokens.member, 'held'),
    upload(world, tenant.tokens.member, 'more'),
  ]);
  const { body: run } = await start(tenant.tokens.member, agent.id, [held['id']]);
  const add = () =>
    world.call(tenant.tokens.member, 'POST', `/runs/${run.id}/input`, {
      body: { kind: 'message', text: 'Again.', attachments: [held, more].map((file) => ({ attachment_id: file['id'] })) },
    });

  const queued = await add();
  await place.begin(tenant, run.id);
  const running = await add();

  expect([queued.status, running.status]).toEqual([202, 202]);
  expect(queued.body.input.attachments.map((file: { attachment_id: string }) => file.attachment_id)).toEqual([held['id'], more['id']]);
  const content = (await place.query<{ content: object[] }>('select content from run_inputs where run_id = ?', [run.id]))[0]?.content;
  expect(content).toMatchObject([{ type: 'text' }, { attachment_id: held['id'] }, { attachment_id: more['id'] }]);
});

test('a file that changes at the moment of a start is held all the same', async () => {
  const { tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const files = await Promise.all(['a', 'b', 'c'].map(async (text) => (await upload(world, tokens.member, text)).body['id']));

  const started = await withAdmin(world.api.database.adminUrl, async (admin) => {
    const sql = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%attachments%'`;
    const waiters = async () => (await admin.query('select pg_stat_clear_snapshot()').then(() => admin.query(sql))).rowCount;
    await admin.query('begin');
    await admin.query(`update attachments set state = 'ready', expires_at = now() + interval '1 hour' where id = $1`, [files[1]]);
    const waiting = Promise.all([start(tokens.member, agent.id, files), start(tokens.member, agent.id, files)]);
    await until(async () => (await waiters()) === 2);
    await admin.query('commit');
    return { waiting };
  });

  expect((await started.waiting).map(({ status }) => status)).toEqual([202, 202]);
  for (const id of files) expect((await download(world, tokens.member, id, asJson)).body).toMatchObject({ linked: true, expires_at: null });
});

test('bytes without a row, and those of a rejected one, are strays; others are not', async () => {
  const { tokens, organizationId } = await world.tenant();
  const [kept, rejected] = await Promise.all([upload(world, tokens.member, 'a'), upload(world, tokens.member, 'b')]);
  await sql(`update attachments set state = 'rejected' where id = ?`, [rejected.body['id']]);
  const keyOf = async (id: unknown) =>
    (await sweep(world.api.db, (em) => row<{ storage_key: string }>(em, 'select storage_key from attachments where id = ?', [id])))
      ?.storage_key ?? '';
  const [keptKey, rejectedKey] = [await keyOf(kept.body['id']), await keyOf(rejected.body['id'])];
  const nobodys = newStorageKey(organizationId);

  const strays = await sweep(world.api.db, (em) => keysWithoutRow(em, [keptKey, rejectedKey, nobodys]));

  expect(strays.toSorted()).toEqual([rejectedKey, nobodys].toSorted());
});
