import { startApi, type TestApi, type TestApiOptions } from '../../support/api.ts';
import { bearer } from '../../support/tenant.ts';

/** A reply of the endpoint as tests read it. */
export interface McpReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  // Tests look at fields by name.
  readonly body: any; // oxlint-disable-line typescript/no-explicit-any
}

type Json = Readonly<Record<string, unknown>>;

export const statelessVersion = '2026-07-28';

const metaNow = {
  'io.modelcontextprotocol/protocolVersion': statelessVersion,
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** Bodies and headers as they stand, for what no client would send. */
export async function postMcp(
  api: TestApi,
  token: string | null,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<McpReply> {
  const reply = await api.app.inject({
    method: 'POST',
    url: '/mcp',
    headers: {
      'content-type': 'application/json',
      'accept': 'application/json, text/event-stream',
      ...(token === null ? {} : bearer(token)),
      ...headers,
    },
    payload: typeof body === 'string' ? body : JSON.stringify(body),
  });
  // Fastify's own kind of headers has the same texts.
  return { status: reply.statusCode, headers: reply.headers as Record<string, string | undefined>, body: parsed(reply.body) };
}

/** A request of 2026-07-28. */
export function askMcp(
  api: TestApi,
  token: string,
  method: string,
  params: Json = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<McpReply> {
  const name = params['name'];
  const standing = {
    'mcp-protocol-version': statelessVersion,
    'mcp-method': method,
    ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
  };
  const own = typeof params['_meta'] === 'object' ? params['_meta'] : {};
  return postMcp(
    api,
    token,
    { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: { ...metaNow, ...own } } },
    { ...standing, ...headers },
  );
}

/** Calls a tool; gives its result. */
export async function callTool(
  api: TestApi,
  token: string,
  name: string,
  args: Json = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<any> {
  // oxlint-disable-line typescript/no-explicit-any
  const { status, body } = await askMcp(api, token, 'tools/call', { name, arguments: args }, headers);
  if (status !== 200 || body?.result === undefined) throw new Error(`${name}: ${status} ${JSON.stringify(body)}`);
  return body.result;
}

/** Opens a session of 2025-11-25; gives the headers of its requests. */
export async function openSession(api: TestApi, token: string): Promise<Record<string, string>> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  const { headers } = await postMcp(api, token, { jsonrpc: '2.0', id: 1, method: 'initialize', params });
  return { 'mcp-session-id': headers['mcp-session-id'] ?? '', 'mcp-protocol-version': '2025-11-25' };
}

export function startMcpApi(options: TestApiOptions = {}): Promise<TestApi> {
  return startApi({ ...options, env: { RATE_LIMITS: 'anonymous=100000/60,principal=100000/60,workspace=100000/60', ...options.env } });
}

/** JSON, or the messages of an event stream. */
function parsed(text: string): unknown {
  if (text === '') return null;
  if (!/^[{[]/.test(text)) return [...text.matchAll(/^data: (.*)$/gm)].map(([, message = '']) => JSON.parse(message));
  return JSON.parse(text);
}
