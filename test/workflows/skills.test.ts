import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../db/transaction.ts';
import { row, rows } from '../../db/sql.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import type { Script } from '../fakes/model-script.ts';
import { fullTest } from '../chaos/whole.ts';
import { makeAgent, scripted, startRun } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { withAdmin } from '../support/template.ts';
import { readStream, type ReceivedFrame } from '../support/stream-client.ts';
import { until } from '../support/temporal.ts';
import { zipOf } from '../support/zip.ts';

let models: ModelServer;
let stack: Stack;

beforeAll(async () => {
  models = await startModelServer();
  stack = await startStack({ processes: ['api', 'worker-runs'], modelBaseUrl: models.baseUrl });
});
afterAll(async () => {
  await stack?.stop();
  await models?.close();
});

interface SkillBody {
  readonly id: string;
  readonly slug: string;
  readonly version: number;
  readonly use_count: number;
}

const docs = [{ name: 'limits.md', content: 'Up to 50 EUR.' }];

async function ask<T>(method: string, path: string, body?: object): Promise<T> {
  const answer = await stack.request(method, path, body === undefined ? {} : { body });
  if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

async function promote(skill: Pick<SkillBody, 'id' | 'version'>): Promise<void> {
  for (const to of ['reviewed', 'promoted']) await ask('POST', `/skills/${skill.id}/curate`, { to, version: skill.version });
}

async function promotedSkill(instructions: string): Promise<SkillBody> {
  const slug = `skill-${crypto.randomUUID().slice(0, 8)}`;
  const skill = await ask<SkillBody>('POST', '/skills', { slug, description: 'What to do.', instructions, reference_docs: docs });
  await promote(skill);
  return skill;
}

const loading = (slug: string, more: object = {}): Script => ({
  steps: [{ tool_calls: [{ name: 'skill_load', arguments: { slug, ...more } }] }, { text: 'Done.' }],
});

/** Runs an agent to its end; gives what its tools answered. */
async function resultsOf(agentId: string, script: Script): Promise<{ results: ReceivedFrame['data'][]; status: unknown }> {
  const run = await startRun(stack, agentId, scripted(script));
  const frames = await readStream([stack.url()], `/runs/${run.id}/stream`, stack.tenant.serviceKey.plaintext).finished;
  return { results: frames.filter(({ type }) => type === 'tool.result').map(({ data }) => data), status: frames.at(-1)?.data['status'] };
}

test('a run loads the promoted version of a skill and its documents, and counts once', async () => {
  const skill = await promotedSkill('Read the order first.');
  const agent = await makeAgent(stack, [], { skills: [{ slug: skill.slug }] });
  const call = (args: object) => ({ name: 'skill_load', arguments: { slug: skill.slug, ...args } });
  const script = {
    steps: [
      { tool_calls: [call({})] },
      { tool_calls: [call({ doc: 'limits.md' })] },
      { tool_calls: [call({ doc: 'no.md' })] },
      { text: 'x' },
    ],
  };

  const { results, status } = await resultsOf(agent.id, script);

  expect(status).toBe('succeeded');
  expect(results).toMatchObject([
    { status: 'succeeded', output: expect.stringMatching(/^Read the order first\.[\s\S]*limits\.md \(13 characters\)/) },
    { status: 'succeeded', output: 'Up to 50 EUR.' },
    { status: 'failed', error: { code: 'invalid_arguments' } },
  ]);
  expect(await ask<SkillBody>('GET', `/skills/${skill.id}`)).toMatchObject({ use_count: 1, last_used_at: expect.any(String) });
});

test('a file of a skill is lent to the run that loads it, which reads it like its own', async () => {
  const slug = `files-${crypto.randomUUID().slice(0, 8)}`;
  const form = new FormData();
  const zip = zipOf([
    { path: 'SKILL.md', content: `---\nname: ${slug}\ndescription: Long lists.\n---\nRead the list.` },
    { path: 'list.csv', content: 'name,amount\n'.repeat(30_000) },
  ]);
  form.append('file', new Blob([new Uint8Array(zip)]), 'skill.zip');
  const authorization = `Bearer ${stack.tenant.serviceKey.plaintext}`;
  const uploaded = await fetch(`${stack.url()}/attachments`, { method: 'POST', headers: { authorization }, body: form });
  const { id } = (await uploaded.json()) as { id: string };
  const skill = await ask<SkillBody & { reference_docs: { attachment_id: string }[] }>('POST', '/skills/import', { attachment_id: id });
  await promote(skill);
  const file = skill.reference_docs[0]?.attachment_id ?? '';
  const tool = { slug: `read-${slug}`, kind: 'builtin', description: 'Reads a file', config: { name: 'attachment_read' } };
  const agent = await makeAgent(stack, [tool], { skills: [{ slug }] });
  const read = { tool_calls: [{ name: tool.slug, arguments: { attachment_id: file } }] };
  const load = { tool_calls: [{ name: 'skill_load', arguments: { slug, doc: 'list.csv' } }] };

  const { results } = await resultsOf(agent.id, { steps: [read, load, read, { text: 'Done.' }] });

  expect(results).toMatchObject([
    { status: 'failed' },
    { status: 'succeeded', output: expect.stringContaining(`attachment_id ${file}`) },
    { status: 'succeeded', output: expect.stringContaining('name,amount') },
  ]);
});

test('an edit changes no run before the next promotion; a retired skill loads nowhere', async () => {
  const skill = await promotedSkill('First text.');
  const agent = await makeAgent(stack, [], { skills: [{ slug: skill.slug }] });
  const output = async () => (await resultsOf(agent.id, loading(skill.slug))).results[0];

  await ask('PATCH', `/skills/${skill.id}`, { instructions: 'Second text.' });
  const edited = await output();
  await promote({ id: skill.id, version: 2 });
  const promoted = await output();
  await ask('POST', `/skills/${skill.id}/curate`, { to: 'retired', version: 2 });
  const retired = await output();

  expect(edited?.['output']).toMatch(/^First text\./);
  expect(promoted?.['output']).toMatch(/^Second text\./);
  expect(retired).toMatchObject({ status: 'failed' });
});

test('an agent writes a skill that waits for its curator; the same again is no new version', async () => {
  const slug = `own-${crypto.randomUUID().slice(0, 8)}`;
  const tool = { slug: `write-${slug}`, kind: 'builtin', description: 'Writes a skill', config: { name: 'skill_write' } };
  const agent = await makeAgent(stack, [tool]);
  const writing = (args: object): Script => ({
    steps: [{ tool_calls: [{ name: tool.slug, arguments: { slug, ...args } }] }, { text: 'x' }],
  });
  const text = { description: 'What I learnt.', instructions: 'Ask twice.' };

  const first = await resultsOf(agent.id, writing(text));
  const again = await resultsOf(agent.id, writing(text));
  const next = await resultsOf(agent.id, writing({ ...text, instructions: 'Ask once.' }));
  const unknown = await resultsOf(agent.id, writing({ ...text, derived_from: 'nothing' }));

  expect(first.results).toMatchObject([{ status: 'succeeded', output: { slug, version: 1, curation_state: 'pending' } }]);
  expect([again, next].map(({ results }) => results[0]?.['output'])).toMatchObject([{ version: 1 }, { version: 2 }]);
  expect(unknown.results).toMatchObject([{ status: 'failed', error: { code: 'invalid_arguments' } }]);
  const stored = await sweep(stack.db, (em) =>
    rows(em, 'select scope, origin, curation_state, owner_agent_id, created_by from skills where slug = ?', [slug]),
  );
  const created = { kind: 'agent', id: agent.id };
  expect(stored).toEqual([
    { scope: 'workspace', origin: 'agent', curation_state: 'pending', owner_agent_id: agent.id, created_by: created },
  ]);
  const audited = await sweep(stack.db, (em) =>
    rows(
      em,
      'select e.action, e.actor_kind from audit_entries e join skills s on s.id::text = e.resource_id where s.slug = ? order by e.id',
      [slug],
    ),
  );
  expect(audited).toEqual([
    { action: 'create', actor_kind: 'agent_run' },
    { action: 'update', actor_kind: 'agent_run' },
  ]);
});

fullTest('a worker killed while it loads a skill: loaded and counted once', async () => {
  const skill = await promotedSkill('Read on.');
  const agent = await makeAgent(stack, [], { skills: [{ slug: skill.slug }] });
  const waiting =
    "select pid from pg_stat_activity where wait_event_type = 'Lock' and query like '%skill_uses%' and datname = current_database()";
  // Only a superuser sees what others wait for.
  const waits = () => withAdmin(stack.adminUrl, async (admin) => (await admin.query(waiting)).rows.length);
  const before = { ended: false };
  let finished: Promise<{ results: ReceivedFrame['data'][]; status: unknown }> | null = null;

  await sweep(stack.db, async (em) => {
    // Held until the worker is dead: counting the use waits for it.
    await row(em, 'select id from skills where id = ? for update', [skill.id]);
    finished = resultsOf(agent.id, loading(skill.slug)).finally(() => (before.ended = true));
    await until(async () => (await waits()) === 1);
    await stack.kill('worker-runs');
  });
  await until(async () => (await waits()) === 0);
  expect(before.ended).toBe(false);
  await stack.start('worker-runs');
  const ended = await finished;

  expect(ended).toMatchObject({ status: 'succeeded', results: [{ status: 'succeeded', output: expect.stringMatching(/^Read on\./) }] });
  expect(await ask<SkillBody>('GET', `/skills/${skill.id}`)).toMatchObject({ use_count: 1 });
});
