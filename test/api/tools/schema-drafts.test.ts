import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makeAgent, openWorld, type World } from '../world.ts';
import { manualTool, toolkitMaker } from './toolkit-world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const drafts = [
  'http://json-schema.org/draft-04/schema#',
  'http://json-schema.org/draft-06/schema#',
  'http://json-schema.org/draft-07/schema#',
  'https://json-schema.org/draft/2019-09/schema',
  'https://json-schema.org/draft/2020-12/schema',
];
const unknown = 'https://example.com/of-our-own';
const above4 = ($schema: string) => ({
  $schema,
  type: 'object',
  properties: { n: { type: 'integer', ...(/draft-04/.test($schema) ? { minimum: 4, exclusiveMinimum: true } : { exclusiveMinimum: 4 }) } },
});
const http = { method: 'POST', url: 'https://api.example.com/things' };
const makeTool = (token: string, inputSchema: object) =>
  world.call(token, 'POST', '/tools', {
    body: { slug: `t${crypto.randomUUID().slice(0, 8)}`, kind: 'http', description: 'Makes', config: http, input_schema: inputSchema },
  });

test.each([...drafts, unknown])('wherever an author gives a schema, one of %s is taken, and arguments are held to it', async ($schema) => {
  const { tokens, ...tenant } = await world.tenant();
  const schema = above4($schema);
  const { toolkit, revision } = toolkitMaker(world, { tokens, ...tenant });

  const tool = await makeTool(tokens.admin, schema);
  const byHand = await revision((await toolkit()).id, [manualTool('make', { input_schema: schema })]);
  const agent = await makeAgent(world, tokens.admin, {
    revision: { model: 'builtin/extractive', input_schema: schema, tools: [{ id: tool.body.id, preset: { n: 5 } }] },
  });

  expect(tool).toMatchObject({ status: 201, body: { input_schema: schema } });
  expect(byHand.tools).toMatchObject([{ input_schema: schema }]);
  expect(agent.id).toBeDefined();
  const sent = (n: number) =>
    world.call(tokens.admin, 'POST', `/tools/${tool.body.id}/test`, { body: { arguments: { n }, dry_run: true } });
  expect((await sent(4)).body.errors).toMatchObject([{ pointer: '/arguments/n' }]);
});

test('an unknown draft is told where a reply has warnings, a known one is not', async () => {
  const { tokens } = await world.tenant();
  const tool = (await makeTool(tokens.admin, above4(unknown))).body;
  const agent = await makeAgent(world, tokens.admin, { revision: { model: 'builtin/extractive', tools: [{ id: tool.id }] } });
  const check = async ($schema: string): Promise<string[]> => {
    const revision = { model: 'builtin/extractive', input_schema: above4($schema) };
    const { body } = await world.call(tokens.admin, 'POST', `/agents/${agent.id}/validate`, { body: { revision } });
    return [body.valid, ...body.problems.map((each: Record<string, string>) => `${each['severity']} ${each['pointer']} ${each['rule']}`)];
  };

  expect(await check(unknown)).toEqual([true, 'warning /input_schema/$schema $schema']);
  expect(await check(drafts[2] ?? '')).toEqual([true]);
  expect((await world.call(tokens.admin, 'GET', `/agents/${agent.id}/effective`)).body.warnings).toMatchObject([{ rule: '$schema' }]);
});

test('an author hears of a pattern that would be ignored', async () => {
  const { tokens } = await world.tenant();
  const schema = { type: 'object', properties: { a: { type: 'string', pattern: '^(?=.*x)' } } };

  expect((await makeTool(tokens.admin, schema)).body.errors).toMatchObject([
    { pointer: '/input_schema/properties/a/pattern', rule: 'pattern' },
  ]);
});
