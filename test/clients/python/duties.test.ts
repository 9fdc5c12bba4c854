import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startModelServer, type ModelServer } from '../../fakes/model-server.ts';
import { makeAgent, scripted, startRun } from '../../support/scenario.ts';
import { startStack, type Stack } from '../../support/stack.ts';
import { describePython, startPlayer, type Player } from './python.ts';

const input_schema = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'], additionalProperties: false };
const findNote = {
  slug: 'find_note',
  kind: 'http',
  client_owned: true,
  effect: 'read',
  config: {},
  description: 'Looks for a note.',
  input_schema,
};

describePython('questions and tools of the Python client', () => {
  let models: ModelServer;
  let stack: Stack;
  let player: Player;
  let agentId: string;
  let hastyId: string;
  let key: string;

  beforeAll(async () => {
    models = await startModelServer();
    stack = await startStack({ processes: ['api', 'worker-runs'], modelBaseUrl: models.baseUrl });
    player = startPlayer('duties');
    key = stack.tenant.serviceKey.plaintext;
    const asks = { ...findNote, slug: 'file_note', critical: true, effect: 'write' };
    agentId = (await makeAgent(stack, [{ ...findNote, timeout_s: 300 }, asks])).id;
    hastyId = (await makeAgent(stack, [{ ...findNote, slug: 'hasty', timeout_s: 3 }])).id;
  });

  afterAll(async () => {
    player?.stop();
    await stack?.stop();
    await models?.close();
  });

  const text = (slug: string, ...queries: string[]) =>
    scripted(
      { steps: [{ tool_calls: queries.map((query) => ({ name: slug, arguments: { query } })) }, { text: 'Done.' }] },
      crypto.randomUUID(),
    );
  const given = (slug: string, ...queries: string[]) => ({ url: stack.url(), key, agent_id: agentId, text: text(slug, ...queries) });

  test('calls of the client are executed, once each, and what a tool throws is told to the model', async () => {
    expect(await player.play('executes', given('find_note', 'shop', 'broken'))).toEqual({
      called: [
        [{ query: 'broken' }, 'find_note', true],
        [{ query: 'shop' }, 'find_note', true],
      ],
      status: 'succeeded',
      results: [
        ['failed', null, 'there is no such note'],
        ['succeeded', { note: 'about shop' }, null],
      ],
    });
    expect(await player.play('executes_async', given('find_note', 'a', 'b'))).toEqual({ called: ['a', 'b'], status: 'succeeded' });
  });

  test('a process killed after its work: the next one gets the same call, and there is one result', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'longhaul-ledger-'));
    const path = join(folder, 'ledger');
    const run = await startRun(stack, agentId, text('find_note', 'shop'));
    const first = startPlayer('duties');
    const asked = { url: stack.url(), key, run_id: run.id, path };
    await expect(first.play('dies_after_its_work', asked)).rejects.toThrow('has ended');
    const entries = readFileSync(path, 'utf8').trim().split('\n');

    const shown = await player.play('goes_by_its_ledger', asked);

    rmSync(folder, { recursive: true });
    expect(entries).toHaveLength(1);
    expect(shown).toEqual({ known: [true], status: 'succeeded', results: ['from the ledger'] });
  });

  test('a tool is told when its run is cancelled, and when its time is over', async () => {
    expect(await player.play('is_told_of_the_end', given('find_note', 'shop'))).toEqual([true]);
    const hasty = { ...given('hasty', 'shop'), agent_id: hastyId };
    expect(await player.play('is_told_of_its_deadline', { ...hasty, slug: 'hasty' })).toEqual({ told: true, statuses: ['timed_out'] });
  });

  test('a question is asked once, answered with its hash, and an answer by somebody else is no error', async () => {
    expect(await player.play('approves', { ...given('file_note', 'shop'), slug: 'file_note' })).toMatchObject({
      asked: [['file_note', { query: 'shop' }, true]],
      answers: ['approved'],
      seen: 1,
    });
    expect(await player.play('answered_by_others', given('file_note', 'shop'))).toEqual({
      asked: 1,
      answers: ['rejected'],
      status: 'succeeded',
    });
  });
});
