import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { asArray, asObject, type Json } from '../contract/newcomer.ts';
import { startStack, type Stack } from '../support/stack.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'longhaul-samples-'));
let stack: Stack;
let operations: Json[];
/** The agent `guide` as samples made it, and the one that the activation answered. */
let made: { readonly agent: Json; readonly revision: Json; readonly active: Json };

beforeAll(async () => {
  stack = await startStack({ processes: ['api', 'worker-runs'] });
  const document = asObject(await (await fetch(`${stack.url()}/openapi.json`)).json());
  operations = Object.values(asObject(document['paths'])).flatMap((item) => Object.values(asObject(item)).map(asObject));
  const tool = { slug: 'web_fetch', kind: 'web_fetch', description: 'Reads the page at an address.' };
  expect((await stack.request('POST', '/tools', { body: tool })).status).toBe(201);
  made = await makeAgent();
});

afterAll(async () => {
  await stack?.stop();
  rmSync(folder, { recursive: true });
});

async function makeAgent(): Promise<typeof made> {
  const agent = parsed(await curl('createAgent'));
  const revision = parsed(await curl('createAgentRevision', { AGENT_ID: agent['id'] }));
  const etag = (await stack.request('GET', `/agents/${String(agent['id'])}`)).headers.get('etag');
  const active = parsed(await curl('activateAgentRevision', { AGENT_ID: agent['id'], REVISION_ID: revision['id'], ETAG: etag }));
  return { agent, revision, active };
}

test('the samples for curl make an agent and put it into force', () => {
  const { agent, revision, active } = made;

  expect(agent).toMatchObject({ slug: 'guide', active_revision_id: null });
  expect(active).toMatchObject({ id: agent['id'], active_revision_id: revision['id'] });
});

test('the samples for curl run the agent, stream the run and read what came of it', async () => {
  const { id: runId, ...started } = parsed(await curl('createRun'));
  const stream = await curl('streamRun', { RUN_ID: runId });
  const ended = parsed(await curl('getRun', { RUN_ID: runId }));
  const messages = asArray(parsed(await curl('listRunMessages', { RUN_ID: runId }))['items']);

  expect(started).toMatchObject({ agent_id: made.agent['id'], session_key: 'chat-42' });
  expect(stream).toMatch(wholeStream);
  expect(ended).toMatchObject({ id: runId, status: 'succeeded' });
  expect(messages.length).toBeGreaterThan(1);
});

test('the samples for TypeScript start a run and stream it', async () => {
  const started = await typescript('createRun');
  const [, runId] = /id: '([0-9a-f-]{36})'/.exec(started) ?? [];

  expect(await typescript('streamRun', { RUN_ID: runId })).toMatch(wholeStream);
});

test('a sample for a file uploads it', async () => {
  writeFileSync(join(folder, 'notes.txt'), 'Meeting notes\n');

  expect(parsed(await curl('createAttachment'))).toMatchObject({ filename: 'notes.txt', size_bytes: 14 });
  expect(await typescript('createAttachment')).toContain("filename: 'notes.txt'");
});

test('the sample for the MCP server begins a session', async () => {
  const began = { result: { protocolVersion: '2025-11-25', serverInfo: { name: 'longhaul' } } };

  expect(parsed(await curl('callMcp'))).toMatchObject(began);
  expect(await typescript('callMcp')).toContain("protocolVersion: '2025-11-25'");
});

test('the commands that /llms.txt opens with start a run, stream it, list its questions and page', async () => {
  const text = await (await fetch(`${stack.url()}/llms.txt`)).text();
  const [start = '', stream = '', approve = '', page = ''] = [...text.matchAll(/```sh\n([^]*?)\n```/g)].map(([, code]) => code);
  // Two, so that a page of one has another behind it.
  await shell(start);
  const started = parsed(await shell(start));
  const variables = { RUN_ID: started['id'], APPROVAL_ID: crypto.randomUUID() };
  const [pending = '', ...answer] = approve.split('\n');

  expect(started).toMatchObject({ agent_id: made.agent['id'], session_key: 'chat-42' });
  expect(await shell(stream, variables)).toMatch(wholeStream);
  expect(parsed(await shell(pending, variables))).toMatchObject({ items: [] });
  // There is no such question: the form is right, and the id is looked for.
  expect(parsed(await shell(answer.join('\n'), variables))).toMatchObject({
    code: expect.stringMatching(/^(?:not_found|state_conflict|validation_failed)$/),
  });
  const first = await stack.request('GET', '/runs?limit=1');
  expect(parsed(await shell(page, { NEXT_CURSOR: asObject(first.body)['next_cursor'] }))).toMatchObject({ items: expect.any(Array) });
});

const wholeStream = /event: run\.started\n[^]*event: run\.finished\n/;

function parsed(text: string): Json {
  return asObject(JSON.parse(text));
}

function sampleOf(operationId: string, label: string): string {
  const operation = operations.find((candidate) => candidate['operationId'] === operationId);
  const sample = asArray(operation?.['x-codeSamples'])
    .map(asObject)
    .find((candidate) => candidate['label'] === label);
  return String(sample?.['source']);
}

function curl(operationId: string, variables: Json = {}): Promise<string> {
  return shell(sampleOf(operationId, 'curl'), variables);
}

async function shell(command: string, variables: Json = {}): Promise<string> {
  const { stdout } = await run('sh', ['-c', command], { cwd: folder, env: environment(variables) });
  return stdout;
}

async function typescript(operationId: string, variables: Json = {}): Promise<string> {
  const file = join(folder, `${operationId}.mts`);
  writeFileSync(file, sampleOf(operationId, 'TypeScript'));
  const { stdout } = await run(process.execPath, [file], { cwd: folder, env: environment(variables) });
  return stdout;
}

function environment(variables: Json): NodeJS.ProcessEnv {
  const key = stack.tenant.serviceKey.plaintext;
  const given = Object.entries(variables).map(([name, value]) => [name, String(value)]);
  return { PATH: process.env['PATH'], LONGHAUL_KEY: key, KEY: key, ...Object.fromEntries(given) };
}
