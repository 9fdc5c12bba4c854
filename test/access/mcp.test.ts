import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { RegisteredOperation } from '../../api/http/operation/operation.ts';
import { aim, groundFor } from './aim.ts';
import { asObject, type Json } from './requests.ts';
import { playedSpecs } from './checks/table.ts';
import { openStage, type Ask, type Fault, type Stage } from './stage.ts';
import { lines } from './told.ts';
import { actorSpecs, type Actor, type ActorSpec } from './world/actors.ts';

jest.setTimeout(900_000);

let stage: Stage;
beforeAll(async () => {
  // The form of the replies is held against the document by the other walks.
  stage = await openStage({ isUnchecked: true });
});
afterAll(() => stage?.close());

test('each tool answers each actor as its route does', async () => {
  const tools = stage.operations.filter((operation) => operation.mcp === true);
  const faults: Fault[] = [];
  const heard = new Set<number>();

  for (const operation of tools) {
    for (const spec of playedSpecs(operation, actorSpecs)) faults.push(...(await cellFaults(operation, spec, heard)));
  }

  expect(tools.length).toBeGreaterThan(12);
  expect(lines(faults)).toEqual([]);
  expect([...heard].toSorted()).toEqual(expect.arrayContaining([200, 202, 401, 403, 404]));
  expect(lines(stage.leaks.found)).toEqual([]);
});

/** Sends the same aim twice: to the route, and as a tool call. What may be used up is aimed anew. */
async function cellFaults(operation: RegisteredOperation, spec: ActorSpec, statuses: Set<number>): Promise<Fault[]> {
  const isRead = operation.method === 'GET';
  const ground = await groundFor(stage, operation);
  const actor = isRead ? stage.world.actor(spec.name) : await stage.world.enter(spec, ground);
  const ask = await aim(stage, operation, { actor, ground, isFresh: !isRead });
  const again = isRead ? ask : await aim(stage, operation, { actor, ground, isFresh: true });

  const route = await stage.send(operation, actor, ask);
  const tool = await callTool(operation, actor, again);
  statuses.add(tool.status);
  const told = isRead ? [route.status, comparable(route.body)] : [route.status, route.code];
  const heard = isRead ? [tool.status, comparable(tool.body)] : [tool.status, tool.code];
  if (JSON.stringify(told) === JSON.stringify(heard)) return [];
  return [
    { operation: operation.operationId, fault: `${actor.name}: ${JSON.stringify(heard)} instead of ${JSON.stringify(told)}`.slice(0, 600) },
  ];
}

async function callTool(operation: RegisteredOperation, actor: Actor, ask: Ask): Promise<{ status: number; code: unknown; body: Json }> {
  const endpoint = stage.operations.find(({ operationId }) => operationId === 'callMcp');
  if (!endpoint) throw new Error('callMcp is not mounted');
  const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };
  const params = { name: operation.operationId, arguments: argumentsOf(operation, ask), _meta: meta };
  const sent = await stage.send(endpoint, actor, {
    url: '/mcp',
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
    headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': operation.operationId },
  });

  // Whoever is nobody is refused before any tool.
  if (sent.status !== 200) return { status: sent.status, code: sent.code, body: sent.body ?? {} };
  const result = asObject(asObject(sent.body)['result']);
  const body = asObject(result['structuredContent']);
  const status = Number(asObject(result['_meta'])['longhaul/status']);
  return { status, code: status >= 400 ? body['code'] : null, body };
}

/** Path, query and body of a request as the arguments of a tool. */
function argumentsOf(operation: RegisteredOperation, { url, body }: Ask): Json {
  const [path = '', search = ''] = url.split('?');
  const segments = path.split('/').map(decodeURIComponent);
  const params = operation.path
    .split('/')
    .flatMap((segment, index) => (segment.startsWith('{') ? [[segment.slice(1, -1), segments[index]]] : []));
  const query = [...new URLSearchParams(search)].map(([name, text]) => [name, /^\d+$/.test(text) ? Number(text) : text]);
  const tag = operation.ifMatch === null ? [] : [['if_match', '*']];
  return Object.fromEntries([...params, ...query, ...tag, ...Object.entries(asObject(body))]);
}

/** Without what is made anew for each reply, and without the pages' sealed positions. */
function comparable(body: Json | null): unknown {
  return { ...body, correlation_id: null, instance: null };
}
