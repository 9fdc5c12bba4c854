import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { formats } from '../../api/http/input/formats.ts';
import { openApiDocument } from '../../api/http/openapi/openapi.ts';
import { areas } from '../../api/operations.ts';
import { startApi, type TestApi } from '../support/api.ts';
import { bearer, makeTenant, type TestTenant } from '../support/tenant.ts';

const id = '01960000-0000-7000-8000-000000000001';
const input = { text: 'Hello' };
const slack = { kind: 'slack', name: 'Desk', agent_id: id, settings: {}, secrets: { bot_token: 'a', signing_secret: 'b' } };
const rule = { name: 'Failures', kind: 'run_failure_pct', operator: 'gt', threshold: 5 };
const tool = { slug: 'look-up', kind: 'http', description: 'Looks up.', config: { method: 'GET', url: 'https://tools.example.com/x' } };

/** What the document takes, and what it refuses by a rule that a handler enforces: each differs from the first by that rule alone. */
const bodies: readonly (readonly [
  path: string,
  taken: Readonly<Record<string, unknown>>,
  refused: readonly Readonly<Record<string, unknown>>[],
])[] = [
  ['/runs/cancel', { ids: [id] }, [{}, { ids: [id], filter: { agent_id: id } }, { filter: {} }]],
  [
    '/runs',
    { agent_id: id, input },
    [{ input }, { agent_id: id, agent_slug: 'guide', input }, { agent_id: id }, { agent_id: id, input: {} }],
  ],
  ['/schedules/preview', { every_seconds: 600 }, [{}, { every_seconds: 600, cron: '0 8 * * *' }, { cron: null }]],
  ['/events', { event_kind: 'shop.order_paid' }, [{ event_kind: 'Shop' }, { event_kind: 'a..b' }]],
  ['/skills/import', { attachment_id: id }, [{}, { attachment_id: id, markdown: '# A skill' }, { attachment_id: null }]],
  [
    '/channels',
    slack,
    [
      { ...slack, settings: { public_key: 'x' } },
      { ...slack, secrets: { bot_token: 'a' } },
      { ...slack, kind: 'discord' },
    ],
  ],
  [
    '/alert-rules',
    rule,
    [
      { ...rule, threshold: -1 },
      { ...rule, threshold: '1e3' },
      { ...rule, threshold: 1e11 },
    ],
  ],
  ['/tools', { ...tool, timeout_s: 600 }, [{ ...tool, timeout_s: 601 }]],
];

const document = openApiDocument(areas, { publicUrl: 'https://longhaul.test', audience: 'all' });
const ajv = new Ajv2020({ strict: false, validateSchema: false, formats: { ...formats, int32: true, int64: true, binary: true } });
ajv.addSchema({ $id: 'document', ...constrained(document) });

/** The document with its rules between fields (`x-constraints`) as a validator reads them. */
function constrained<T>(at: T): T {
  if (typeof at !== 'object' || at === null) return at;
  if (Array.isArray(at)) return at.map(constrained) as T; // as it was, but for the rules
  const { 'x-constraints': rules, ...rest } = at as Record<string, unknown>; // an object of a JSON document
  const entries = Object.entries({ ...rest, ...(rules as object | undefined) });
  return Object.fromEntries(entries.map(([key, child]) => [key, constrained(child)])) as T; // as it was, but for the rules
}

let api: TestApi;
let tenant: TestTenant;
beforeAll(async () => {
  api = await startApi();
  tenant = await makeTenant(api.db, api.keys);
});
afterAll(() => api?.close());

async function refusedBy(path: string, payload: Readonly<Record<string, unknown>>): Promise<{ document: boolean; api: boolean }> {
  const pointer = `/paths/${path.replaceAll('/', '~1')}/post/requestBody/content/application~1json/schema`;
  const reply = await api.app.inject({ method: 'POST', url: path, headers: bearer(tenant.tokens.owner), payload: { ...payload } });
  const rules: string[] = (reply.json().errors ?? []).map((error: { rule: string }) => error.rule);
  return {
    document: !ajv.validate({ $ref: `document#${encodeURI(pointer)}` }, payload),
    api: reply.statusCode === 422 && !rules.includes('reference'),
  };
}

test.each(bodies)('the document states what %s refuses beyond its fields', async (path, taken, refused) => {
  expect(await refusedBy(path, taken)).toEqual({ document: false, api: false });
  for (const body of refused) expect([body, await refusedBy(path, body)]).toEqual([body, { document: true, api: true }]);
});

test('a path parameter that is too long is refused in the words of its operation', async () => {
  const headers = { authorization: 'Bearer none' };
  const reply = await api.app.inject({ url: `/oauth/register/${'x'.repeat(1_025)}`, headers });

  expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(reply.json()).toMatchObject({ error: expect.any(String) });
  const agent = await api.app.inject({ url: `/agents/${'x'.repeat(1_025)}`, headers: bearer(tenant.tokens.owner) });
  expect([agent.statusCode, agent.json().errors[0]]).toMatchObject([422, { in: 'path', name: 'agent_id' }]);
});
