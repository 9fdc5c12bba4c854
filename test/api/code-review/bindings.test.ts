import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { startGitHubHost, type GitHubHost } from '../../fakes/github/index.ts';
import { createScene, type Scene } from '../../fakes/github/scene.ts';
import { createApp } from '../../fakes/github/state.ts';
import { holdStatements } from '../../support/held-statements.ts';
import { withAdmin } from '../../support/template.ts';
import { until } from '../../support/temporal.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { sqlOf } from '../triggers/hook-calls.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

let host: GitHubHost;
let world: World;
let deploymentApp: ReturnType<typeof createApp>;

beforeAll(async () => {
  host = await startGitHubHost();
  deploymentApp = createApp(host.state, 'longhaul');
  world = await openWorld({
    env: { ...host.env, GITHUB_APP_ID: String(deploymentApp.id), GITHUB_APP_PRIVATE_KEY: deploymentApp.privateKey },
  });
});
afterAll(async () => {
  await world?.close();
  host?.close();
});

let scenes = 0;

/** A workspace with an App of its own, which is installed in a repository. */
async function ownScene(): Promise<{ tenant: TestTenant; scene: Scene }> {
  const tenant = await world.tenant();
  const scene = createScene(host, { owner: 'Octo', name: `Hello-${++scenes}` });
  await giveApp(tenant, scene);
  return { tenant, scene };
}

async function giveApp({ tokens }: TestTenant, { app }: Scene): Promise<void> {
  for (const [name, value] of [
    ['github_app_id', String(app.id)],
    ['github_app_private_key', app.privateKey],
  ])
    expect((await world.call(tokens.admin, 'PUT', `/secrets/${name}`, { body: { value } })).status).toBeLessThan(300);
}

const bind = ({ tokens }: TestTenant, { installation, fullName }: Scene, more: Readonly<Record<string, unknown>> = {}) =>
  world.call(tokens.admin, 'POST', '/repo-bindings', { body: { installation_id: installation.id, repo_full_name: fullName, ...more } });

const side = { include: [], exclude: [] };

test('a binding is proved by the workspace’s own App and shown with every default', async () => {
  const { tenant, scene } = await ownScene();
  const agent = await makeAgent(world, tenant.tokens.admin);
  const { viewer } = tenant.tokens;

  const made = await bind(tenant, { ...scene, fullName: scene.fullName.toLowerCase() }, { reviewer_agent_id: agent.id });
  const read = await world.call(viewer, 'GET', `/repo-bindings/${made.body.id}`);
  const query = `installation_id=${scene.installation.id}&repo_full_name=${scene.fullName.toUpperCase()}&is_active=true`;
  const listed = await world.call(viewer, 'GET', `/repo-bindings?${query}`);

  expect(made.status).toBe(201);
  expect([read.body, read.headers['etag'], listed.body.items]).toEqual([made.body, '"1"', [made.body]]);
  const { enabled_events: events, ...rest } = made.body;
  expect(events).toHaveLength(17);
  expect(events.filter((event: { enabled: boolean }) => !event.enabled)).toEqual([
    { event: 'pull_request', action: 'labeled', handler: 'review', enabled: false },
  ]);
  expect(rest).toEqual({
    id: expect.any(String),
    installation_id: scene.installation.id,
    repo_full_name: scene.fullName,
    reviewer_agent_id: agent.id,
    editor_agent_id: null,
    review_config: {
      playbook_id: null,
      drafts: false,
      incremental: true,
      verify: true,
      check_run: true,
      max_findings: null,
      min_confidence: null,
      min_severity: 'low',
      request_changes: false,
      summary: 'always',
      debounce_seconds: 30,
      repo_instructions: true,
      filters: { paths: [], titles: side, labels: side, authors: side, branches: side, max_files: null },
    },
    editor_config: {
      mode: 'off',
      branch_prefix: 'longhaul/',
      max_rounds: 3,
      test_commands: [],
      allow_forks: false,
      protected_paths: ['.github/**', '.longhaul/**', 'CODEOWNERS', '.gitmodules'],
    },
    budget_config: { per_review: null, per_pr: null, per_day: null, currency: 'USD', on_exceed: 'skip' },
    workspace_config: { clone: 'partial', max_clone_mb: 2_048, sandbox_tool_id: null, env_secret_names: [] },
    is_active: true,
    organization_id: tenant.organizationId,
    workspace_id: tenant.workspaceId,
    created_at: expect.any(String),
    updated_at: expect.any(String),
  });
});

test('a foreign, a random and an ungranted installation or repository give the same 404', async () => {
  const { tenant, scene } = await ownScene();
  const foreign = createScene(host, { owner: 'octo', name: `foreign-${++scenes}` });
  const ungranted = createScene(host, { owner: 'octo', name: `ungranted-${++scenes}`, app: scene.app });
  const withoutApp = await world.tenant();

  const answers = [
    await bind(tenant, foreign),
    await bind(tenant, { ...scene, installation: { ...scene.installation, id: 987_654_321 } }),
    await bind(tenant, { ...scene, fullName: foreign.fullName }),
    await bind(tenant, { ...scene, fullName: ungranted.fullName }),
    await bind(tenant, { ...scene, fullName: 'octo/nothing-there' }),
    await bind(tenant, { ...scene, fullName: 'no-name' }),
    await bind(withoutApp, scene),
  ];

  const [first] = answers.map(({ status, body }) => ({ status, code: body.code, detail: body.detail, context: body.context }));
  for (const { status, body } of answers)
    expect({ status, code: body.code, detail: body.detail, context: body.context }).toEqual({ ...first, status: 404, code: 'not_found' });
  expect(host.mistakes).toEqual([]);
});

test('an operator’s list proves the deployment’s App, for the workspace that it names alone', async () => {
  const tenant = await world.tenant({ workspaces: 2 });
  const scene = createScene(host, { owner: 'octo', name: `listed-${++scenes}`, app: deploymentApp });
  const before = await bind(tenant, scene);
  const git_installations = [{ installation_id: scene.installation.id, workspace_id: tenant.workspaceId }];
  await sqlOf(world)('update organization_settings set git_installations = ?::jsonb where organization_id = ? returning organization_id', [
    JSON.stringify(git_installations),
    tenant.organizationId,
  ]);

  const other = await world.call(tenant.organizationAdmin.token, 'POST', '/repo-bindings', {
    body: { workspace_id: tenant.workspaceIds[1], installation_id: scene.installation.id, repo_full_name: scene.fullName },
  });
  const made = await bind(tenant, scene);

  expect([before.status, other.status, made.status]).toEqual([404, 404, 201]);
  const [row] = await sqlOf(world)<{ app_kind: string; repo_id: string }>(
    'select app_kind, repo_id::text from repo_bindings where id = ?',
    [made.body.id],
  );
  expect(row).toEqual({ app_kind: 'deployment', repo_id: String(scene.repository.id) });
});

test('the same repository in other letters is 409 already_exists, and free again when it is deleted', async () => {
  const { tenant, scene } = await ownScene();
  const made = await bind(tenant, scene);

  const again = await bind(tenant, { ...scene, fullName: scene.fullName.toUpperCase() });
  await world.call(tenant.tokens.admin, 'DELETE', `/repo-bindings/${made.body.id}`);
  const free = await bind(tenant, scene);

  expect([again.status, again.body.code, free.status]).toEqual([409, 'already_exists', 201]);
});

test('a host that fails or keeps silent is 502 or 504, and nothing is bound', async () => {
  const { tenant, scene } = await ownScene();
  host.onRequest = () => ({ before: 503 });
  const failed = await bind(tenant, scene).finally(() => (host.onRequest = null));
  host.onRequest = () => ({ delayMs: 60_000 });
  const silent = await bind(tenant, scene).finally(() => (host.onRequest = null));

  expect([failed, silent].map(({ status, body }) => [status, body.code])).toEqual([
    [502, 'upstream_failed'],
    [504, 'upstream_timeout'],
  ]);
  expect((await world.call(tenant.tokens.viewer, 'GET', '/repo-bindings')).body.items).toEqual([]);
});

const faults: readonly (readonly [what: string, more: Record<string, unknown>, pointer: string])[] = [
  ['an unknown reviewer', { reviewer_agent_id: newId() }, '/reviewer_agent_id'],
  ['an unknown editor', { editor_agent_id: newId() }, '/editor_agent_id'],
  ['an unknown playbook', { review_config: { playbook_id: newId() } }, '/review_config/playbook_id'],
  ['an unknown event', { enabled_events: ['pull_request', 'push'] }, '/enabled_events/1'],
  ['an unknown action', { enabled_events: ['pull_request.closed'] }, '/enabled_events/0'],
  ['an unknown key of a configuration', { review_config: { draft: true } }, '/review_config/draft'],
  ['an unknown key of filters', { review_config: { filters: { path: [] } } }, '/review_config/filters/path'],
  ['51 findings', { review_config: { max_findings: 51 } }, '/review_config/max_findings'],
  ['a confidence over 1', { review_config: { min_confidence: 1.5 } }, '/review_config/min_confidence'],
  ['a debounce of 301', { review_config: { debounce_seconds: 301 } }, '/review_config/debounce_seconds'],
  ['201 globs', { review_config: { filters: { paths: Array.from({ length: 201 }, () => 'a') } } }, '/review_config/filters/paths'],
  ['3001 files', { review_config: { filters: { max_files: 3_001 } } }, '/review_config/filters/max_files'],
  [
    'a pattern with look-around',
    { review_config: { filters: { titles: { exclude: ['a(?=b)'] } } } },
    '/review_config/filters/titles/exclude/0',
  ],
  ['a prefix that no branch has', { editor_config: { branch_prefix: 'a..b/' } }, '/editor_config/branch_prefix'],
  ['eleven rounds', { editor_config: { max_rounds: 11 } }, '/editor_config/max_rounds'],
  ['tests without a sandbox', { editor_config: { test_commands: ['npm test'] } }, '/editor_config/test_commands'],
  ['a sandbox that is none', { workspace_config: { sandbox_tool_id: newId() } }, '/workspace_config/sandbox_tool_id'],
  ['a clone of 9 MB', { workspace_config: { max_clone_mb: 9 } }, '/workspace_config/max_clone_mb'],
  ['an amount below 0', { budget_config: { per_day: '-1' } }, '/budget_config/per_day'],
  ['a currency in small letters', { budget_config: { currency: 'usd' } }, '/budget_config/currency'],
  ['an installation of 0', { installation_id: 0 }, '/installation_id'],
  ['another field', { repo: 'x' }, '/repo'],
];

test.each(faults)('422 for %s, at creation and change', async (_what, more, pointer) => {
  const { tenant, scene } = await ownScene();
  const { id } = (await bind(tenant, scene)).body;
  const second = createScene(host, { owner: 'octo', name: `second-${++scenes}`, app: scene.app });

  const made = await bind(tenant, second, more);
  const changed = await world.call(tenant.tokens.admin, 'PATCH', `/repo-bindings/${id}`, { body: more });

  for (const { status, body } of [made, changed]) expect([status, body.errors?.[0]?.pointer]).toEqual([422, pointer]);
});

test('an agent of the workspace that is switched off is refused', async () => {
  const { tenant, scene } = await ownScene();
  const agent = await makeAgent(world, tenant.tokens.admin);
  await world.call(tenant.tokens.admin, 'PATCH', `/agents/${agent.id}`, { body: { is_active: false } });

  const { status, body } = await bind(tenant, scene, { reviewer_agent_id: agent.id });

  expect([status, body.errors?.[0]?.pointer]).toEqual([422, '/reviewer_agent_id']);
});

test('a change replaces each configuration as a whole and keeps the others; a bare event means all of its actions', async () => {
  const { tenant, scene } = await ownScene();
  const { admin } = tenant.tokens;
  const made = await bind(tenant, scene, { review_config: { drafts: true, filters: { labels: { exclude: ['skip'] } } } });
  const path = `/repo-bindings/${made.body.id}`;

  const changed = await world.call(admin, 'PATCH', path, {
    headers: { 'if-match': '"1"' },
    body: {
      enabled_events: ['command', 'pull_request.labeled'],
      budget_config: { per_day: '5.5' },
      review_config: { debounce_seconds: 0 },
    },
  });
  const stale = await world.call(admin, 'PATCH', path, { headers: { 'if-match': '"1"' }, body: { is_active: false } });
  const manual = await world.call(admin, 'PATCH', path, { body: { enabled_events: [] } });

  const enabled = (body: { enabled_events: { event: string; action: string; enabled: boolean }[] }) =>
    body.enabled_events.filter((one) => one.enabled).map(({ event, action }) => `${event}.${action}`);
  expect(enabled(changed.body)).toEqual([
    'pull_request.labeled',
    ...['review', 'fix', 'ask', 'pause', 'resume', 'resolve', 'dismiss'].map((name) => `command.${name}`),
  ]);
  expect(changed.body.review_config).toMatchObject({ debounce_seconds: 0, drafts: false, filters: { labels: side } });
  expect([changed.body.budget_config.per_day, changed.body.editor_config]).toEqual(['5.5', made.body.editor_config]);
  expect([stale.status, enabled(manual.body)]).toEqual([412, []]);
});

test('another installation is proved again: one that is not the workspace’s is the same 404', async () => {
  const { tenant, scene } = await ownScene();
  const { id } = (await bind(tenant, scene)).body;
  const foreign = createScene(host, { owner: 'octo', name: `foreign-${++scenes}` });
  const change = (installation_id: number) =>
    world.call(tenant.tokens.admin, 'PATCH', `/repo-bindings/${id}`, { body: { installation_id } });

  const [refused, same] = [await change(foreign.installation.id), await change(scene.installation.id)];

  expect([refused.status, refused.body.code, same.status]).toEqual([404, 'not_found', 200]);
});

test('a binding is made once a key, by admins alone, and seen by its tenant alone', async () => {
  const { tenant, scene } = await ownScene();
  const other = await world.tenant();
  const body = { installation_id: scene.installation.id, repo_full_name: scene.fullName };
  const send = (token: string) => world.call(token, 'POST', '/repo-bindings', { body, headers: { 'idempotency-key': 'bind-1' } });

  const [refused, first, again] = [await send(tenant.tokens.member), await send(tenant.tokens.admin), await send(tenant.tokens.admin)];
  const foreign = await world.call(other.tokens.owner, 'GET', `/repo-bindings/${first.body.id}`);

  expect([refused.status, first.status, again.headers['idempotency-replayed'], foreign.status]).toEqual([403, 201, 'true', 404]);
  expect(again.body).toEqual(first.body);
});

test('the key of an App stands in no answer, log or row in clear', async () => {
  const { tenant, scene } = await ownScene();
  const { body } = await bind(tenant, scene);

  const [{ text = '' } = {}] = await sqlOf(world)<{ text: string }>(
    `select (select string_agg(b::text, ' ') from repo_bindings b) || coalesce((select string_agg(o::text, ' ') from outbox o), '')
       || (select string_agg(a::text, ' ') from audit_entries a) as text`,
  );
  for (const place of [text, JSON.stringify(body)]) expect(place).not.toContain('PRIVATE KEY');
});

test('a playbook that a binding is about to name is not deleted meanwhile', async () => {
  const { tenant, scene } = await ownScene();
  const { admin } = tenant.tokens;
  const { body: playbook } = await world.call(admin, 'POST', '/review-playbooks', { body: { slug: `p-${newId()}`, name: 'Named' } });
  const held = await holdStatements(world.api.database.adminUrl, { table: 'repo_bindings', event: 'insert' });

  const binding = bind(tenant, scene, { review_config: { playbook_id: playbook.id } });
  await held.reached();
  let answered = false;
  const removal = world.call(admin, 'DELETE', `/review-playbooks/${playbook.id}`).finally(() => (answered = true));
  const waits = `select from pg_locks l join pg_database d on d.oid = l.database
    where l.locktype = 'advisory' and l.mode = 'ExclusiveLock' and not l.granted and d.datname = current_database()`;
  await until(async () => answered || (await withAdmin(world.api.database.adminUrl, (client) => client.query(waits))).rowCount !== 0);
  await held.letGo();

  expect([(await binding).status, (await removal).status, (await removal).body.context?.reason]).toEqual([201, 409, 'in_use']);
});
