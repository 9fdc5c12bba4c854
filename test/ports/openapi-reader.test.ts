import { afterAll, expect, test } from '@jest/globals';
import { createOpenApiReader, type OpenApiReading } from '../../ports/openapi-reader.ts';
import { testWorkPool } from '../support/work-pool.ts';

const pool = testWorkPool();
const reader = createOpenApiReader(pool);

afterAll(() => pool.close());

const read = (document: unknown, include: string[] | null = null): Promise<OpenApiReading> =>
  reader.read(null, { text: typeof document === 'string' ? document : JSON.stringify(document), include });

/** A document of one operation. */
const documentOf = (operation: unknown, more: Readonly<Record<string, unknown>> = {}, path = '/things/{id}', method = 'get') => ({
  openapi: '3.1.0',
  info: { title: 'Things', version: '1' },
  paths: { [path]: { [method]: operation } },
  ...more,
});
const id = { name: 'id', in: 'path', required: true, schema: { type: 'string' } };
const rulesOf = (reading: OpenApiReading) => reading.problems.map(({ rule }) => rule);

test('an operation becomes a tool: arguments by place, references as $defs, the success as output', async () => {
  const reading = await read({
    openapi: '3.0.3',
    info: { title: 'Shop', version: '1' },
    paths: {
      '/orders/{order-id}': {
        parameters: [{ $ref: '#/components/parameters/OrderId' }],
        put: {
          operationId: 'replaceOrder',
          summary: 'Replace an order',
          parameters: [{ name: 'X-Trace', in: 'header', schema: { type: 'string' } }],
          requestBody: { required: true, content: { 'application/json': { schema: { $ref: '#/components/schemas/Order' } } } },
          responses: { 200: { description: 'ok', content: { 'application/json': { schema: { $ref: '#/components/schemas/Order' } } } } },
        },
      },
    },
    components: {
      parameters: { OrderId: { name: 'order-id', in: 'path', required: true, schema: { type: 'integer' }, description: 'Number' } },
      schemas: {
        Order: {
          type: 'object',
          required: ['id', 'lines'],
          properties: {
            id: { type: 'string', readOnly: true },
            note: { type: 'string', nullable: true, example: 'x' },
            price: { type: 'number', minimum: 0, exclusiveMinimum: true },
            lines: { type: 'array', items: { $ref: '#/components/schemas/Line' } },
          },
        },
        Line: { type: 'object', properties: { parent: { $ref: '#/components/schemas/Line' } } },
      },
    },
  });

  expect(reading.problems).toEqual([]);
  expect(reading.operations).toEqual([
    {
      name: 'replaceOrder',
      title: 'Replace an order',
      description: 'Replace an order',
      method: 'PUT',
      path: '/orders/{order-id}',
      input_schema: {
        type: 'object',
        properties: { order_id: { type: 'integer', description: 'Number' }, X_Trace: { type: 'string' }, body: { $ref: '#/$defs/Order' } },
        required: ['order_id', 'body'],
        additionalProperties: false,
        $defs: {
          Order: {
            type: 'object',
            required: ['lines'],
            properties: {
              note: { type: ['string', 'null'] },
              price: { type: 'number', exclusiveMinimum: 0 },
              lines: { type: 'array', items: { $ref: '#/$defs/Line' } },
            },
          },
          Line: { type: 'object', properties: { parent: { $ref: '#/$defs/Line' } } },
        },
      },
      output_schema: expect.objectContaining({ $ref: '#/$defs/Order' }),
      request: {
        url: '/orders/{{ args.order_id }}',
        query: {},
        headers: { 'X-Trace': '{{ args.X_Trace }}' },
        body: { mode: 'json', template: '{{ args.body }}' },
      },
    },
  ]);
});

test('YAML reads like JSON, and include picks operations by id', async () => {
  const yaml = `openapi: 3.1.0
info: {title: T, version: '1'}
paths:
  /a:
    get: {operationId: readA, responses: {}}
    delete: {operationId: dropA, responses: {}}
  /b/{n}:
    get:
      parameters: [{name: n, in: path, required: true, schema: {type: string}}]
`;

  const all = await read(yaml);
  const some = await read(yaml, ['readA', 'nothing']);

  expect(all.operations.map(({ name }) => name)).toEqual(['readA', 'dropA', 'get_b_n']);
  expect(some.operations.map(({ name }) => name)).toEqual(['readA']);
  expect(some.unknown).toEqual([1]);
});

test('what the path holds beside its parameters is literal, however much it looks like a template', async () => {
  const parameters = [id];

  const reading = await read(documentOf({ parameters }, {}, "/a/{{ vars.key | append: 'x' }}/{% raw %}/{id}"));
  const plain = await read(documentOf({ parameters }, {}, '/a b/ü%20/{id}'));

  expect(reading.operations.length + reading.problems.length).toBe(1);
  expect(reading.operations[0]?.request.url ?? '').not.toContain('vars.key');
  expect(plain.operations[0]?.request.url).toBe('/a%20b/%C3%BC%20/{{ args.id }}');
});

test.each([
  ['no document at all', 'neither: [', 'syntax'],
  ['another version', { swagger: '2.0', paths: {} }, 'version'],
  ['a list', '[]', 'type'],
  ['a reference to another file', documentOf({ parameters: [{ $ref: 'other.yaml#/Id' }] }), 'reference'],
  ['a reference to another host', documentOf({ parameters: [{ ...id, schema: { $ref: 'https://evil.test/x' } }] }), 'reference'],
  ['a reference to nothing', documentOf({ parameters: [{ $ref: '#/components/parameters/No' }] }), 'reference'],
  [
    'references in a circle',
    documentOf({ parameters: [{ $ref: '#/x-a' }] }, { 'x-a': { $ref: '#/x-b' }, 'x-b': { $ref: '#/x-a' } }),
    'reference',
  ],
  ['a path parameter that is not described', documentOf({}), 'reference'],
  ['a path with a dot segment', documentOf({ parameters: [id] }, {}, '/a/../{id}'), 'pattern'],
  ['a required cookie', documentOf({ parameters: [id, { name: 's', in: 'cookie', required: true, schema: {} }] }), 'unsupported'],
  ['a matrix style', documentOf({ parameters: [{ ...id, style: 'matrix' }] }), 'unsupported'],
  [
    'a required body of files',
    documentOf({ parameters: [id], requestBody: { required: true, content: { 'multipart/form-data': {} } } }, {}, '/t/{id}', 'post'),
    'unsupported',
  ],
  ['a schema that is none', documentOf({ parameters: [{ ...id, schema: { type: 'nonsense' } }] }), 'schema'],
  ['a character that can not be stored', documentOf({ parameters: [id], description: 'a\u0000b' }), 'characters'],
  ['half a surrogate pair', documentOf({ parameters: [id], description: 'a\ud800b' }), 'characters'],
])('%s is refused and named', async (_name, document, rule) => {
  const reading = await read(document);

  expect(reading.operations).toEqual([]);
  expect(rulesOf(reading)).toContain(rule);
});

test('optional parameters that no tool can send are left out', async () => {
  const parameters = [
    id,
    { name: 's', in: 'cookie', schema: {} },
    { name: 'Host', in: 'header', schema: {} },
    { name: 'Accept', in: 'header' },
  ];

  const reading = await read(documentOf({ parameters }));

  expect(Object.keys(Object(reading.operations[0]?.input_schema['properties']))).toEqual(['id']);
  expect(reading.operations[0]?.request.headers).toEqual({});
});

test('names that no template can say become plain ones, each its own', async () => {
  const query = (name: string) => ({ name, in: 'query', schema: { type: 'string' } });
  const parameters = [
    id,
    query('filter[a]'),
    query('filter-a-'),
    query('id'),
    query('__proto__'),
    query('1st'),
    query('}}{{ secrets.x }}'),
  ];

  const { operations } = await read(documentOf({ parameters }));

  expect(Object.keys(Object(operations[0]?.input_schema['properties']))).toEqual([
    'id',
    'filter_a_',
    'filter_a__2',
    'id_2',
    'p___proto__',
    'p_1st',
    '_____secrets_x___',
  ]);
  expect(operations[0]?.request.query).toMatchObject({ 'filter[a]': '{{ args.filter_a_ }}', 'id': '{{ args.id_2 }}' });
});

test('more than 200 operations want a choice, and ids are unique', async () => {
  const paths = Object.fromEntries(Array.from({ length: 201 }, (_, n) => [`/p${n}`, { get: { operationId: `op${n}` } }]));
  const twice = { '/a': { get: { operationId: 'same' } }, '/b': { get: { operationId: 'same' } } };

  const [all, some, repeated] = await Promise.all([
    read({ openapi: '3.1.0', paths }),
    read({ openapi: '3.1.0', paths }, ['op7']),
    read({ openapi: '3.1.0', paths: twice }),
  ]);

  expect(rulesOf(all)).toEqual(['maxItems']);
  expect(some.operations.map(({ name }) => name)).toEqual(['op7']);
  expect(rulesOf(repeated)).toEqual(['uniqueItems']);
});

const bomb = ['a: &a [x, x, x, x, x, x, x, x, x, x]'];
for (const [name, of] of ['ba', 'cb', 'dc', 'ed', 'fe', 'gf', 'hg', 'ih'].map((pair) => [...pair]))
  bomb.push(`${name}: &${name} [${Array(10).fill(`*${of}`).join(', ')}]`);
const deep = (levels: number) => '{"items":'.repeat(levels) + '{}' + '}'.repeat(levels);

test.each([
  ['aliases that multiply', `openapi: 3.1.0\n${bomb.join('\n')}\npaths: {}`],
  ['an alias inside itself', 'openapi: 3.1.0\npaths: &p\n  /a: {get: {parameters: [{name: q, in: query, schema: &s {items: *s}}]}}'],
  [
    'a schema of 10,000 levels',
    `{"openapi":"3.1.0","paths":{"/a":{"get":{"parameters":[{"name":"q","in":"query","schema":${deep(10_000)}}]}}}}`,
  ],
  [
    'references that multiply',
    documentOf(
      { parameters: [{ ...id, schema: { $ref: '#/components/schemas/s0' } }] },
      {
        components: {
          schemas: Object.fromEntries(
            Array.from({ length: 3_000 }, (_, n) => [
              `s${n}`,
              { anyOf: Array.from({ length: 20 }, (_unused, m) => ({ $ref: `#/components/schemas/s${(n * 20 + m) % 3_000}` })) },
            ]),
          ),
        },
      },
    ),
  ],
  ['a pattern that can not be compiled', documentOf({ parameters: [{ ...id, schema: { type: 'string', pattern: '(a+)+$(' } }] })],
  [
    'a default of 200,000 levels',
    `{"openapi":"3.1.0","paths":{"/a":{"get":{"parameters":[{"name":"q","in":"query","schema":{"default":${'['.repeat(200_000)}${']'.repeat(200_000)}}}]}}}}`,
  ],
  ['YAML of 200,000 levels', `openapi: 3.1.0\npaths: ${'['.repeat(200_000)}`],
  ['more than 4 MiB', `{"openapi":"3.1.0","x":"${'x'.repeat(4 * 1024 * 1024)}"}`],
])(
  '%s end as a problem, and the reader goes on',
  async (_name, document) => {
    const reading = await read(document);
    const after = await read(documentOf({ parameters: [id] }));

    expect(reading.problems.length).toBeGreaterThan(0);
    expect(reading.operations).toEqual([]);
    expect(after.operations).toHaveLength(1);
  },
  120_000,
);

test('a recursive schema stays a reference, and each tool brings only what it needs', async () => {
  const schemas = {
    Tree: { type: 'object', properties: { kids: { type: 'array', items: { $ref: '#/components/schemas/Tree' } } } },
    Other: {},
  };

  const { operations } = await read(
    documentOf(
      { requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Tree' } } } } },
      { components: { schemas } },
      '/t',
      'post',
    ),
  );

  expect(operations[0]?.input_schema['$defs']).toEqual({
    Tree: { type: 'object', properties: { kids: { type: 'array', items: { $ref: '#/$defs/Tree' } } } },
  });
});

test.each(['JSON', 'YAML'])('choices of a document that a double would change keep their digits, bounds are rounded: %s', async (form) => {
  const schema = `{"type":"object","properties":{"kind":{"enum":[1234567890123456789,1]},"n":{"type":"integer","maximum":18446744073709551615}}}`;
  const operation = {
    operationId: 'make',
    parameters: [id],
    requestBody: { content: { 'application/json': { schema: '@' } } },
    responses: {},
  };
  const json = JSON.stringify(documentOf(operation, {}, undefined, 'post')).replace('"@"', schema);
  const text = form === 'JSON' ? json : `# Flow mappings of YAML look like JSON.\n${json}`;

  const { operations, problems } = await read(text);

  expect(problems).toEqual([]);
  expect(JSON.stringify(operations[0]?.input_schema)).toContain('{"kind":{"enum":["1234567890123456789",1]}');
  expect(JSON.stringify(operations[0]?.input_schema)).toContain('"maximum":18446744073709552000');
});
