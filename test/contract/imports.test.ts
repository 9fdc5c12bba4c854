import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { importRules, type ImportRule } from './import-rules.ts';

const root = join(import.meta.dirname, '../..');
const folders = ['api', 'workflows', 'activities', 'workers', 'db', 'domain', 'ports', 'temporal', 'cli', 'bench', 'clients', 'examples'];
const importing = /(?:^|\n)\s*(import|export)\s+(type\s+)?(?:[^'"`;]*?\sfrom\s+)?['"]([^'"\n]+)['"]|\bimport\(\s*['"]([^'"\n]+)['"]\s*\)/g;

interface Import {
  readonly target: string;
  readonly isType: boolean;
  readonly isOurs: boolean;
}

const files = folders.flatMap((folder) => sourcesIn(join(root, folder)));

test('every file imports only what its folder may', () => {
  const faults = files.flatMap((file) => importsOf(file).flatMap((found) => faultOf(relative(root, file), found)));

  expect(faults).toEqual([]);
});

test('what is installed without development packages has every package that it imports', () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { dependencies: Record<string, string> }; // ours
  const shipped = files.filter((file) => !/^(?:bench|clients|examples)\//.test(relative(root, file)));
  const packageOf = (target: string) => target.split('/', target.startsWith('@') ? 2 : 1).join('/');
  const missing = shipped.flatMap((file) =>
    importsOf(file)
      .filter(({ target, isType, isOurs }) => !isOurs && !isType && !target.startsWith('node:') && !(packageOf(target) in dependencies))
      .map(({ target }) => `${relative(root, file)}: ${target}`),
  );

  expect(missing).toEqual([]);
});

test('an area of the API reaches no other area', () => {
  const rule = ruleFor('api/agents/agents.operations.ts');

  expect(allows(rule, 'api/agents/agents.operations.ts', { target: 'api/tools/tool.schema.ts', isType: false, isOurs: true })).toBe(false);
  expect(allows(rule, 'api/agents/agents.operations.ts', { target: 'api/agents/agent.schema.ts', isType: false, isOurs: true })).toBe(true);
});

// What two areas share lies beside them (`db/policies.ts`, `db/envelope.ts`), or follows from both (`domain/run-ended.ts`).
test('no two areas of db and domain import each other', () => {
  const areaOf = (path: string) => /^(?:db|domain)\/(?!migrations|postgres)([^/]+)\//.exec(path)?.[1];
  const imports = files.flatMap((file) => {
    const from = areaOf(relative(root, file));
    return importsOf(file).flatMap(({ target }) =>
      from === undefined || (areaOf(target) ?? from) === from ? [] : [`${from} ${areaOf(target)}`],
    );
  });
  const pairs = [...new Set(imports)].map((pair) => pair.split(' ')).filter(([from, to]) => imports.includes(`${to} ${from}`));

  expect([...new Set(pairs.map((pair) => pair.toSorted().join(' ↔ ')))].toSorted()).toEqual([]);
});

test('what scopes and opens transactions loads no entities', () => {
  const kernel = [
    'db/scope.ts',
    'db/transaction.ts',
    'db/new-row-scope.ts',
    'db/caller-scope.ts',
    'db/sql.ts',
    'db/query.ts',
    'db/prepared.ts',
    'db/outbox.ts',
    'db/page-query.ts',
  ];

  const loaded = kernel.flatMap((file) =>
    [...loadedBy(file)].filter((path) => path.endsWith('.entity.ts')).map((path) => `${file} → ${path}`),
  );

  expect(loaded).toEqual([]);
  // The walk follows imports at all: the pools are opened with every entity.
  expect([...loadedBy('db/orm.ts')].filter((path) => path.endsWith('.entity.ts')).length).toBeGreaterThan(50);
});

test('a local activity changes rows: whatever it loads reaches nothing outside and waits for nothing', () => {
  const proxied = /proxyLocalActivities<Pick<\w+, ([^>]+)>>/g;
  const names = files
    .filter((file) => relative(root, file).startsWith('workflows/'))
    .flatMap((file) => [...readFileSync(file, 'utf8').matchAll(proxied)].flatMap(([, list = '']) => list.match(/\w+/g) ?? []));
  const makerOf = (name: string) => {
    const found = files
      .map((file) => relative(root, file))
      .find(
        (path) => path.startsWith('activities/') && new RegExp(`^    async ${name}\\(`, 'm').test(readFileSync(join(root, path), 'utf8')),
      );
    if (found === undefined) throw new Error(`nothing in activities makes ${name}`);
    return found;
  };
  const may =
    /^(?:activities\/runs\/|activities\/support\/(?:failures|as-system|tenant)\.ts|db\/|domain\/|workflows\/contracts\/|ports\/telemetry\/origin\.ts)/;
  const faults = names.flatMap((name) => [...loadedBy(makerOf(name))].filter((path) => !may.test(path)).map((path) => `${name} → ${path}`));

  expect(names.toSorted()).toEqual(['beginRun', 'finishRun']);
  expect(faults).toEqual([]);
});

test('what is made once stands at the top of its file: prepared queries, and in api/<area>/dependencies.ts what an area works with', () => {
  const making = /^.*\b(?:prepared|preparedList|areaDependency)\(/gm;
  const kernel = ['db/prepared.ts', 'db/page-query.ts', 'api/http/operation/area-dependency.ts'];
  const lines = files
    .map((file) => relative(root, file))
    .filter((path) => /^(?:api|db)\//.test(path) && !kernel.includes(path))
    .flatMap((path) => (withoutComments(readFileSync(join(root, path), 'utf8')).match(making) ?? []).map((line) => ({ path, line })));
  const faults = lines.filter(
    ({ path, line }) =>
      !/^(?:export )?const \w+ = /.test(line) || (line.includes('areaDependency') && !/^api\/[^/]+\/dependencies\.ts$/.test(path)),
  );

  expect(lines.length).toBeGreaterThan(10);
  expect(faults).toEqual([]);
});

test('files keep their size: operations 250 lines, others 300, tests 500', () => {
  const tests = sourcesIn(join(root, 'test'));
  const limitOf = (file: string) =>
    file.includes('/test/')
      ? 500
      : file.includes('/migrations/') || file.includes('/generated/')
        ? Infinity
        : file.endsWith('.operations.ts')
          ? 250
          : 300;
  const tooLong = [...files, ...tests].filter((file) => readFileSync(file, 'utf8').split('\n').length - 1 > limitOf(file));

  expect(tooLong.map((file) => relative(root, file))).toEqual([]);
});

test('the environment is read in env.ts files only, and nothing but the command line prints', () => {
  const faults = files.filter((file) => {
    const path = relative(root, file);
    return (
      !path.startsWith('cli/') &&
      !path.startsWith('bench/') &&
      // They are programs of their own, and what one sees of a deprecation.
      !path.startsWith('examples/') &&
      path !== 'clients/typescript/src/transport.ts' &&
      !path.startsWith('clients/generate/') &&
      !path.endsWith('env.ts') &&
      // It stands there in the code that readers of the reference copy.
      path !== 'api/http/openapi/samples/typescript.ts' &&
      /process\.env\b|\bconsole\./.test(withoutComments(readFileSync(file, 'utf8')))
    );
  });

  expect(faults.map((file) => relative(root, file))).toEqual([]);
});

test('nothing cites a document that is not in the repository', () => {
  const written = [...files, ...sourcesIn(join(root, 'test'))].filter((file) => file !== import.meta.filename);
  const citing = written.filter((file) => /\bdesign(?: note)? \d|\.\.\/shared\//i.test(readFileSync(file, 'utf8')));

  expect(citing.map((file) => relative(root, file))).toEqual([]);
});

/** Every file of ours that is loaded with one, itself among them: what is imported as a type alone is not. */
function loadedBy(file: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const { target, isType, isOurs } of importsOf(join(root, file))) if (isOurs && !isType) loadedBy(target, seen);
  return seen;
}

function faultOf(file: string, found: Import): string[] {
  return allows(ruleFor(file), file, found) ? [] : [`${file} → ${found.target}`];
}

function ruleFor(file: string): ImportRule {
  const fitting = importRules.filter((rule) => new RegExp(`^${rule.from.replaceAll('*', '[^/]+')}`).test(file));
  const specific = fitting.toSorted((left, right) => specificity(right) - specificity(left))[0];
  if (!specific) throw new Error(`no import rule for ${file}`);
  return specific;
}

/** A named folder beats a wildcard, a deeper one a shallower. */
function specificity(rule: ImportRule): number {
  return rule.from.split('/').length * 2 - (rule.from.includes('*') ? 1 : 0);
}

function allows(rule: ImportRule, file: string, { target, isType, isOurs }: Import): boolean {
  if (isType && rule.mayAsType?.some((prefix) => target.startsWith(prefix))) return true;
  if (isOurs)
    return rule.may.some((prefix) => target.startsWith(prefix)) || (rule.from.includes('*') && dirname(target).startsWith(dirname(file)));
  if (target.startsWith('node:')) return rule.from !== 'workflows/' && rule.from !== 'workflows/contracts/';

  const { packages } = rule;
  if (packages === undefined || packages === 'any') return true;
  if (packages.only && !packages.only.some((name) => target === name || target.startsWith(`${name}/`))) return false;
  return !(packages.not ?? []).some((name) => target.startsWith(name));
}

function importsOf(file: string): Import[] {
  return [...withoutComments(readFileSync(file, 'utf8')).matchAll(importing)].map(([, , type, from, dynamic]) => {
    const target = from ?? dynamic ?? '';
    const isOurs = target.startsWith('.');
    return { target: isOurs ? relative(root, resolve(dirname(file), target)) : target, isType: type !== undefined, isOurs };
  });
}

function withoutComments(source: string): string {
  return source.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '');
}

function sourcesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.parentPath.includes('node_modules'))
    .map((entry) => join(entry.parentPath, entry.name));
}
