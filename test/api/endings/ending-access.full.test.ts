import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { TestTenant } from '../../support/tenant.ts';
import { programs } from './programs.ts';
import { made, makeSomebody, openStage, stretch, type Stage } from './stage.ts';
import { openThings, outcomeOf, pendingStreamToken, prepareThings, type Open, type Outcome } from './things.ts';
import { ways } from './ways.ts';

type Row = Readonly<Record<string, string>>;

const document = readFileSync(new URL('../../../docs/security/ending-access.md', import.meta.url), 'utf8');
const people = tableAfter('## A person');
const others = tableAfter('## Apps, keys and impersonations');

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

test('the tables name every way to put somebody out, and no other', () => {
  expect([...people.keys()].toSorted()).toEqual(Object.keys(ways).toSorted());
  expect([...others.keys()].toSorted()).toEqual(Object.keys(programs).toSorted());
});

test.each([...people])('a person: %s', async (name, expected) => {
  const way = ways[name];
  if (!way) throw new Error('no such way');
  const somebody = await makeSomebody(stage, way);
  const { tenant, runId, put } = somebody;
  const things = await prepareThings(stage, somebody);
  const open = await openThings(stage, { token: put.token, runId, hasMcp: true });
  const streamToken = await pendingStreamToken(stage, { token: put.token, runId });
  await stretch(stage);

  await way.go(stage, somebody);
  const found: Record<string, Outcome> = {
    'stream token': await streamToken(),
    ...(await lookAtOpen(tenant, runId, { open, expected })),
  };
  if (way.keepsActing) expect((await stage.client.call('GET', '/auth/me', { token: somebody.acting })).status).toBe(200);
  for (const [thing, look] of Object.entries(things)) found[thing] = await look();

  expect(found).toEqual(expected);
});

test.each([...others])('no person: %s', async (name, expected) => {
  const make = programs[name];
  if (!make) throw new Error('no such way');
  const tenant = await stage.client.tenant();
  const runId = await startRun(tenant);
  const { token, hasMcp, things, end } = await make(stage, tenant);
  const access = async () => outcomeOf(await stage.client.call('GET', `/runs/${runId}`, { token }));
  const open = await openThings(stage, { token, runId, hasMcp });
  const streamToken = await pendingStreamToken(stage, { token, runId });
  await stretch(stage);

  await end();
  const found: Record<string, Outcome> = {
    'access': await access(),
    'stream token': await streamToken(),
    ...(await lookAtOpen(tenant, runId, { open, expected })),
  };
  for (const [thing, look] of Object.entries(things)) found[thing] = await look();

  expect(found).toEqual(expected);
});

/** What has become of everything open: what is to end does so by itself, what is to stay sees the end of the run. */
async function lookAtOpen(
  tenant: TestTenant,
  runId: string,
  { open, expected }: { readonly open: Readonly<Record<string, Open>>; readonly expected: Row },
): Promise<Record<string, Outcome>> {
  await stage.allChecked({ tenant, runId });
  const entries = Object.entries(open);
  await Promise.all(entries.map(([name, { ended }]) => (expected[name] === 'ends' ? ended : null)));
  if (entries.some(([name]) => expected[name] === 'stays'))
    await stage.client.call('POST', `/runs/${runId}/cancel`, { token: tenant.organizationOwner.token });

  const found: Record<string, Outcome> = {};
  for (const [name, { look }] of entries) found[name] = await look();
  return found;
}

async function startRun({ tokens }: TestTenant): Promise<string> {
  const revision = { model: 'builtin/extractive', instructions: 'Answer.' };
  const agent = await made(stage.client, tokens.admin, '/agents', { slug: 'guide', name: 'Guide', revision, activate: true });
  return (await made(stage.client, tokens.member, '/runs', { agent_id: agent.id, input: { text: 'Hello' } })).id;
}

/** The first table below a heading: cells by row and column, without marks of notes; what does not exist there is left out. */
function tableAfter(heading: string): Map<string, Row> {
  const [, below = ''] = document.split(`${heading}\n`);
  const [section = ''] = below.split('\n## ');
  const lines = section.split('\n').filter((line) => line.startsWith('|'));
  const cells = (line: string) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.replaceAll(/[¹²³⁴⁵⁶⁷⁸⁹]/g, '').trim());
  const [head = '', , ...rows] = lines;
  const [, ...columns] = cells(head);

  return new Map(
    rows.map((line) => {
      const [name = '', ...values] = cells(line);
      return [name, Object.fromEntries(columns.flatMap((column, at) => (values[at] === '—' ? [] : [[column, values[at] ?? '']])))];
    }),
  );
}
