import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { sqlOf } from '../triggers/hook-calls.ts';
import { makeAgent, openWorld, type World } from '../world.ts';
import { plantBinding, type PlantedBinding } from './review-rows.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world?.close());

async function bound(given: PlantedBinding = {}) {
  const tenant = await world.tenant();
  const agent = await makeAgent(world, tenant.tokens.admin);
  const bindingId = await plantBinding(world, tenant, { reviewer_agent_id: agent.id, ...given });
  const start = (
    review: Readonly<Record<string, unknown>> = {},
    more: Readonly<Record<string, unknown>> = {},
    token = tenant.tokens.member,
  ) => world.call(token, 'POST', '/runs', { body: { review: { binding_id: bindingId, pull_number: 3, ...review }, ...more } });
  return { tenant, agent, bindingId, start };
}

test('a review by hand is a run of the reviewer, which what follows the pull request begins', async () => {
  const { tenant, agent, bindingId, start } = await bound();

  const { status, body } = await start({ full: true, post: false, instructions: 'Mind the cache.' }, { metadata: { a: 1 } });
  const listed = await world.call(tenant.tokens.viewer, 'GET', `/runs?binding_id=${bindingId}`);
  const read = await world.call(tenant.tokens.viewer, 'GET', `/runs/${body.id}`);

  expect(status).toBe(202);
  expect(body).toMatchObject({
    source: 'code_review',
    binding_id: bindingId,
    agent_id: agent.id,
    status: 'queued',
    metadata: { a: 1 },
    admission: 'started',
  });
  expect(read.body.input).toMatchObject({ text: 'Mind the cache.', json: { binding_id: bindingId, pull_number: 3, kind: 'review' } });
  expect(listed.body.items.map(({ id }: { id: string }) => id)).toEqual([body.id]);
  const [row] = await sqlOf(world)<Record<string, unknown>>(
    'select review, review_round, review_head_sha, playbook_revision_id from runs where id = ?',
    [body.id],
  );
  expect(row).toEqual({
    review: {
      kind: 'review',
      pull_number: 3,
      full: true,
      post: false,
      is_automatic: false,
      has_text: true,
      command_id: null,
      finding_id: null,
    },
    review_round: 1,
    review_head_sha: null,
    playbook_revision_id: '01960000-0000-7000-8000-00000001c0de',
  });
  const messages = await sqlOf(world)<{ target: string; type: string }>(
    "select target, payload ->> 'workflowType' as type from outbox where dedupe_key like ?",
    [`%${body.id}`],
  );
  expect(messages).toEqual([{ target: `review:${bindingId}:3`, type: 'pullRequest' }]);
});

test('the rounds of a pull request follow each other, each with the playbook of its start', async () => {
  const { tenant, bindingId, start } = await bound();
  await start();
  const playbook = await world.call(tenant.tokens.admin, 'POST', '/review-playbooks', {
    body: { slug: 'ours', name: 'Ours', is_default: true },
  });
  await start();
  const named = await world.call(tenant.tokens.admin, 'POST', '/review-playbooks', { body: { slug: 'named', name: 'Named' } });
  await world.call(tenant.tokens.admin, 'PATCH', `/repo-bindings/${bindingId}`, {
    body: { review_config: { playbook_id: named.body.id } },
  });
  await start();

  const rows = await sqlOf(world)<{ review_round: number; playbook_revision_id: string }>(
    'select review_round, playbook_revision_id from runs where binding_id = ? order by review_round',
    [bindingId],
  );

  expect(rows).toEqual([
    { review_round: 1, playbook_revision_id: '01960000-0000-7000-8000-00000001c0de' },
    { review_round: 2, playbook_revision_id: playbook.body.active_revision_id },
    { review_round: 3, playbook_revision_id: named.body.active_revision_id },
  ]);
});

const excluded: readonly (readonly [name: string, value: unknown])[] = [
  ['agent_id', newId()],
  ['agent_slug', 'guide'],
  ['revision_id', newId()],
  ['persona_slug', 'p'],
  ['input', { text: 'x' }],
  ['session_key', 's'],
  ['subject', { kind: 'guest', id: 'g' }],
  ['start_after', '2030-01-01T00:00:00Z'],
];

test.each(excluded)('%s is not taken with a review', async (name, value) => {
  const { start } = await bound();

  const { status, body } = await start({}, { [name]: value });

  expect([status, body.errors?.[0]?.pointer]).toEqual([422, `/${name}`]);
});

const faults: readonly (readonly [what: string, review: Record<string, unknown>, pointer: string])[] = [
  ['an unknown binding', { binding_id: newId() }, '/review/binding_id'],
  ['no number', { pull_number: undefined }, '/review/pull_number'],
  ['the number 0', { pull_number: 0 }, '/review/pull_number'],
  ['long instructions', { instructions: 'x'.repeat(4_001) }, '/review/instructions'],
  ['another field', { head: 'x' }, '/review/head'],
];

test.each(faults)('422 for %s', async (_what, review, pointer) => {
  const { start } = await bound();

  const { status, body } = await start(review);

  expect([status, body.errors?.[0]?.pointer]).toEqual([422, pointer]);
});

test('a run without review still needs its input', async () => {
  const { tenant, agent } = await bound();

  const { status, body } = await world.call(tenant.tokens.member, 'POST', '/runs', { body: { agent_id: agent.id } });

  expect([status, body.errors?.[0]?.pointer]).toEqual([422, '/input']);
});

test('409 for a binding that is off, and for one without a reviewer; 403 below the floor, 422 for another tenant’s', async () => {
  const [off, alone, mine, other] = [
    await bound({ is_active: false }),
    await bound({ reviewer_agent_id: null }),
    await bound(),
    await bound(),
  ];

  const answers = [
    await off.start(),
    await alone.start(),
    await mine.start({}, {}, mine.tenant.tokens.viewer),
    await mine.start({ binding_id: other.bindingId }),
  ];

  expect(answers.map(({ status, body }) => [status, body.context?.reason ?? body.code])).toEqual([
    [409, 'binding_inactive'],
    [409, 'no_reviewer'],
    [403, 'role_insufficient'],
    [422, 'validation_failed'],
  ]);
});

test('a review is not tried again as a run: another one is started', async () => {
  const { tenant, start } = await bound();
  const { body: run } = await start();
  await world.call(tenant.tokens.member, 'POST', `/runs/${run.id}/cancel`, { body: {} });

  const { status, body } = await world.call(tenant.tokens.member, 'POST', `/runs/${run.id}/retry`, { body: {} });

  expect([status, body.context?.reason]).toEqual([409, 'is_review']);
});
