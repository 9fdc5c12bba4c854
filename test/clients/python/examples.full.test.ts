import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { signatureHeaders } from '../../../ports/hooks/webhook-signature.ts';
import { startModelServer, type ModelServer } from '../../fakes/model-server.ts';
import { makeAgent, scripted } from '../../support/scenario.ts';
import { startStack, type Stack } from '../../support/stack.ts';
import { until } from '../../support/temporal.ts';
import { examplesFolder } from './examples.ts';
import { clientFolder, describePython, pythonEnv } from './python.ts';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const input_schema = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'], additionalProperties: false };
const readme = readFileSync(join(clientFolder, 'README.md'), 'utf8');
const examples = [...readme.matchAll(/```python\n([^]*?)```/g)].map(([, code = '']) => code);

describePython('examples in Python', () => {
  const folder = mkdtempSync(join(tmpdir(), 'longhaul-examples-'));
  let models: ModelServer;
  let stack: Stack;

  beforeAll(async () => {
    models = await startModelServer();
    stack = await startStack({ processes: ['api', 'worker-runs', 'worker-bulk'], modelBaseUrl: models.baseUrl });
    const tool = { slug: 'find_note', kind: 'http', client_owned: true, effect: 'read', config: {}, description: 'A note.', input_schema };
    const asking = { ...tool, slug: 'file_note', critical: true };
    await makeAgent(stack, []).then(({ id }) => rename(id, 'guide'));
    await makeAgent(stack, [tool, asking]).then(({ id }) => rename(id, 'notes'));
  });

  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await stack?.stop();
    await models?.close();
  });

  async function rename(id: string, slug: string): Promise<void> {
    expect((await stack.request('PATCH', `/agents/${id}`, { body: { slug } })).status).toBe(200);
  }

  const env = () => ({
    LONGHAUL_URL: stack.url(),
    LONGHAUL_KEY: stack.tenant.serviceKey.plaintext,
    WEBHOOK_SECRET: secret,
    WEBHOOK_SECRETS: secret,
    LEDGER: join(folder, 'ledger.json'),
  });

  test('the chat answers each line in one conversation', async () => {
    const lines = ['Hello', 'And again'].map((text) => scripted({ steps: [{ text: `${text} to you.`, tokens: 4 }] }, text));
    const { output, code } = await run([join(examplesFolder, 'chat.py'), 'guide'], env(), `${lines.join('\n')}\n`);

    expect([output, code]).toEqual(['Hello to you.\nAnd again to you.\n', 0]);
    const { body } = await stack.request('GET', '/runs?limit=2');
    const [first, second] = (body as { items: { session_key: string }[] }).items;
    expect(first?.session_key).toBe(second?.session_key);
  });

  test('approvals and own tools: consent is asked in the terminal, and the ledger has what was done', async () => {
    const calls = ['find_note', 'file_note'].map((name) => ({ name, arguments: { query: 'the garden shop' } }));
    const text = scripted({ steps: [{ tool_calls: calls }, { text: 'At nine.' }] });
    const { output, code } = await run([join(examplesFolder, 'approvals_and_tools.py'), 'notes', text], env(), 'n\n');

    expect(output).toMatch(/^run [0-9a-f-]{36}\n[^]*file_note \{"query": "the garden shop"\}\nApprove\? \[y\/n\] At nine\.\n$/);
    expect(Object.values(JSON.parse(readFileSync(env().LEDGER, 'utf8')) as object)).toEqual(['They open at nine, on Sundays at ten.']);
    expect(code).toBe(0);
    const [, runId = ''] = /^run (\S+)/.exec(output) ?? [];
    const again = await run([join(examplesFolder, 'approvals_and_tools.py'), runId], env(), '');
    expect(again).toMatchObject({ output: 'At nine.\n', code: 0 });
  });

  test('the webhook receiver takes what is signed, once', async () => {
    const receiver = start([join(examplesFolder, 'webhook_receiver.py'), '0'], env());
    await until(() => receiver.output().includes('listening'));
    const [, port] = /listening on (\d+)/.exec(receiver.output()) ?? [];
    const body = JSON.stringify({ type: 'run.finished', timestamp: 'now', data: { run_id: 'r1', status: 'succeeded' } });
    const headers = signatureHeaders([secret], { id: 'msg_1', timestampS: Math.floor(Date.now() / 1_000), body });
    const send = async (text: string) => (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body: text })).status;

    const statuses = [await send(body), await send(body), await send(`${body} `)];

    receiver.child.kill();
    expect(statuses).toEqual([204, 204, 401]);
    expect(receiver.output().split('\n').slice(1)).toEqual(['run.finished r1 succeeded', '']);
  });

  test('the evaluation exits by its pass rate', async () => {
    const item = (answer: string) => ({ id: crypto.randomUUID(), input: scripted({ steps: [{ text: answer }] }), expected: 'Paris' });
    const path = join(folder, 'items.jsonl');
    writeFileSync(path, [item('It is Paris.'), item('It is Rome.')].map((one) => JSON.stringify(one)).join('\n'));
    const evaluate = (demanded: string) => run([join(examplesFolder, 'evaluate.py'), 'guide', path, demanded], env(), '');

    expect(await evaluate('0.5')).toMatchObject({ output: expect.stringContaining('passed: 50%'), code: 0 });
    expect(await evaluate('0.9')).toMatchObject({ output: expect.stringContaining('failed'), code: 1 });
  });

  test('each example file has its test', () => {
    const files = readdirSync(examplesFolder).filter((name) => name.endsWith('.py'));
    expect(files.toSorted()).toEqual(['approvals_and_tools.py', 'chat.py', 'evaluate.py', 'webhook_receiver.py']);
  });

  test.each(examples.map((code, at) => [at + 1, code] as const))('example %i of the README runs', async (at, code) => {
    const whole = at === webhookAt ? `${code}\n${receiveOnce}` : code;
    expect(await run(['-c', whole], env(), '')).toMatchObject({ code: 0, errors: '' });
  });
});

const webhookAt = examples.findIndex((code) => code.includes('verify_webhook')) + 1;
const receiveOnce = `
import datetime, json
from standardwebhooks import Webhook
body, at = json.dumps({"type": "run.finished"}), datetime.datetime.now(tz=datetime.timezone.utc)
signature = Webhook(os.environ["WEBHOOK_SECRET"]).sign("m", at, body)
headers = {"webhook-id": "m", "webhook-timestamp": str(int(at.timestamp())), "webhook-signature": signature}
assert receive(body.encode(), headers) == 204 and receive(b"{}", headers) == 401
`;

interface Started {
  readonly child: ChildProcess;
  readonly output: () => string;
}

function start(args: readonly string[], extra: Record<string, string>): Started {
  const child = spawn('python3', args, { env: pythonEnv(extra), stdio: ['pipe', 'pipe', 'ignore'] });
  let output = '';
  child.stdout.on('data', (text: Buffer) => (output += String(text)));
  return { child, output: () => output };
}

function run(
  args: readonly string[],
  extra: Record<string, string>,
  input: string,
): Promise<{ output: string; errors: string; code: number | null }> {
  const child = spawn('python3', args, { env: pythonEnv(extra), stdio: ['pipe', 'pipe', 'pipe'] });
  let output = '';
  let errors = '';
  child.stdout.on('data', (text: Buffer) => (output += String(text)));
  child.stderr.on('data', (text: Buffer) => (errors += String(text)));
  child.stdin.end(input);
  return new Promise((resolve) => child.on('close', (code) => resolve({ output, errors, code })));
}
