import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { TestApi } from '../../support/api.ts';
import { bearer, makeTenant, type TestTenant } from '../../support/tenant.ts';
import { postMcp, startMcpApi } from '../mcp/client.ts';

let api: TestApi;
let tenant: TestTenant;
beforeAll(async () => {
  api = await startMcpApi();
  tenant = await makeTenant(api.db, api.keys);
});
afterAll(() => api.close());

const large = '1234567890123456789';
const id = '00000000-0000-7000-8000-00000000000a';

async function send(method: 'POST' | 'PUT' | 'PATCH', url: string, payload: string, headers: Record<string, string> = {}) {
  const reply = await api.app.inject({
    method,
    url,
    headers: { ...bearer(tenant.tokens.admin), 'content-type': 'application/json', ...headers },
    payload,
  });
  return { status: reply.statusCode, body: reply.json(), text: reply.body };
}
const faultsOf = ({ body }: { body: { errors: { pointer: string | null; rule: string }[] } }) =>
  body.errors.map(({ pointer, rule }) => [pointer, rule]);

/** Every place of a request in which a client's own JSON is kept or handed on. */
const places = [
  ['POST', '/runs', `{"agent_id":"${id}","input":{"json":{"id":@}}}`, '/input/json/id'],
  ['POST', '/runs', `{"agent_id":"${id}","input":{"text":"x"},"metadata":{"order":[@]}}`, '/metadata/order/0'],
  ['POST', '/runs/batch', `{"items":[{"agent_id":"${id}","input":{"json":{"id":@}}}]}`, '/items/0/input/json/id'],
  ['POST', `/runs/${id}/input`, `{"kind":"message","json":{"id":@}}`, '/json/id'],
  [
    'POST',
    `/runs/${id}/input`,
    `{"kind":"tool_results","results":[{"tool_call_id":"${id}","status":"succeeded","output":{"id":@}}]}`,
    '/results/0/output/id',
  ],
  ['POST', `/runs/${id}/input`, `{"kind":"answer","approval_id":"${id}","response":{"id":@}}`, '/response/id'],
  [
    'POST',
    `/runs/${id}/approvals`,
    `{"resolutions":[{"approval_id":"${id}","decision":"edit","edited_args":{"id":@}}]}`,
    '/resolutions/0/edited_args/id',
  ],
  ['POST', '/agents', `{"slug":"a","name":"A","attributes":{"id":@}}`, '/attributes/id'],
  ['POST', '/agents', `{"slug":"a","name":"A","revision":{"tools":[{"slug":"t","preset":{"id":@}}]}}`, '/revision/tools/0/preset/id'],
  ['POST', '/tools', `{"slug":"t","kind":"http","description":"T","input_schema":{"const":@}}`, '/input_schema/const'],
  ['POST', `/tools/${id}/test`, `{"arguments":{"id":@}}`, '/arguments/id'],
  ['POST', '/runs', `{"agent_id":"${id}","input":{"text":"x"},"limits":{"max_steps":@}}`, '/limits/max_steps'],
] as const;

test.each(places)('%s %s names the number that it can not keep: %s', async (method, url, body, pointer) => {
  const refused = await send(method, url, body.replace('@', large));
  const beyond = await send(method, url, body.replace('@', '-1e400'));
  const kept = await send(method, url, body.replace('@', `"${large}"`));

  expect([refused.status, faultsOf(refused)]).toEqual([422, [[pointer, 'range']]]);
  expect([beyond.status, faultsOf(beyond)]).toEqual([422, [[pointer, 'range']]]);
  expect(kept.text).not.toContain('"range"');
});

test('what a double keeps is kept, a long fraction is rounded as everywhere', async () => {
  const attributes = `{"whole":9007199254740992,"power":1e22,"zero":-0,"tenth":0.1,"pi":3.14159265358979323846,"text":"${large}"}`;

  const { status, body } = await send('POST', '/agents', `{"slug":"kept-${crypto.randomUUID()}","name":"K","attributes":${attributes}}`);

  expect(status).toBe(201);
  expect(body.attributes).toEqual({ whole: 2 ** 53, power: 1e22, zero: 0, tenth: 0.1, pi: Math.PI, text: large });
});

// An amount is what was written: 1e-400 would be a budget of nothing, and a limit that a double cuts is another limit.
test.each([
  ['PUT', '/budgets/:workspace', '{"limit_amount":@}', '/limit_amount'],
  ['POST', '/alert-rules', '{"name":"R","kind":"spend","operator":"gt","threshold":@}', '/threshold'],
  ['POST', '/alert-rules', '{"name":"R","kind":"spend","operator":"gt","threshold":9,"warning_threshold":@}', '/warning_threshold'],
  ['POST', `/tools/${id}/test`, '{"arguments":{"id":@}}', '/arguments/id'],
  [
    'POST',
    `/runs/${id}/approvals`,
    `{"resolutions":[{"approval_id":"${id}","decision":"edit","edited_args":{"id":@}}]}`,
    '/resolutions/0/edited_args/id',
  ],
] as const)('%s %s refuses an amount, or an argument of a tool, that a double would change', async (method, path, body, pointer) => {
  const url = path.replace(':workspace', tenant.workspaceId);
  for (const literal of ['1e-400', '1.00000000000000000001', '0.1000000000000000055511151231257827', large]) {
    const refused = await send(method, url, body.replace('@', literal));
    expect([literal, refused.status, faultsOf(refused)]).toEqual([literal, 422, [[pointer, 'range']]]);
  }
  for (const literal of ['2.5', '1e-9', '2.50', '1E1'])
    expect((await send(method, url, body.replace('@', literal))).text).not.toContain('stored exactly');
});

test('at most fifty are listed, of a body full of them', async () => {
  const reply = await send('POST', '/agents', `{"slug":"a","name":"A","attributes":{"ids":[${Array(5_000).fill(large).join()}]}}`);

  expect(reply.status).toBe(422);
  expect(reply.body.errors).toHaveLength(50);
});

test('an idempotency key is not used up by a refusal, and tells texts of digits apart', async () => {
  const headers = { 'idempotency-key': crypto.randomUUID() };
  const body = (value: string) => `{"slug":"once-${headers['idempotency-key']}","name":"A","attributes":{"id":${value}}}`;

  const refused = await send('POST', '/agents', body(large), headers);
  const made = await send('POST', '/agents', body(`"${large}"`), headers);
  const other = await send('POST', '/agents', body('"1234567890123456788"'), headers);

  expect([refused.status, made.status, other.status]).toEqual([422, 201, 422]);
  expect(other.body.code).toBe('idempotency_key_mismatch');
});

test.each([large, '0.1000000000000000055511151231257827'])('MCP: %s in arguments is refused, and nothing is started', async (number) => {
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };
  const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'createRun', arguments: '@', _meta } });

  const reply = await postMcp(api, tenant.tokens.admin, message.replace('"@"', `{"agent_id":"${id}","input":{"json":{"id":${number}}}}`), {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'createRun',
  });

  expect(reply.body.result.isError).toBe(true);
  expect(reply.body.result.structuredContent).toMatchObject({ status: 422, errors: [{ pointer: '/input/json/id', rule: 'range' }] });
});

test.each([
  ['id', `{"jsonrpc":"2.0","id":${large},"method":"ping"}`, null],
  ['progressToken', `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"progressToken":${large}}}}`, 7],
])('MCP: a %s that can not be given back as it came is refused', async (_field, body, rpcId) => {
  const reply = await postMcp(api, tenant.tokens.admin, body);

  expect(reply.status).toBe(400);
  expect(reply.body).toMatchObject({ id: rpcId, error: { code: -32_600 } });
  expect(JSON.stringify(reply.body)).not.toContain('number:');
});
