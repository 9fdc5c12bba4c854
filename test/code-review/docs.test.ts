import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { knownEvents, nameOfEvent } from '../../domain/code-review/enabled-events.ts';
import { commandNames } from '../../domain/code-review/pipeline/commands.ts';
import { sampleVariables } from '../../domain/code-review/pipeline/prompt-samples.ts';
import { makeAgent, openWorld, type World } from '../api/world.ts';
import { startGitHubHost, type GitHubHost } from '../fakes/github/index.ts';
import { createScene } from '../fakes/github/scene.ts';
import { defaultTemplates } from '../support/default-playbook.ts';

const text = readFileSync(join(import.meta.dirname, '../../docs/code-review.md'), 'utf8');
let host: GitHubHost;
let world: World;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lh-review-doc-'));
  host = await startGitHubHost();
  world = await openWorld({ env: host.env });
});
afterAll(async () => {
  await world?.close();
  host?.close();
  rmSync(folder, { recursive: true, force: true });
});

test('the example of docs/code-review.md binds a repository and starts a review when it is pasted', async () => {
  const { tokens, serviceKey } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  const scene = createScene(host, { owner: 'acme', name: 'shop' });
  const keyFile = join(folder, 'app.pem');
  writeFileSync(keyFile, scene.app.privateKey);
  const [, block = ''] = /```sh\n([\s\S]*?)```/.exec(text) ?? [];
  // A deployment of the state folder is elsewhere, and so is GitHub: what they are called here is the test's to say.
  const script = block
    .split('\n')
    .filter((line) => !/^(?:URL|KEY|AGENT|APP_ID)=/.test(line))
    .join('\n');
  const env = {
    PATH: `${join(process.execPath, '..')}:${process.env['PATH'] ?? ''}`,
    URL: world.api.url,
    KEY: serviceKey.plaintext,
    AGENT: agent.id,
    APP_ID: String(scene.app.id),
    APP_KEY_FILE: keyFile,
    INSTALLATION: String(scene.installation.id),
    REPOSITORY: 'Acme/Shop',
    PULL: '7',
  };

  const { stdout } = await promisify(execFile)('bash', ['-euc', script], { env });

  const [binding] = (await world.call(tokens.viewer, 'GET', '/repo-bindings')).body.items;
  const [run] = (await world.call(tokens.viewer, 'GET', `/runs?binding_id=${binding.id}`)).body.items;
  expect([binding.repo_full_name, run.source, run.input.json.pull_number]).toEqual(['acme/shop', 'code_review', 7]);
  expect(stdout).toContain(run.id);
  expect(stdout).not.toContain('PRIVATE KEY');
});

test('every event, command and variable stands in the document', () => {
  const shown = text.replaceAll('`', ' ');
  const actions = knownEvents.filter(({ event }) => event === 'pull_request').map(({ action }) => action);

  for (const word of [...actions, ...commandNames.map((name) => `/${name}`)]) expect(shown).toContain(word);
  expect(shown).toContain(nameOfEvent({ event: 'pull_request', action: 'labeled' }));
  for (const [prompt, variables] of Object.entries(sampleVariables(defaultTemplates())))
    for (const name of Object.keys(variables))
      expect(`${prompt}: ${shown.includes(` ${name}`) ? name : 'missing'}`).toBe(`${prompt}: ${name}`);
});
