import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { parseApiEnv } from '../../api/env.ts';
import { checkSettings } from '../../cli/settings.ts';
import { readDynamicConfig } from '../../cli/services/temporal.ts';
import { keyRingVariables, randomKeyRing } from '../../db/key-ring.ts';
import { searchAttributeNames } from '../../temporal/search-attributes.ts';
import { parseWorkerEnv } from '../../workers/env.ts';

const root = join(import.meta.dirname, '../..');

interface ComposeService {
  readonly image?: string;
  readonly build?: string;
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly volumes?: readonly string[];
  readonly env_file?: readonly { readonly path: string; readonly required: boolean }[];
}

interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

const folder = { kind: 'folder', folder: '/app/.longhaul/mails', from: 'Longhaul <longhaul@localhost>', linkUrl: null };

const secrets = {
  ...keyRingVariables(randomKeyRing()),
  ...Object.fromEntries(['POSTGRES', 'OWNER', 'APP', 'SWEEPER', 'REDIS'].map((name) => [`${name}_PASSWORD`, 'p4ssw0rd'])),
};

test('docker-compose.yml holds the seven services, each with an image and known dependencies', () => {
  const { services } = readCompose(secrets);

  expect(Object.keys(services).toSorted()).toEqual(['api', 'migrate', 'postgres', 'redis', 'temporal', 'worker-bulk', 'worker-runs']);
  for (const service of Object.values(services)) {
    expect(service.image).toMatch(/^[a-z]/);
    for (const [name, { condition }] of Object.entries(service.depends_on ?? {})) {
      expect(services).toHaveProperty(name);
      if (condition === 'service_healthy') expect(services[name]?.healthcheck?.test[0]).toBe('CMD');
      else expect(condition).toBe('service_completed_successfully');
    }
  }
});

test('every volume, build folder and entry file that docker-compose.yml names exists', () => {
  const { services, volumes } = readCompose(secrets);

  for (const service of Object.values(services)) {
    for (const [source = ''] of (service.volumes ?? []).map((volume) => volume.split(':'))) {
      if (source.startsWith('./')) expect(existsSync(join(root, source))).toBe(true);
      else expect(Object.keys(volumes)).toContain(source);
    }
    if (service.build === undefined) continue;
    expect(existsSync(join(root, service.build, 'Dockerfile'))).toBe(true);
    expect(existsSync(join(root, service.command.find((word) => word.includes('/')) ?? 'no entry'))).toBe(true);
  }
});

test('the processes accept the environment that docker-compose.yml gives them', () => {
  const { services } = readCompose(secrets);

  const api = parseApiEnv(environmentOf(services['api']));
  const workers = ['worker-runs', 'worker-bulk'].map((name) => parseWorkerEnv(environmentOf(services[name])));

  expect(api.databaseAppUrl).toBe('postgres://longhaul_app:p4ssw0rd@postgres:5432/longhaul');
  expect(workers.map(({ health }) => health?.port)).toEqual([3001, 3001]);
  expect(services['worker-bulk']?.environment).toHaveProperty('DATABASE_OWNER_URL');
  expect([api.mail, workers[0]?.mail]).toEqual([folder, folder]);
  expect(services['worker-runs']?.volumes).toContain('state:/app/.longhaul');
});

test('a model registry of one’s own reaches every process, with the keys that it names', () => {
  const { services } = readCompose({ ...secrets, LONGHAUL_MODEL_REGISTRY: './my-models.json' });

  for (const name of ['migrate', 'api', 'worker-runs', 'worker-bulk']) {
    const { environment = {}, volumes = [], env_file: files = [] } = services[name] ?? {};
    expect([name, volumes.includes(`./my-models.json:${environment['LONGHAUL_MODEL_REGISTRY']}:ro`)]).toEqual([name, true]);
    expect([name, files]).toEqual([name, [{ path: 'models.env', required: false }]]);
  }
});

test('commands reach the API by the name and port of its service', () => {
  const { services } = readCompose(secrets);
  const internal = new URL(services['migrate']?.environment?.['API_INTERNAL_URL'] ?? '');

  expect(services).toHaveProperty(internal.hostname);
  expect(internal.port).toBe(services[internal.hostname]?.environment?.['PORT']);
  expect(() => checkSettings({ API_INTERNAL_URL: internal.origin })).not.toThrow();
});

test('SMTP_URL in .env sends the mails that else become files', () => {
  const { services } = readCompose({ ...secrets, SMTP_URL: 'smtps://u:p@mail.example', MAIL_FROM: 'Us <us@example.com>' });
  const { mail } = parseWorkerEnv(environmentOf(services['worker-runs']));

  expect(mail).toEqual({ kind: 'smtp', url: 'smtps://u:p@mail.example', from: 'Us <us@example.com>', linkUrl: null });
});

test('without its secrets docker-compose.yml is refused, not started with empty ones', () => {
  for (const name of Object.keys(secrets)) {
    expect(() => readCompose({ ...secrets, [name]: '' })).toThrow(name);
  }
});

test('Temporal in docker-compose.yml gets the settings of the local one', () => {
  const { command = [] } = readCompose(secrets).services['temporal'] ?? {};
  const valuesOf = (flag: string) =>
    command.filter((argument) => argument.startsWith(`${flag}=`)).map((argument) => argument.slice(flag.length + 1));

  expect(valuesOf('--dynamic-config-value').toSorted()).toEqual(
    Object.entries(readDynamicConfig())
      .map(([key, value]) => `${key}=${value}`)
      .toSorted(),
  );
  expect(valuesOf('--search-attribute').toSorted()).toEqual(searchAttributeNames.map((name) => `${name}=Keyword`).toSorted());
});

/** What a process reads, with files of the container where they lie on this machine. */
function environmentOf({ environment = {}, volumes = [] }: Partial<ComposeService> = {}): Record<string, string> {
  const mounted = new Map(volumes.map((volume) => volume.split(':')).map(([source = '', target = '']) => [target, join(root, source)]));
  return Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, mounted.get(value) ?? value]));
}

/** The file with its variables put in, as `docker compose config` does it. */
function readCompose(variables: Readonly<Record<string, string>>): Compose {
  const text = readFileSync(join(root, 'docker-compose.yml'), 'utf8').replaceAll(/^\s*#.*$/gm, '');
  const filled = text.replaceAll(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string, operator: string | undefined, fallback: string) => {
    if (variables[name]) return variables[name];
    if (operator === '-') return fallback;
    throw new Error(`${name}: ${fallback}`);
  });
  if (filled.includes('$')) throw new Error('a $ that is no variable');

  return parse(filled, { merge: true, strict: true, uniqueKeys: true }) as Compose; // checked by the tests
}
