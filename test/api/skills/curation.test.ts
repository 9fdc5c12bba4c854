import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { row, rows } from '../../../db/sql.ts';
import { openWorld, type World } from '../world.ts';
import { curate, makeSkill, promote } from './skill-calls.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const states = ['pending', 'reviewed', 'promoted', 'superseded', 'retired'] as const;
const allowed = new Set([
  'pending>reviewed',
  'reviewed>promoted',
  'promoted>superseded',
  'pending>retired',
  'reviewed>retired',
  'promoted>retired',
  'superseded>retired',
  'retired>pending',
]);
const promotedOf = (id: string) =>
  sweep(world.api.db, (em) =>
    row<{ promoted_version: number | null; promoted_versions: number[] }>(
      em,
      'select promoted_version, promoted_versions from skills where id = ?',
      [id],
    ),
  );

test('from each state only the transitions of the contract lead on; others are 409 and change nothing', async () => {
  const { tokens } = await world.tenant();
  const successor = await makeSkill(world, tokens.member);
  await promote(world, tokens.admin, successor);
  const skill = await makeSkill(world, tokens.member);
  const set = (state: string) =>
    sweep(world.api.db, (em) => rows(em, 'update skills set curation_state = ? where id = ?', [state, skill.id]));

  for (const from of states)
    for (const to of states) {
      await set(from);
      const extra = to === 'superseded' ? { superseded_by: successor.id } : {};
      const answer = await curate(world, tokens.admin, skill.id, { to, version: 1, ...extra });
      const isAllowed = allowed.has(`${from}>${to}`);

      expect([from, to, answer.status, answer.body.context?.reason ?? answer.body.curation_state]).toEqual([
        from,
        to,
        isAllowed ? 200 : 409,
        isAllowed ? to : 'illegal_transition',
      ]);
    }
});

test('what is promoted is the version that was read; an edit returns to pending and keeps it loadable; retiring forgets it', async () => {
  const { tokens } = await world.tenant();
  const skill = await makeSkill(world, tokens.member);
  await promote(world, tokens.admin, skill);
  const edit = (instructions: string) => world.call(tokens.member, 'PATCH', `/skills/${skill.id}`, { body: { instructions } });

  const edited = await edit('Second.');
  expect(edited.body).toMatchObject({ version: 2, curation_state: 'pending' });
  expect(await promotedOf(skill.id)).toEqual({ promoted_version: 1, promoted_versions: [1] });
  expect(await curate(world, tokens.admin, skill.id, { to: 'reviewed', version: 1 })).toMatchObject({
    status: 409,
    body: { code: 'state_conflict', context: { reason: 'version_stale', version: 2 } },
  });
  await promote(world, tokens.admin, { id: skill.id, version: 2 });
  expect(await promotedOf(skill.id)).toEqual({ promoted_version: 2, promoted_versions: [1, 2] });

  await curate(world, tokens.admin, skill.id, { to: 'retired', version: 2 });
  expect(await promotedOf(skill.id)).toEqual({ promoted_version: null, promoted_versions: [] });
  expect(await edit('Third.')).toMatchObject({ status: 409, body: { context: { reason: 'illegal_transition' } } });
  expect((await curate(world, tokens.admin, skill.id, { to: 'pending', version: 2 })).body.curation_state).toBe('pending');
});

test('a reviewed skill that is edited must be reviewed again before it can be promoted', async () => {
  const { tokens } = await world.tenant();
  const skill = await makeSkill(world, tokens.member);
  await curate(world, tokens.admin, skill.id, { to: 'reviewed', version: 1 });

  await world.call(tokens.member, 'PATCH', `/skills/${skill.id}`, { body: { description: 'Other.' } });

  expect(await curate(world, tokens.admin, skill.id, { to: 'promoted', version: 2 })).toMatchObject({ status: 409 });
});

test('a successor is a promoted skill of the same or a wider place', async () => {
  const tenant = await world.tenant({ workspaces: 2 });
  const { tokens, workspaceIds } = tenant;
  const foreign = await world.tenant();
  const owner = tenant.organizationOwner.token;
  const made = async (token: string, extra: object = {}) => {
    const skill = await makeSkill(world, token, extra as Record<string, unknown>);
    await promote(world, token, skill);
    return skill.id as string;
  };
  const skill = await made(tokens.admin);
  const pending = (await makeSkill(world, tokens.admin)).id;
  const supersede = (id: string, by?: string | null) =>
    curate(world, owner, id, { to: 'superseded', version: 1, ...(by === undefined ? {} : { superseded_by: by }) });

  for (const by of [
    undefined,
    null,
    skill,
    pending,
    await made(foreign.tokens.admin),
    await made(owner, { workspace_id: workspaceIds[1] }),
  ])
    expect(await supersede(skill, by)).toMatchObject({ status: 422, body: { errors: [{ pointer: '/superseded_by' }] } });
  expect(await curate(world, owner, skill, { to: 'retired', version: 1, superseded_by: pending })).toMatchObject({ status: 422 });
  const wide = await made(owner, { scope: 'organization' });
  expect(await supersede(wide, skill)).toMatchObject({ status: 422 });
  expect((await supersede(skill, wide)).body).toMatchObject({ curation_state: 'superseded' });
});

test('two skills never supersede each other, also when both are tried at once', async () => {
  const { tokens } = await world.tenant();
  for (let round = 0; round < 5; round++) {
    const [one, two] = [await makeSkill(world, tokens.member), await makeSkill(world, tokens.member)];
    await promote(world, tokens.admin, one);
    await promote(world, tokens.admin, two);
    const supersede = (id: string, by: string) => curate(world, tokens.admin, id, { to: 'superseded', version: 1, superseded_by: by });

    const answers = await Promise.all([supersede(one.id, two.id), supersede(two.id, one.id)]);

    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 422]);
  }
});

test('curating needs an admin and leaves an entry with the note', async () => {
  const { tokens } = await world.tenant();
  const skill = await makeSkill(world, tokens.member);

  expect((await curate(world, tokens.member, skill.id, { to: 'reviewed', version: 1 })).status).toBe(403);
  await curate(world, tokens.admin, skill.id, { to: 'reviewed', version: 1, note: 'Read by support' });

  const entries = await sweep(world.api.db, (em) =>
    rows<{ action: string; changes: object }>(
      em,
      "select action, changes from audit_entries where resource_id = ? and operation_id = 'curateSkill' and outcome = 'success'",
      [skill.id],
    ),
  );
  expect(entries).toEqual([
    {
      action: 'approve',
      changes: {
        curation_state: { from: 'pending', to: 'reviewed' },
        version: { from: 1, to: 1 },
        note: { from: null, to: 'Read by support' },
      },
    },
  ]);
});
