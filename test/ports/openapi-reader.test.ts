import { afterAll, expect, test } from '@jest/globals';
import { createOpenApiReader, type OpenApiReading } from '../../ports/openapi/reader.ts';
import { testWorkPool } from '../support/work-pool.ts';

const pool = testWorkPool();
const reader = createOpenApiReader(pool);

afterAll(() => pool.close());

const read = (document: unknown, include: string[] | null = null, exclude: string[] = []): Promise<OpenApiReading> =>
  reader.read(null, { document: typeof document === 'string' ? document : JSON.stringify(document), include, exclude });

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
      reducedTo: null,
      request: {
        url: '/orders/{order_id}',
        headers: {},
        parameters: [
          { argument: 'order_id', in: 'path', name: 'order-id', style: 'simple', explode: false },
          { argument: 'X_Trace', in: 'header', name: 'X-Trace', style: 'simple', explode: false },
        ],
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
  expect(some.unknown).toEqual([{ list: 'include', position: 1 }]);
});

test('a version that YAML reads as a number is one', async () => {
  const reading = await read('openapi: 3.0\npaths:\n  x-note: none\n  /a:\n    get: { operationId: readA }\n');

  expect(reading.operations.map(({ name }) => name)).toEqual(['readA']);
  expect(reading.leftOut).toEqual([]);
});

test('what the path holds beside its parameters is literal, however much it looks like a template', async () => {
  const parameters = [id];

  const reading = await read(documentOf({ parameters }, {}, "/a/{{ vars.key | append: 'x' }}/{% raw %}/{id}"));
  const plain = await read(documentOf({ parameters }, {}, '/a b/ü%20/{id}'));

  expect(reading.operations[0]?.request.url).toBe('/a/%7B{_vars_key___append___x__}%7D/{__raw__}/{id}');
  expect(plain.operations[0]?.request.url).toBe('/a%20b/%C3%BC%20/{id}');
});

test.each([
  ['no document at all', 'neither: [', 'syntax'],
  ['another version', { swagger: '2.0', paths: {} }, 'version'],
  ['a list', '[]', 'type'],
  ['what is no UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 'format'],
  ['a reference to another file', documentOf({ parameters: [{ $ref: 'other.yaml#/Id' }] }), 'reference'],
  ['a reference to nothing', documentOf({ parameters: [{ $ref: '#/components/parameters/No' }] }), 'reference'],
  ['a reference by an anchor', documentOf({ parameters: [{ $ref: '#id' }] }), 'reference'],
  [
    'references in a circle',
    documentOf({ parameters: [{ $ref: '#/x-a' }] }, { 'x-a': { $ref: '#/x-b' }, 'x-b': { $ref: '#/x-a' } }),
    'reference',
  ],
  ['a path with a dot segment', documentOf({ parameters: [id] }, {}, '/a/../{id}'), 'pattern'],
  ['a path with an encoded dot segment', documentOf({ parameters: [id] }, {}, '/a/%2E%2e/{id}'), 'pattern'],
  ['a path that begins without a slash', documentOf({ parameters: [id] }, {}, 'things/{id}'), 'pattern'],
  [
    'a required parameter of no known place',
    documentOf({ parameters: [id, { name: 's', in: 'querystring', required: true }] }),
    'unsupported',
  ],
  ['a required header that is no header', documentOf({ parameters: [id, { name: 'a b', in: 'header', required: true }] }), 'unsupported'],
  [
    'a GET with a required body',
    documentOf({ parameters: [id], requestBody: { required: true, content: { 'application/json': {} } } }),
    'unsupported',
  ],
  ['a method that no tool has', documentOf({ parameters: [id] }, {}, '/t/{id}', 'options'), 'unsupported'],
  [
    'a required body of several parts without names',
    documentOf({ parameters: [id], requestBody: { required: true, content: { 'multipart/mixed': {} } } }, {}, '/t/{id}', 'post'),
    'unsupported',
  ],
  ['a name that can not be stored', documentOf({ parameters: [id, { name: 'a\u0000b', in: 'query' }] }), 'characters'],
])('%s alone in its document is refused and named', async (_name, document, rule) => {
  const reading = Buffer.isBuffer(document) ? await reader.read(null, { document, include: null, exclude: [] }) : await read(document);

  expect(reading.operations).toEqual([]);
  expect(rulesOf(reading)).toContain(rule);
});

test('optional parameters that no tool can send are left out, and headers that the client sets itself', async () => {
  const parameters = [
    id,
    { name: 's', in: 'querystring', schema: {} },
    { name: 'a b', in: 'header', schema: {} },
    { name: 'Host', in: 'header', required: true, schema: {} },
    { name: 'Accept', in: 'header' },
  ];

  const reading = await read(documentOf({ parameters }));

  expect(Object.keys(Object(reading.operations[0]?.input_schema['properties']))).toEqual(['id']);
  expect(reading.operations[0]?.request.parameters).toHaveLength(1);
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
  expect(operations[0]?.request.parameters.map(({ argument, name }) => [argument, name])).toEqual(
    expect.arrayContaining([
      ['filter_a_', 'filter[a]'],
      ['id_2', 'id'],
      ['p___proto__', '__proto__'],
    ]),
  );
});

const shop = {
  openapi: '3.1.0',
  paths: {
    '/a': { get: { operationId: 'readA', tags: ['a'] }, post: { operationId: 'makeA', tags: ['a', 'write'] } },
    '/b': { get: { operationId: 'readB', tags: ['b'] }, trace: { operationId: 'traceB', tags: ['b'] } },
    '/c': { get: { operationId: 'readA', tags: ['c'], parameters: [{ $ref: 'other.yaml' }] }, delete: { operationId: 'readA' } },
    '/d': { $ref: 'paths/d.yaml' },
  },
};

test('one operation that cannot be sent costs no other: it is left out, with the reason and its place', async () => {
  const reading = await read(shop);

  expect(reading.problems).toEqual([]);
  expect(reading.operations.map(({ name }) => name)).toEqual(['readA', 'makeA', 'readB', 'delete_c']);
  expect(reading.leftOut).toEqual([
    { name: 'traceB', reason: 'cannot be sent: no tool has its method, at /paths/~1b/trace' },
    { name: '/d', reason: 'cannot be sent: only references inside the document are followed, at /paths/~1d' },
    { name: 'get_c', reason: 'cannot be sent: only references inside the document are followed, at /paths/~1c/get/parameters/0' },
  ]);
  expect(reading.leftOutCount).toBe(3);
});

test('include and exclude choose by id and tag; a name of neither is told', async () => {
  const [byTag, without, both, unknown] = await Promise.all([
    read(shop, ['a', 'readB']),
    read(shop, null, ['write', 'traceB', 'get_c', '/d', 'delete_c']),
    read(shop, ['a'], ['makeA']),
    read(shop, ['a', 'x'], ['b', 'y']),
  ]);

  expect(byTag.operations.map(({ name }) => name)).toEqual(['readA', 'makeA', 'readB']);
  expect([without.operations.map(({ name }) => name), without.leftOut]).toEqual([['readA', 'readB'], []]);
  expect(both.operations.map(({ name }) => name)).toEqual(['readA']);
  expect(unknown.unknown).toEqual([
    { list: 'include', position: 1 },
    { list: 'exclude', position: 1 },
  ]);
});

test('beyond 200 operations, or 4 MiB together, the rest is left out; what is chosen counts only', async () => {
  const paths = Object.fromEntries(
    Array.from({ length: 1_300 }, (_, n) => [`/p${n}`, { get: { operationId: `op${n}`, tags: [`t${n % 2}`] } }]),
  );
  const description = 'long '.repeat(800);
  const items = Array.from({ length: 15 }, (_, n) => ({ name: `p${n}`, in: 'query', description, schema: { type: 'string' } }));
  const long = Object.fromEntries(
    Array.from({ length: 150 }, (_, n) => [
      `/p${n}`,
      {
        get: {
          operationId: `op${n}`,
          description,
          parameters: items,
          responses: { 200: { content: { 'application/json': { schema: { description: description.repeat(8) } } } } },
        },
      },
    ]),
  );

  const [all, some, large] = await Promise.all([
    read({ openapi: '3.1.0', paths }),
    read({ openapi: '3.1.0', paths }, ['op1203', 't0'], ['t0']),
    read({ openapi: '3.1.0', paths: long }),
  ]);

  expect(all.operations).toHaveLength(200);
  expect(all.leftOutCount).toBe(1_100);
  expect(all.leftOut).toHaveLength(200);
  expect(all.leftOut[0]).toEqual({ name: 'op200', reason: 'is beyond the first 200' });
  expect([some.operations.map(({ name }) => name), some.leftOutCount]).toEqual([['op1203'], 0]);
  expect(large.operations.length).toBeGreaterThan(20);
  expect(large.operations.length + large.leftOutCount).toBe(150);
  expect(large.leftOut[0]?.reason).toBe('exceeds 4 MiB together with the earlier ones');
});

test('a path names its parameters itself, keeps its query and drops its fragment', async () => {
  const reading = await read({
    openapi: '3.0.0',
    paths: {
      '/a/{x}?list-type=2#one': { get: { parameters: [{ name: 'y', in: 'path', required: true, schema: {} }] } },
      '/a#two': { get: {} },
    },
  });

  expect(reading.operations.map(({ request }) => request.url)).toEqual(['/a/{x}?list-type=2', '/a']);
  expect(reading.operations[0]?.input_schema).toMatchObject({ properties: { x: { type: 'string' } }, required: ['x'] });
  expect(reading.operations[0]?.request.parameters).toHaveLength(1);
});

test('a schema never costs its operation: what can not be read of it is anything, what is too much is told in less detail', async () => {
  const wide = Object.fromEntries(
    Array.from({ length: 300 }, (_, n) => [
      `f${n}`,
      { type: 'object', description: 'x'.repeat(300), properties: { in: { type: 'string', pattern: 'a' } } },
    ]),
  );
  const body = (schema: unknown) => ({ requestBody: { required: true, content: { 'application/json': { schema } } } });
  const schemas = {
    Elsewhere: { $ref: 'https://evil.test/x' },
    Nonsense: { type: 'nonsense', required: true, properties: [], enum: [], items: 3, description: 7, default: 'd' },
    Wide: { type: 'object', required: ['f0'], properties: wide },
    Circle: { allOf: [{ $ref: '#/components/schemas/Circle' }] },
    Unreadable: { type: 'object', properties: { a: { type: 'string', pattern: '(a+)+$(' } }, $id: 'https://x.test/y' },
    Characters: { type: 'object', description: 'a\u0000b\ud800' },
  };

  const paths = Object.fromEntries(
    Object.keys(schemas).map((name) => [`/${name}`, { post: { operationId: name, ...body({ $ref: `#/components/schemas/${name}` }) } }]),
  );
  const { operations, leftOut } = await read({ openapi: '3.0.0', paths, components: { schemas } });
  const toldOf = (name: string) => operations.find((one) => one.name === name);

  expect(leftOut).toEqual([]);
  expect(operations).toHaveLength(6);
  expect(toldOf('Nonsense')?.input_schema['$defs']).toEqual({ Nonsense: { required: [], items: {}, default: 'd' } });
  expect([toldOf('Wide')?.reducedTo, toldOf('Circle')?.reducedTo, toldOf('Unreadable')?.reducedTo]).toEqual([
    'bare, 16 levels',
    'bare, 1 levels',
    'shape',
  ]);
  expect(toldOf('Wide')?.input_schema).toMatchObject({
    required: ['body'],
    $defs: { Wide: { required: ['f0'], properties: { f299: { type: 'object' } } } },
  });
  expect(JSON.stringify(toldOf('Characters')?.input_schema)).toContain('a\ufffdb\ufffd');
});

const bomb = ['a: &a [x, x, x, x, x, x, x, x, x, x]'];
for (const [name, of] of ['ba', 'cb', 'dc', 'ed', 'fe', 'gf', 'hg', 'ih'].map((pair) => [...pair]))
  bomb.push(`${name}: &${name} [${Array(10).fill(`*${of}`).join(', ')}]`);
const deep = (levels: number) => '{"items":'.repeat(levels) + '{}' + '}'.repeat(levels);

test.each([
  [
    'aliases that multiply',
    `openapi: 3.1.0\n${bomb.join('\n')}\npaths: {/a: {get: {parameters: [{name: q, in: query, schema: {default: *i}}]}}}`,
  ],
  ['10,001 aliases', `openapi: 3.1.0\nx: &x 1\ny: [${'*x,'.repeat(10_001)}]\npaths: {}`],
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
  [
    'a default of 200,000 levels',
    `{"openapi":"3.1.0","paths":{"/a":{"get":{"parameters":[{"name":"q","in":"query","schema":{"default":${'['.repeat(200_000)}${']'.repeat(200_000)}}}]}}}}`,
  ],
  ['YAML of 200,000 levels', `openapi: 3.1.0\npaths: ${'['.repeat(200_000)}`],
  ['more than 25 MiB', `{"openapi":"3.1.0","x":"${'x'.repeat(25 * 1024 * 1024)}"}`],
  ['more objects than a child may hold', `{"openapi":"3.1.0","x":[${'{},'.repeat(7_000_000)}{}]}`],
])('%s end as a problem or are told in little detail, and the reader goes on', async (_name, document) => {
  const reading = await read(document);
  const after = await read(documentOf({ parameters: [id] }));

  expect(reading.problems.length + reading.operations.length).toBe(1);
  expect(JSON.stringify(reading).length).toBeLessThan(130_000);
  expect(after.operations).toHaveLength(1);
});

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

test.each([
  ['without paths', {}, { include: null, exclude: [] }],
  ['whose operations are all excluded', { '/a': { get: { operationId: 'a', responses: {} } } }, { include: null, exclude: ['a'] }],
  ['of which nothing is included', { '/a': { get: { operationId: 'a', responses: {} } } }, { include: [], exclude: [] }],
])('a document %s is a problem, and not a toolkit without tools', async (_what, paths, { include, exclude }) => {
  const document = { openapi: '3.1.0', info: { title: 'T', version: '1' }, paths };

  expect(await read(document, include, exclude)).toMatchObject({
    operations: [],
    problems: [{ pointer: '/paths', message: 'contains no operation, or none that was selected' }],
  });
});

test('of two values under one key of a YAML mapping the last counts, as in JSON', async () => {
  const document = 'openapi: 3.1.0\npaths:\n  /a:\n    get:\n      summary: One\n      summary: Two\n      responses: {}\n';

  expect((await read(document)).operations).toMatchObject([{ title: 'Two' }]);
});
