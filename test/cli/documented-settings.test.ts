import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { defaultQuotas, limitPolicies } from '../../api/http/operation/quotas.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

/** Where variables are declared or read by name. */
const sources = [
  'api/env.ts',
  'workers/env.ts',
  'cli/env.ts',
  'cli/commands.ts',
  'cli/settings.ts',
  'cli/deployment.ts',
  'db/key-ring.ts',
  'ports/models/models.ts',
  'ports/embeddings/registry.ts',
  'ports/config/process-settings.ts',
  'ports/storage/settings.ts',
  'ports/telemetry/settings.ts',
];
/** Of the machine, or for tests: nobody sets them for a deployment. */
const others = /^(?:PATH|HOME|TZ|USER|TMPDIR|NODE_EXTRA_CA_CERTS)$/;

/** Names in the first column of the table of settings. */
const documented = [...read('docs/operations.md').matchAll(/^\| (`[A-Z][^|]*) \|/gm)].flatMap(([, cell = '']) =>
  [...cell.matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(([, name = '']) => name),
);

function variablesOf(file: string): string[] {
  const declared = /^ {2}([A-Z][A-Z0-9_]+):|\['([A-Z][A-Z0-9_]+)'\]|: '(LONGHAUL_[A-Z_]+)'|^ {2}'([A-Z][A-Z0-9_]+)',$/gm;
  return [...read(file).matchAll(declared)].map(([, ...names]) => names.find((name) => name !== undefined) ?? '');
}

test('docs/operations.md lists every setting that code reads, and none that it does not', () => {
  const known = [...new Set(sources.flatMap(variablesOf))].filter((name) => !others.test(name));

  expect(known.length).toBeGreaterThan(50);
  expect(documented.toSorted()).toEqual([...known, 'ANTHROPIC_API_KEY', 'OPENAI_API_KEY'].filter(first).toSorted());
});

test('the quotas of RATE_LIMITS stand in docs/operations.md by name and default, in README by name', () => {
  const table = read('docs/operations.md').split('### `RATE_LIMITS`')[1]?.split('\n## ')[0] ?? '';
  const rows = [...table.matchAll(/^\| (`[^|]+) \|[^|]*\| ([^|]+) \|$/gm)];
  const told = rows.flatMap(([, names = '', defaults = '']) =>
    [...names.matchAll(/`(\w+)`/g)].map(([, name], n) => [name, defaults.split(', ')[n]?.trim()]),
  );

  expect(Object.fromEntries(told)).toEqual(
    Object.fromEntries(limitPolicies.map((name) => [name, `${defaultQuotas[name].quota}/${defaultQuotas[name].windowS}`])),
  );
  for (const name of limitPolicies) expect(read('README.md')).toContain(`\`${name}\``);
});

test('docker-compose.yml passes on every setting of the processes, but those that it fixes itself', () => {
  const compose = parse(read('docker-compose.yml'), { merge: true });
  const given = new Set(
    ['migrate', 'api', 'worker-runs', 'worker-bulk'].flatMap((name) => Object.keys(compose.services[name].environment)),
  );
  const ofOtherPlaces = ['LONGHAUL_STATE_DIR', 'LONGHAUL_DEMO_QUESTION', 'TEMPORAL_HTTP_ADDRESS', 'REDIS_PREFIX', 'WORKER_HEALTH_HOST'];

  expect(documented.filter((name) => !given.has(name) && !ofOtherPlaces.includes(name))).toEqual([]);
});

test('`npm start` hands on every setting that the processes declare, but those that it gives each of them itself', () => {
  const declared = [
    'api/env.ts',
    'workers/env.ts',
    'ports/config/process-settings.ts',
    'ports/storage/settings.ts',
    'ports/telemetry/settings.ts',
  ].flatMap(variablesOf);
  const deployment = read('cli/deployment.ts');
  const isHandedOn = (name: string) => new RegExp(`'${name}'|^ +${name}:`, 'm').test(deployment);
  // From the roles that it makes, for one process alone, or in place of AUDIT_ANCHOR_FILE, which it gives.
  const ofItself = ['DATABASE_APP_URL', 'DATABASE_SWEEPER_URL', 'WORKER_HEALTH_HOST', 'WORKER_HEALTH_PORT', 'LONGHAUL_STATE_DIR'];

  expect(declared).toContain('CORS_ORIGINS');
  expect(declared.filter((name) => !isHandedOn(name) && !ofItself.includes(name))).toEqual([]);
});

function first(name: string, index: number, names: readonly string[]): boolean {
  return names.indexOf(name) === index;
}
