import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const modules = join(import.meta.dirname, '../../../node_modules');
const maxBytes = 1_000_000;

/** The files of a release of a package by their paths in it, without those that are larger than a megabyte. */
export type Release = ReadonlyMap<string, Buffer>;

/** The oldest and the newest release of a package that the tests' own dependencies install: real histories, pinned by package-lock.json. */
export function releasesOf(name: string): { readonly before: Release; readonly after: Release; readonly versions: readonly string[] } {
  const lock = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly version?: string }>>;
  };
  const found = Object.entries(lock.packages)
    .filter(([path]) => path.endsWith(`node_modules/${name}`))
    .map(([path, { version = '0' }]) => ({ folder: join(modules, '..', path), version }))
    .toSorted((a, b) => a.version.localeCompare(b.version, 'en', { numeric: true }));
  const [first, last] = [found[0], found.at(-1)];
  if (!first || !last || first.version === last.version) throw new Error(`node_modules has no two releases of ${name}`);
  return { before: filesOf(first.folder), after: filesOf(last.folder), versions: [first.version, last.version] };
}

function filesOf(folder: string): Release {
  const files = new Map<string, Buffer>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name).slice(folder.length + 1);
    if (!entry.isFile() || path.split('/').includes('node_modules')) continue;
    const bytes = readFileSync(join(folder, path));
    if (bytes.length <= maxBytes) files.set(path, bytes);
  }
  return files;
}
