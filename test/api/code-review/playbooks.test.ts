import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { hashOfTemplates } from '../../../domain/code-review/templates.ts';
import { openWorld, type World } from '../world.ts';
import { plantBinding } from './review-rows.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world?.close());

const create = (token: string, more: Readonly<Record<string, unknown>> = {}) =>
  world.call(token, 'POST', '/review-playbooks', { body: { slug: `p-${newId()}`, name: 'Strict', ...more } });

test('a new playbook has revision 1, active, with the platform default’s templates where nothing is said', async () => {
  const { tokens, organizationId, workspaceId } = await world.tenant();
  const [byDefault] = (await world.call(tokens.viewer, 'GET', '/review-playbooks?scope=platform')).body.items;

  const made = await create(tokens.admin, { slug: 'strict', templates: { confidence: { min: 0.9 }, ignore_rules: ['Names.'] } });
  const read = await world.call(tokens.viewer, 'GET', `/review-playbooks/${made.body.id}`);
  const found = await world.call(tokens.viewer, 'GET', '/review-playbooks?q=STRICT&is_active=true');

  expect([made.status, byDefault.slug, byDefault.is_default]).toEqual([201, 'default', true]);
  expect(made.body).toEqual({
    id: expect.any(String),
    slug: 'strict',
    name: 'Strict',
    description: null,
    scope: 'workspace',
    is_default: false,
    is_active: true,
    active_revision_id: expect.any(String),
    revision_number: 1,
    templates: {
      ...byDefault.templates,
      confidence: { ...byDefault.templates.confidence, min: 0.9 },
      ignore_rules: ['Names.'],
    },
    organization_id: organizationId,
    workspace_id: workspaceId,
    created_at: expect.any(String),
    updated_at: expect.any(String),
  });
  expect([read.body, found.body.items]).toEqual([made.body, [made.body]]);
});

test('the platform’s own playbook is what the code makes of it: its hash, and prompts that render', async () => {
  const { tokens } = await world.tenant();
  const [byDefault] = (await world.call(tokens.viewer, 'GET', '/review-playbooks?scope=platform')).body.items;

  const [revision] = (await world.call(tokens.viewer, 'GET', `/review-playbooks/${byDefault.id}/revisions`)).body.items;
  const again = await create(tokens.admin, { templates: byDefault.templates });

  expect(revision.sha256).toBe(hashOfTemplates(revision.templates));
  expect([again.status, again.body.templates]).toEqual([201, byDefault.templates]);
});

const badTemplates: readonly (readonly [what: string, templates: unknown, pointer: string])[] = [
  ['an unknown part', { reviews: {} }, '/templates/reviews'],
  ['an unknown key of a part', { verify: { vote: 3 } }, '/templates/verify/vote'],
  ['two votes', { verify: { votes: 2 } }, '/templates/verify/votes'],
  ['a prompt that does not parse', { summary: { prompt: '{% if %}' } }, '/templates/summary/prompt'],
  ['an unknown filter', { summary: { prompt: '{{ diff | nothing }}' } }, '/templates/summary/prompt'],
  ['an unknown variable', { summary: { prompt: '{{ secrets.token }}' } }, '/templates/summary/prompt'],
  ['a variable of another prompt', { verify: { prompt: '{{ question }}' } }, '/templates/verify/prompt'],
  ['an unknown variable in the check', { check: { title: '{{ counts.total }}' } }, '/templates/check/title'],
  [
    'a prompt without end',
    { reply: { prompt: '{% for a in (1..9999) %}{% for b in (1..9999) %}{{ a }}{% endfor %}{% endfor %}' } },
    '/templates/reply/prompt',
  ],
  ['a prompt of over 16 KB', { edit: { prompt: 'x'.repeat(16_385) } }, '/templates/edit/prompt'],
  ['no pass', { review: { passes: [] } }, '/templates/review/passes'],
  ['seven passes', { review: { passes: Array.from({ length: 7 }, (_, n) => ({ key: `k${n}`, focus: 'x' })) } }, '/templates/review/passes'],
  [
    'two passes of one key',
    {
      review: {
        passes: [
          { key: 'a', focus: 'x' },
          { key: 'a', focus: 'y' },
        ],
      },
    },
    '/templates/review/passes',
  ],
  ['an unknown category', { categories: ['bugs'] }, '/templates/categories/0'],
  [
    'a level that is not among levels',
    { severity: { levels: ['high'], inline_min: 'low', block_min: 'high' } },
    '/templates/severity/inline_min',
  ],
  ['a confidence over 1', { confidence: { min: 1.1 } }, '/templates/confidence/min'],
  ['101 rules', { ignore_rules: Array.from({ length: 101 }, () => 'x') }, '/templates/ignore_rules'],
  ['no calls', { limits: { max_calls: 0 } }, '/templates/limits/max_calls'],
  ['another version', { schema_version: 2 }, '/templates/schema_version'],
];

test.each(badTemplates)('422 for %s, in a playbook and in a revision', async (_what, templates, pointer) => {
  const { tokens } = await world.tenant();
  const { id } = (await create(tokens.admin)).body;

  const made = await create(tokens.admin, { templates });
  const revised = await world.call(tokens.admin, 'POST', `/review-playbooks/${id}/revisions`, { body: { templates } });

  for (const { status, body } of [made, revised]) expect([status, body.errors?.[0]?.pointer]).toEqual([422, pointer]);
});

test('templates of over 256 KB are refused', async () => {
  const { tokens } = await world.tenant();
  const path_rules = Array.from({ length: 70 }, () => ({ paths: ['**'], instructions: 'x'.repeat(4_000) }));

  const { status, body } = await create(tokens.admin, { templates: { path_rules } });

  expect([status, body.errors?.[0]?.pointer]).toEqual([422, '/templates']);
});

test('one PATCH activates a revision, and another goes back to the first', async () => {
  const { tokens } = await world.tenant();
  const { id, active_revision_id: first } = (await create(tokens.admin)).body;
  const path = `/review-playbooks/${id}`;
  const body = { templates: { ignore_rules: ['x'] }, note: 'second' };

  const second = await world.call(tokens.admin, 'POST', `${path}/revisions`, { body });
  const before = await world.call(tokens.viewer, 'GET', path);
  const activated = await world.call(tokens.admin, 'PATCH', path, { body: { active_revision_id: second.body.id } });
  const back = await world.call(tokens.admin, 'PATCH', path, { body: { active_revision_id: first } });
  const third = await world.call(tokens.admin, 'POST', `${path}/revisions`, { body: { ...body, activate: true } });
  const listed = await world.call(tokens.viewer, 'GET', `${path}/revisions`);

  expect(second.body).toMatchObject({
    revision_number: 2,
    is_active: false,
    note: 'second',
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect([before, activated, back].map((answer) => answer.body.revision_number)).toEqual([1, 2, 1]);
  expect(activated.body.templates.ignore_rules).toEqual(['x']);
  expect(listed.body.items.map((one: { revision_number: number; is_active: boolean }) => [one.revision_number, one.is_active])).toEqual([
    [3, true],
    [2, false],
    [1, false],
  ]);
  expect(third.body.is_active).toBe(true);
});

test('a revision of another playbook, and none at all, can not be activated', async () => {
  const { tokens } = await world.tenant();
  const { id } = (await create(tokens.admin)).body;
  const other = (await create(tokens.admin)).body;

  for (const active_revision_id of [other.active_revision_id, newId(), null]) {
    const { status, body } = await world.call(tokens.admin, 'PATCH', `/review-playbooks/${id}`, { body: { active_revision_id } });
    expect([status, body.errors?.[0]?.pointer]).toEqual([422, '/active_revision_id']);
  }
});

test('a new default takes the flag from the one before, each scope for itself', async () => {
  const { tokens, organizationAdmin } = await world.tenant();
  const first = (await create(tokens.admin, { is_default: true })).body;
  const wide = (await create(organizationAdmin.token, { scope: 'organization', is_default: true })).body;
  const second = (await create(tokens.admin)).body;

  const taken = await world.call(tokens.admin, 'PATCH', `/review-playbooks/${second.id}`, { body: { is_default: true } });

  const flags = await Promise.all(
    [first, second, wide].map(async ({ id }) => (await world.call(tokens.viewer, 'GET', `/review-playbooks/${id}`)).body.is_default),
  );
  expect([taken.status, flags]).toEqual([200, [false, true, true]]);
});

test('of playbooks that become the default at once one is it, and none fails', async () => {
  const { tokens } = await world.tenant();

  const made = await Promise.all(Array.from({ length: 6 }, () => create(tokens.admin, { is_default: true })));
  const again = await Promise.all(
    made.map(({ body }) => world.call(tokens.admin, 'PATCH', `/review-playbooks/${body.id}`, { body: { is_default: true } })),
  );
  const { items } = (await world.call(tokens.viewer, 'GET', '/review-playbooks?scope=workspace')).body;

  expect([...made, ...again].map(({ status }) => status)).toEqual([...made.map(() => 201), ...made.map(() => 200)]);
  expect(items.filter((item: { is_default: boolean }) => item.is_default)).toHaveLength(1);
});

test('409 in_use: a default or one that a binding names is neither deleted nor switched off', async () => {
  const tenant = await world.tenant();
  const { tokens } = tenant;
  const byDefault = (await create(tokens.admin, { is_default: true })).body;
  const named = (await create(tokens.admin)).body;
  const bindingId = await plantBinding(world, tenant, { review_config: { playbook_id: named.id } });

  for (const { id } of [byDefault, named])
    for (const answer of [
      await world.call(tokens.admin, 'DELETE', `/review-playbooks/${id}`),
      await world.call(tokens.admin, 'PATCH', `/review-playbooks/${id}`, { body: { is_active: false } }),
    ])
      expect([answer.status, answer.body.context?.reason]).toEqual([409, 'in_use']);
  await world.call(tokens.admin, 'DELETE', `/repo-bindings/${bindingId}`);

  expect((await world.call(tokens.admin, 'DELETE', `/review-playbooks/${named.id}`)).status).toBe(204);
  expect((await world.call(tokens.admin, 'GET', `/review-playbooks/${named.id}`)).status).toBe(404);
});

test('nobody changes or makes a playbook of a wider scope than its own', async () => {
  const { tokens, organizationAdmin } = await world.tenant();
  const [byDefault] = (await world.call(tokens.viewer, 'GET', '/review-playbooks?scope=platform')).body.items;
  const wide = (await create(organizationAdmin.token, { scope: 'organization' })).body;

  const tooWide = [
    await create(tokens.admin, { scope: 'organization' }),
    await create(organizationAdmin.token, { scope: 'platform' }),
    await world.call(tokens.admin, 'POST', `/review-playbooks/${wide.id}/clone`, { body: { slug: 'copy', scope: 'organization' } }),
  ];
  const foreign = await Promise.all(
    [byDefault, wide].flatMap(({ id }) => [
      world.call(tokens.admin, 'PATCH', `/review-playbooks/${id}`, { body: { name: 'Mine' } }),
      world.call(tokens.admin, 'DELETE', `/review-playbooks/${id}`),
      world.call(tokens.admin, 'POST', `/review-playbooks/${id}/revisions`, { body: { templates: { ignore_rules: [] } } }),
    ]),
  );

  expect(tooWide.map(({ status, body }) => [status, body.code])).toEqual(Array(3).fill([403, 'role_insufficient']));
  expect(foreign.map(({ status, body }) => [status, body.code])).toEqual(Array(6).fill([403, 'resource_forbidden']));
});

test('a clone has the active revision as its first, in the caller’s scope', async () => {
  const { tokens, workspaceId } = await world.tenant();
  const [byDefault] = (await world.call(tokens.viewer, 'GET', '/review-playbooks?scope=platform')).body.items;
  const key = { headers: { 'idempotency-key': newId() }, body: { slug: 'ours' } };

  const cloned = await world.call(tokens.admin, 'POST', `/review-playbooks/${byDefault.id}/clone`, key);
  const again = await world.call(tokens.admin, 'POST', `/review-playbooks/${byDefault.id}/clone`, key);
  const taken = await world.call(tokens.admin, 'POST', `/review-playbooks/${byDefault.id}/clone`, { body: { slug: 'ours' } });

  expect(cloned.body).toMatchObject({
    name: 'Default',
    revision_number: 1,
    scope: 'workspace',
    workspace_id: workspaceId,
    is_default: false,
  });
  expect([cloned.body.templates, again.body]).toEqual([byDefault.templates, cloned.body]);
  expect([taken.status, taken.body.code]).toEqual([409, 'already_exists']);
});

test('another tenant’s playbook is the same 404 as a random one', async () => {
  const [mine, other] = [await world.tenant(), await world.tenant()];
  const { id } = (await create(other.tokens.admin)).body;

  const answers = await Promise.all([id, newId()].map((one) => world.call(mine.tokens.admin, 'GET', `/review-playbooks/${one}`)));

  expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
    [404, 'not_found'],
    [404, 'not_found'],
  ]);
});
