import type { WorkPool } from '../../ports/untrusted/pool.ts';
import type { Sorts } from '../../ports/untrusted/sorts.ts';

/** The pool under attack, and the end of the attack. */
export interface Attacked {
  readonly pool: WorkPool;
  readonly signal: AbortSignal;
}

/** One sort of work as a stranger makes it, and as a neighbour does; each hostile one is another. */
export interface HostileWork {
  readonly sort: keyof Sorts;
  /** Left when the signal says so. */
  readonly hostile: (attacked: Attacked, at: number) => Promise<unknown>;
  readonly plain: (pool: WorkPool) => Promise<unknown>;
}

const stranger = 'stranger';
const neighbour = 'neighbour';

/** Thirty definitions, each a choice of the next one twice: 2^30 visits. */
export function exponentialSchema(title: string): Record<string, unknown> {
  const $defs: Record<string, unknown> = { d30: false };
  for (let n = 0; n < 30; n++) $defs[`d${n}`] = { anyOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] };
  return { type: 'object', title, $defs, $ref: '#/$defs/d0' };
}

/** Keys without end: a reader that wants them unique compares each with all others. */
const manyKeys = (count: number) => Array.from({ length: count }, (_, at) => `k${at.toString(36)}: 1`).join('\n');
/** Operations that each read the same schema of many fields, in every detail. */
const documentOfFields = JSON.stringify({
  openapi: '3.1.0',
  paths: Object.fromEntries(
    Array.from({ length: 200 }, (_, at) => [`/p${at}`, { post: { requestBody: { content: { '*/*': { schema: { $ref: '#/x' } } } } } }]),
  ),
  x: { properties: Object.fromEntries(Array.from({ length: 15_000 }, (_, at) => [`k${at}`, { type: 'string' }])) },
});
const unclosed = '<a href="x"><b>word '.repeat(20_000);
const rules = `Disallow: /${'*a'.repeat(1_000)}\n`.repeat(250);
const linesOf = (seed: number) =>
  Array.from({ length: 32_000 }, (_, at) => ((at * 7_919 + seed * 104_729) % 13 < 6 ? 'a' : 'b')).join('\n');
/** Starts of links and of emphasis that nothing ends: a reader looks for the end of each. */
const openMarks = '[a](b *c_ '.repeat(30_000);
/** Each could begin what introduces a quotation. */
const quoted = 'a <b '.repeat(40_000);
const manyCells = `input${','.repeat(1_000_000)}`;
const manyChoices = `${'(?:a?){1000}'.repeat(2)}b`;
/** A patch of a great many hunks: 18 MB, as far as a review reads one. One text for all, so that a thousand jobs of it take no more memory here. */
const patchOfHunks = Buffer.from(`diff --git a/a b/a\n${'@@ -1 +1 @@\n-a\n+b\n'.repeat(1_000_000)}`);
const longText = 'a'.repeat(400_000);
const page = { contentType: 'text/html', url: 'https://example.com/', format: 'markdown' } as const;
const robots = { url: 'https://example.com/robots.txt', agent: 'longhaul' };

/** All sorts of untrusted work. */
export const hostileWork: readonly HostileWork[] = [
  {
    sort: 'schema',
    hostile(attacked, at) {
      const schema = exponentialSchema(`schema ${at}`);
      return attack(attacked, 'schema', { kind: 'validate', schema, value: { q: 'x' } }, () => JSON.stringify(schema));
    },
    plain: (pool) => run(pool, 'schema', neighbour, { kind: 'validate', schema: { type: 'object' }, value: {} }),
  },
  {
    sort: 'template',
    hostile(attacked, at) {
      const template = `{% for a in (1..9000) %}{% for b in (1..9000) %}{% assign x = a | times: b %}{% endfor %}{% endfor %}${at}`;
      return attack(attacked, 'template', { templates: [template], variables: {} }, () => template);
    },
    plain: (pool) => run(pool, 'template', neighbour, { templates: ['{{ a }}'], variables: { a: 1 } }),
  },
  {
    sort: 'openapi',
    hostile(attacked, at) {
      const document = `${documentOfFields} ${' '.repeat(at)}`;
      return attack(attacked, 'openapi', { document, include: null, exclude: [] }, () => document);
    },
    plain: (pool) => run(pool, 'openapi', neighbour, { document: '{"openapi":"3.1.0","paths":{}}', include: null, exclude: [] }),
  },
  {
    sort: 'page',
    hostile(attacked, at) {
      const body = Buffer.from(`<html><body>${at}${unclosed}`);
      return attack(attacked, 'page', { ...page, body }, () => body);
    },
    plain: (pool) => run(pool, 'page', neighbour, { ...page, body: Buffer.from('<html><body><p>hello</p></body></html>') }),
  },
  {
    sort: 'robots',
    hostile(attacked, at) {
      const text = `User-agent: *\n# ${at}\n${rules}`;
      return attack(attacked, 'robots', { ...robots, text, page: `https://example.com/${'a'.repeat(8_000)}b` }, () => text);
    },
    plain: (pool) => run(pool, 'robots', neighbour, { ...robots, text: 'User-agent: *\nDisallow: /x', page: 'https://example.com/x' }),
  },
  {
    sort: 'skill',
    hostile(attacked, at) {
      const source = `---\nx: ${at}\n${manyKeys(1_900)}\n---\ntext`;
      return attack(attacked, 'skill', { kind: 'markdown', source, pointer: '/markdown' }, () => source);
    },
    plain: (pool) => run(pool, 'skill', neighbour, { kind: 'markdown', source: '---\nname: a\n---\ntext', pointer: '/markdown' }),
  },
  {
    sort: 'diff',
    hostile: (attacked, at) => attack(attacked, 'diff', { before: linesOf(at), after: linesOf(at + 5) }, () => String(at)),
    plain: (pool) => run(pool, 'diff', neighbour, { before: 'a\nb', after: 'a\nc' }),
  },
  {
    sort: 'chat',
    hostile(attacked, at) {
      const markdown = `${at} ${openMarks}`;
      return attack(attacked, 'chat', { kind: 'slack', markdown }, () => markdown);
    },
    plain: (pool) => run(pool, 'chat', neighbour, { kind: 'slack', markdown: '# Hello' }),
  },
  {
    sort: 'mail',
    hostile(attacked, at) {
      const raw = Buffer.from(`From: eve@evil.test\r\nSubject: ${at}\r\n\r\n${quoted}`);
      return attack(attacked, 'mail', { kind: 'read', raw }, () => raw);
    },
    plain: (pool) => run(pool, 'mail', neighbour, { kind: 'read', raw: Buffer.from('From: ada@mail.example\r\n\r\nHello') }),
  },
  {
    sort: 'pattern',
    hostile: (attacked, at) => attack(attacked, 'pattern', { pattern: `${manyChoices}${at}`, flags: '', text: longText }, () => String(at)),
    plain: (pool) => run(pool, 'pattern', neighbour, { pattern: 'a+b', flags: 'i', text: 'AAB' }),
  },
  {
    sort: 'paths',
    hostile(attacked, at) {
      const lists = [[`**/*${'a*'.repeat(30)}${at}b`]];
      return attack(attacked, 'paths', { paths: [`x/${'a'.repeat(4_000)}`], lists }, () => JSON.stringify(lists));
    },
    plain: (pool) => run(pool, 'paths', neighbour, { paths: ['src/a.ts'], lists: [['src/**']] }),
  },
  {
    sort: 'patch',
    hostile: (attacked, at) => attack(attacked, 'patch', { bytes: patchOfHunks }, () => String(at)),
    plain: (pool) => run(pool, 'patch', neighbour, { bytes: Buffer.from('diff --git a/a b/a\n@@ -1 +1 @@\n-a\n+b\n') }),
  },
  {
    sort: 'dataset',
    hostile(attacked, at) {
      const text = `${manyCells}\n${at}`;
      return attack(attacked, 'dataset', { format: 'csv', text }, () => text);
    },
    plain: (pool) => run(pool, 'dataset', neighbour, { format: 'jsonl', text: '{"input":"a"}' }),
  },
];

function run<N extends keyof Sorts>(pool: WorkPool, sort: N, organizationId: string, job: Job<N>) {
  return pool.run(sort, { organizationId, job });
}

function attack<N extends keyof Sorts>({ pool, signal }: Attacked, sort: N, job: Job<N>, subject: () => string | Uint8Array) {
  return pool.run(sort, { organizationId: stranger, job, subject, signal });
}

type Job<N extends keyof Sorts> = Parameters<Awaited<ReturnType<Sorts[N]['load']>>['work']>[0];

/** Milliseconds that each of so many plain jobs took, one after the other. */
export async function timesOf(work: HostileWork, pool: WorkPool, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < count; at++) {
    const startedAt = performance.now();
    await work.plain(pool);
    times.push(performance.now() - startedAt);
  }
  return times;
}

export function median(times: readonly number[]): number {
  return times.toSorted((left, right) => left - right)[Math.floor(times.length / 2)] ?? Infinity;
}
