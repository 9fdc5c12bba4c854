import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { finishRun } from '../../../domain/runs/end/finish-run.ts';
import { change, rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { askedRun, openGates } from '../../approvals/asked-run.ts';
import { clientFamily, clientRun, type Pending } from '../../approvals/client-run.ts';
import { openTreeWorld, type TreeWorld } from '../../sub-agents/tree.ts';
import { isOfRequest } from '../../support/statements.ts';
import { openWorld } from '../world.ts';

const statements: string[] = [];
let tree: TreeWorld;

beforeAll(async () => {
  tree = await openTreeWorld(await openWorld({ onQuery: (sql) => statements.push(sql) }));
});

afterAll(() => tree?.close());

const tokens = () => tree.tenant.tokens;
const get = async (path: string, token = tokens().viewer) => (await tree.world.call(token, 'GET', path)).body;
const pendingOf = async (runId: string): Promise<Pending[]> => (await get(`/runs/${runId}`)).pending_tool_calls;
const result = (id: string, output: unknown = 'Done.') => ({ tool_call_id: id, status: 'succeeded', output });
const give = (runId: string, results: readonly object[], token = tokens().member) =>
  tree.world.call(token, 'POST', `/runs/${runId}/input`, { body: { kind: 'tool_results', results } });
const signalled = async (ids: readonly string[]) =>
  (
    await sweep(tree.world.api.db, (em) =>
      rows<{ target: string }>(
        em,
        `select target from outbox where payload ->> 'signal' = 'resultsAdded' and target = any (?) order by target`,
        [ids.map((id) => `run:${id}`)],
      ),
    )
  ).map(({ target }) => target.slice(4));
const hash = /^[0-9a-f]{64}$/;

test('an open call of the client stands in the run, its messages and its steps, until it ends: nothing needs the stream', async () => {
  const { runId, callIds, slug } = await clientRun(tree, { args: [{ n: 7 }] });
  const [id = ''] = callIds;

  const run = await get(`/runs/${runId}`);
  const waited = await get(`/runs/${runId}/wait?timeout_s=0`);
  const asked = (await get(`/runs/${runId}/messages`)).items.at(-1);
  const step = (await get(`/runs/${runId}/steps?tool_call_id=${id}`)).items[0];
  const given = await give(runId, [result(id)]);

  const call = { tool_call_id: id, slug, args: { n: 7 }, args_hash: expect.stringMatching(hash), truncated: false };
  expect(run).toMatchObject({ status: 'waiting', waiting_on: 'client_tool' });
  expect(run.pending_tool_calls).toEqual([{ ...call, run_id: runId, deadline_at: run.waiting_until }]);
  expect(waited.pending_tool_calls).toEqual(run.pending_tool_calls);
  expect(asked).toMatchObject({ tool_call_ids: [id], tool_calls: [{ ...call, client_owned: true, deadline_at: run.waiting_until }] });
  expect(step).toMatchObject({ kind: 'tool', name: slug, status: 'running', args: { n: 7 }, tool_call_id: id, message_id: asked.id });
  expect(given).toMatchObject({ status: 202, body: { status: 'running', pending_tool_calls: [] } });
  expect((await get(`/runs/${runId}/messages`)).items.find((one: { id: string }) => one.id === asked.id).tool_calls).toEqual([
    { ...call, client_owned: true, deadline_at: null },
  ]);
  expect((await get(`/runs/${runId}/steps?tool_call_id=${id}`)).items).toMatchObject([{ id: step.id, status: 'succeeded' }]);
});

test('lists leave the calls out; a run without any shows none', async () => {
  const { runId, callIds } = await clientRun(tree);
  const listed = async () => (await get('/runs')).items.find((one: { id: string }) => one.id === runId);

  expect((await listed()).pending_tool_calls).toBeNull();
  await give(
    runId,
    callIds.map((id) => result(id)),
  );
  expect(await pendingOf(runId)).toEqual([]);
  expect((await listed()).pending_tool_calls).toBeNull();
});

test('reading a run with open calls takes one statement, and so do its messages and steps behind the look for the run', async () => {
  const { rootId } = await clientFamily(tree);
  const taken = async (path: string) => {
    statements.length = 0;
    await get(path);
    return statements.filter(isOfRequest).length;
  };

  expect(await taken(`/runs/${rootId}`)).toBe(1);
  expect(await taken(`/runs/${rootId}/wait?timeout_s=0`)).toBe(1);
  expect(await taken(`/runs/${rootId}/messages`)).toBe(2);
  expect(await taken(`/runs/${rootId}/steps`)).toBe(2);
});

test('results for one run or for three lock and settle in the same few statements', async () => {
  const alone = await clientRun(tree);
  const family = await clientFamily(tree);
  const taken = async (work: () => Promise<{ status: number }>) => {
    statements.length = 0;
    expect((await work()).status).toBe(202);
    return statements.filter((sql) => /for no key update of "r"|jsonb_agg\(w\)/.test(sql)).length;
  };

  const one = await taken(() => give(alone.runId, [result(alone.callIds[0] ?? '')]));
  const many = await taken(() => give(family.rootId, [result(family.leafCall), result(family.middleCall)]));

  expect([one, many]).toEqual([2, 2]);
});

test('each run of a tree shows its own calls and those below it, and all wait for the client', async () => {
  const { rootId, middleId, leafId, middleCall, leafCall } = await clientFamily(tree);

  const ids = async (runId: string) => (await pendingOf(runId)).map((call) => [call.run_id, call.tool_call_id]);
  const [ofMiddle, ofLeaf] = [
    [middleId, middleCall],
    [leafId, leafCall],
  ];

  expect(await ids(rootId)).toEqual([ofMiddle, ofLeaf]);
  expect(await ids(middleId)).toEqual([ofMiddle, ofLeaf]);
  expect(await ids(leafId)).toEqual([ofLeaf]);
  for (const id of [rootId, middleId, leafId])
    expect(await get(`/runs/${id}`)).toMatchObject({ status: 'waiting', waiting_on: 'client_tool' });
});

test('the root answers for all below it at once: calls, statuses and a signal for each run that had one', async () => {
  const { rootId, middleId, leafId, middleCall, leafCall } = await clientFamily(tree);

  const given = await give(rootId, [result(leafCall, { n: 3 }), result(middleCall, 'two')]);

  expect(given).toMatchObject({ status: 202, body: { id: rootId, status: 'running', pending_tool_calls: [] } });
  for (const id of [middleId, leafId]) expect(await get(`/runs/${id}`)).toMatchObject({ status: 'running', pending_tool_calls: [] });
  expect(await tree.one('select state, output from tool_calls where id = ?', [leafCall])).toEqual({ state: 'succeeded', output: { n: 3 } });
  expect(await signalled([rootId, middleId, leafId])).toEqual([middleId, leafId].toSorted());
  expect(
    (await tree.frames(rootId))
      .filter((frame) => frame.type === 'tool.result')
      .map((frame) => frame.run_id)
      .toSorted(),
  ).toEqual([middleId, leafId].toSorted());
});

test('of results for several runs of a tree all are taken or none', async () => {
  const { rootId, middleCall, leafCall } = await clientFamily(tree);
  const strange = await clientRun(tree);

  const refused = await give(rootId, [result(leafCall), result(strange.callIds[0] ?? '')]);
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: '/results/1/tool_call_id', rule: 'reference' }] } });
  await give(rootId, [result(middleCall)]);
  const other = await give(rootId, [result(leafCall), result(middleCall, 'another')]);

  expect(other).toMatchObject({ status: 409, body: { context: { reason: 'result_recorded', tool_call_id: middleCall } } });
  expect((await pendingOf(rootId)).map((call) => call.tool_call_id)).toEqual([leafCall]);
});

test('a call above or beside a run, of another tree or of another tenant is like one that is not there', async () => {
  const { rootId, leafId, middleCall } = await clientFamily(tree);
  const beside = await clientFamily(tree);
  const other = await tree.world.tenant();

  for (const id of [middleCall, beside.leafCall, crypto.randomUUID()])
    expect(await give(leafId, [result(id)])).toMatchObject({
      status: 422,
      body: {
        errors: [{ pointer: '/results/0/tool_call_id', rule: 'reference', message: 'The run and its descendants have no such call.' }],
      },
    });
  expect((await give(rootId, [result(middleCall)], other.tokens.owner)).status).toBe(404);
  expect((await give(rootId, [result(middleCall)], tokens().viewer)).status).toBe(403);
  expect(await pendingOf(rootId)).toHaveLength(2);
});

test('50 calls are shown, the oldest first, and the next one once a result has come', async () => {
  const { runId, callIds } = await clientRun(tree, { args: Array.from({ length: 51 }, (_, n) => ({ n })) });

  const shown = (await pendingOf(runId)).map((call) => call.tool_call_id);
  await give(
    runId,
    callIds.slice(0, 50).map((id) => result(id)),
  );

  expect(shown).toEqual(callIds.slice(0, 50));
  expect((await pendingOf(runId)).map((call) => call.args)).toEqual([{ n: 50 }]);
});

test('arguments fill 256 KiB at most; what comes behind says so, has them in its step, and comes up in its turn', async () => {
  const args = [150_000, 150_000, 10].map((length, n) => ({ n, long: 'x'.repeat(length) }));
  const { runId, callIds } = await clientRun(tree, { args });
  const cut = { args: null, truncated: true, args_hash: expect.stringMatching(hash) };

  expect(await pendingOf(runId)).toMatchObject([{ args: args[0], truncated: false }, cut, cut]);
  expect((await get(`/runs/${runId}/messages`)).items.at(-1).tool_calls).toMatchObject([{ args: args[0], truncated: false }, cut, cut]);
  expect((await get(`/runs/${runId}/steps?tool_call_id=${callIds[1]}`)).items).toMatchObject([{ args: args[1] }]);
  await give(runId, [result(callIds[0] ?? '')]);
  expect(await pendingOf(runId)).toMatchObject([
    { args: args[1], truncated: false },
    { args: args[2], truncated: false },
  ]);
});

test('a result twice changes nothing, from the root as from the run itself; another is 409', async () => {
  const { rootId, leafId, leafCall } = await clientFamily(tree);

  const answers = [await give(rootId, [result(leafCall)]), await give(rootId, [result(leafCall)]), await give(leafId, [result(leafCall)])];
  const other = await give(rootId, [result(leafCall, 'another')]);

  expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
  expect(other).toMatchObject({ status: 409, body: { context: { reason: 'result_recorded' } } });
  expect(await signalled([leafId])).toEqual([leafId]);
});

test('two clients that answer a tree at once, at root and leaf: one result counts, the other is told', async () => {
  const { rootId, leafId, leafCall } = await clientFamily(tree);

  const answers = await Promise.all([give(rootId, [result(leafCall, 'a')]), give(leafId, [result(leafCall, 'b')])]);

  expect(answers.map(({ status }) => status).toSorted()).toEqual([202, 409]);
});

test('a result too long for its frame is read whole where the frame points to', async () => {
  const { runId, callIds } = await clientRun(tree, { tool: { response_max_chars: 200_000 } });
  const output = 'x'.repeat(150_000);
  await give(runId, [result(callIds[0] ?? '', output)]);
  const [told] = (await tree.frames(runId)).flatMap((frame) => (frame.type === 'tool.result' ? [frame.data] : []));

  const { items } = await get(told?.ref ?? '');

  expect(told).toMatchObject({ truncated: true, total_chars: 150_000 });
  expect(items).toMatchObject([{ role: 'tool', tool_call_id: callIds[0], content: [{ type: 'text' }] }]);
  expect(items[0].content[0].text === output).toBe(true);
});

test('what people change about a call before its client gets it is what the client reads', async () => {
  const { runId, callIds, approvalIds } = await askedRun(tree, { tool: { client_owned: true, timeout_s: 600 } });

  expect(await pendingOf(runId)).toEqual([]);
  await tree.world.call(tokens().admin, 'POST', `/runs/${runId}/approvals`, {
    body: { resolutions: [{ approval_id: approvalIds[0], decision: 'edit', edited_args: { n: 8 } }] },
  });

  expect(await pendingOf(runId)).toMatchObject([{ tool_call_id: callIds[0], args: { n: 8 } }]);
  expect((await get(`/runs/${runId}/messages`)).items.at(-1).tool_calls).toMatchObject([{ args: { n: 8 } }]);
  expect((await get(`/runs/${runId}/steps?tool_call_id=${callIds[0]}`)).items).toMatchObject([{ status: 'running', args: { n: 8 } }]);
});

test('a fork shows the calls of what it took over, none of them open', async () => {
  const { runId, callIds, slug } = await clientRun(tree);
  await give(runId, [result(callIds[0] ?? '')]);
  await tree.as(runId, (tx) => finishRun(tx, { runId, reason: 'stop' }));
  const answer = (await get(`/runs/${runId}/messages`)).items.at(-1);

  const fork = await tree.world.call(tokens().admin, 'POST', `/runs/${runId}/retry`, {
    body: { fork_at_message_id: answer.id, input: { text: 'Go on.' } },
  });

  const copied = (await get(`/runs/${fork.body.id}/messages?scope=conversation`)).items.filter(
    (one: { tool_calls: readonly object[] }) => one.tool_calls.length > 0,
  );
  expect(fork.body.pending_tool_calls).toEqual([]);
  expect(copied).toMatchObject([
    { run_id: fork.body.id, tool_calls: [{ tool_call_id: callIds[0], slug, args: { n: 1 }, deadline_at: null }] },
  ]);
});

test('past its time a call is shown no longer, and takes no result', async () => {
  const { runId, callIds } = await clientRun(tree);
  const [id = ''] = callIds;
  await sweep(tree.world.api.db, (em) => change(em, `update tool_calls set deadline_at = now() - interval '1 second' where id = ?`, [id]));
  await openGates(tree, runId);

  expect(await get(`/runs/${runId}`)).toMatchObject({ status: 'running', pending_tool_calls: [] });
  expect(await give(runId, [result(id)])).toMatchObject({ status: 409, body: { context: { reason: 'not_awaited', tool_call_id: id } } });
  expect((await get(`/runs/${runId}/steps?tool_call_id=${id}`)).items).toMatchObject([{ status: 'timed_out' }]);
});

test('a cancel takes the calls of the whole tree back at once, and its end leaves no step open', async () => {
  const { rootId, middleId, leafId, leafCall } = await clientFamily(tree);

  const asked = await tree.world.call(tokens().member, 'POST', `/runs/${rootId}/cancel`);
  const seen = [await pendingOf(rootId), await pendingOf(leafId)];
  for (const runId of [leafId, middleId, rootId]) await tree.as(runId, (tx) => finishRun(tx, { runId, reason: 'cancelled' }));

  expect(asked.body).toMatchObject({ status: 'cancelling', pending_tool_calls: [] });
  expect(seen).toEqual([[], []]);
  expect(await get(`/runs/${rootId}`)).toMatchObject({ status: 'cancelled', pending_tool_calls: [] });
  expect(await give(rootId, [result(leafCall)])).toMatchObject({
    status: 409,
    body: { context: { reason: 'run_finished', run: { pending_tool_calls: [] } } },
  });
  expect((await get(`/runs/${leafId}/steps?tool_call_id=${leafCall}`)).items).toMatchObject([{ status: 'cancelled' }]);
  expect(await tree.faults([rootId, middleId, leafId])).toEqual([]);
});
