import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { startModelServer, type ModelServer } from '../../fakes/model-server.ts';
import { created, scripted } from '../../support/scenario.ts';
import { startStack, type Stack } from '../../support/stack.ts';
import { until } from '../../support/temporal.ts';
import { unique } from './client-world.ts';

const folder = join(import.meta.dirname, '../../../examples/typescript');
let models: ModelServer;
let stack: Stack;
const running: ChildProcess[] = [];

beforeAll(async () => {
  models = await startModelServer();
  stack = await startStack({ processes: ['api', 'worker-runs', 'worker-bulk'], modelBaseUrl: models.baseUrl });
});

afterEach(() => {
  for (const child of running.splice(0)) child.kill();
});

afterAll(async () => {
  await stack?.stop();
  await models?.close();
});

interface Example {
  readonly child: ChildProcess;
  output: string;
  errors: string;
  readonly ended: Promise<number | null>;
}

function example(
  name: string,
  agent: string,
  { args = [], env = {} }: { readonly args?: readonly string[]; readonly env?: Record<string, string> } = {},
): Example {
  const variables = { LONGHAUL_URL: stack.url(), LONGHAUL_SERVICE_KEY: stack.tenant.serviceKey.plaintext, LONGHAUL_AGENT: agent };
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', join(folder, name), ...args], {
    env: { ...variables, ...env },
    stdio: 'pipe',
  });
  running.push(child);
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const found: Example = { child, output: '', errors: '', ended };
  child.stdout?.on('data', (bytes: Buffer) => (found.output += bytes.toString()));
  child.stderr?.on('data', (bytes: Buffer) => (found.errors += bytes.toString()));
  return found;
}

/** Where an example that serves listens. */
async function portOf(served: Example): Promise<number> {
  await until(() => {
    if (served.child.exitCode !== null) throw new Error(`the example has ended: ${served.errors}`);
    return served.output.includes('\n');
  });
  return Number(/"port":(\d+)/.exec(served.output)?.[1]);
}

async function makeNamedAgent(document: Record<string, unknown> = {}): Promise<string> {
  const slug = unique('example');
  await created(stack, '/agents', {
    slug,
    name: 'Example',
    revision: { instructions: 'Do what the script says.', ...document },
    activate: true,
  });
  return slug;
}

test('the chat prints each answer, in one conversation', async () => {
  const agent = await makeNamedAgent();
  const conversation = unique('chat');
  const chat = example('chat.ts', agent, { args: [conversation] });
  const say = (text: string) => `${scripted({ steps: [{ text }] }, 'Say it.')}\n`;

  chat.child.stdin?.end(say('Good morning.') + say('Good night.'));
  const code = await chat.ended;
  const runs = (await stack.request('GET', `/runs?session_key=${conversation}`)).body as { items: unknown[] };

  expect([code, chat.output]).toEqual([0, 'Good morning.\nGood night.\n']);
  expect(runs.items).toHaveLength(2);
});

test('the back end executes its tools and decides by its rules', async () => {
  const schema = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'], additionalProperties: false };
  const tool = (slug: string, effect: string) =>
    created(stack, '/tools', {
      slug,
      kind: 'http',
      client_owned: true,
      effect,
      description: 'Of the shop.',
      input_schema: schema,
      config: {},
      timeout_s: 300,
    });
  const [find, refund] = await Promise.all([tool('find_order', 'read'), tool('refund', 'write')]);
  const agent = await makeNamedAgent({ tools: [{ id: find.id }, { id: refund.id }], approvals: { write: 'ask' } });
  const served = example('back-end.ts', agent);
  const port = await portOf(served);
  const ask = async (order: string) => {
    const call = (name: string) => ({ tool_calls: [{ name, arguments: { order } }] });
    const question = scripted({ steps: [call('find_order'), call('refund'), { text: `Order ${order}.` }] });
    const reply = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: JSON.stringify({ question }) });
    return (await reply.json()) as { run: string; answer: string };
  };
  const resultsOf = async (run: string) => JSON.stringify((await stack.request('GET', `/runs/${run}/steps`)).body);

  const [small, large] = [await ask('4711'), await ask('4712')];

  expect([small.answer, large.answer]).toEqual(['Order 4711.', 'Order 4712.']);
  expect(await resultsOf(small.run)).toContain('watering can');
  expect(await resultsOf(small.run)).toContain('refunded');
  expect(await resultsOf(large.run)).not.toContain('refunded');
});

test('the receiver takes what is signed, once, and refuses the rest', async () => {
  const secret = `whsec_${Buffer.from('a secret of twenty-four.').toString('base64')}`;
  const served = example('webhook-receiver.ts', 'none', { env: { WEBHOOK_SECRETS: `whsec_AAAA,${secret}` } });
  const port = await portOf(served);
  const body = JSON.stringify({ type: 'run.finished', data: { output: 'Grüße' } });
  const at = new Date();
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign('msg_1', at, body),
  };
  const deliver = async (text: string) => (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body: text })).status;

  const statuses = [await deliver(body), await deliver(body), await deliver(body.replace('finished', 'failed'))];
  await until(() => served.output.includes('event '));

  expect(statuses).toEqual([204, 204, 401]);
  expect(served.output.match(/^event .*$/gm)).toEqual([`event ${body}`]);
});

test('the evaluation ends a pipeline as its items pass', async () => {
  const agent = await makeNamedAgent();
  const place = await mkdtemp(join(tmpdir(), 'longhaul-example-'));
  const path = join(place, 'items.jsonl');
  const item = (id: string, text: string) =>
    JSON.stringify({ id, input: scripted({ steps: [{ text }] }, `Item ${id}.`), expected: 'Paris' });
  await writeFile(path, `${item('right', 'It is Paris.')}\n${item('wrong', 'It is Rome.')}\n`);

  const env = { CI_JOB_ID: unique('job') };
  const half = example('evaluate.ts', agent, { args: [path, '0.5'], env });
  const halfCode = await half.ended;
  const whole = example('evaluate.ts', agent, { args: [path, '0.9'], env });
  const wholeCode = await whole.ended;
  await rm(place, { recursive: true });

  expect([halfCode, half.output]).toEqual([0, 'succeeded: 2 of 2 results, 50.0 % passed\n']);
  expect([wholeCode, whole.output]).toEqual([1, half.output]);
});
