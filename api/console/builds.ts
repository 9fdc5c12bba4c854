import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';

/** A file of a build, in each encoding that the build made of it. */
export interface BuiltFile {
  readonly contentType: string;
  readonly etag: string;
  readonly plain: Buffer;
  readonly br: Buffer | null;
  readonly gzip: Buffer | null;
}

/** What is served now: the newest page, and the files of it and of the build before it. */
export interface Served {
  readonly page: BuiltFile;
  readonly files: ReadonlyMap<string, BuiltFile>;
}

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.png': 'image/png',
  '.txt': 'text/plain; charset=utf-8',
};
const page = 'index.html';
/** Tabs that were open during an upgrade still ask for files of the build before. */
const kept = 2;

/**
 * Returns a function that gives the builds in a folder, from memory: the folder is a build itself, or holds builds, each in a folder of its own, of which the
 * newest two count. It looks for newer ones each time it is asked; null: there is none.
 */
export function watchBuilds(folder: string): () => Served | null {
  const read = new Map<string, ReadonlyMap<string, BuiltFile>>();
  let current: { readonly builds: readonly string[]; readonly served: Served } | null = null;

  return () => {
    const builds = buildsIn(folder);
    if (builds.length === 0) return null;
    if (current?.builds.join('\n') === builds.join('\n')) return current.served;

    for (const build of read.keys()) if (!builds.includes(build)) read.delete(build);
    for (const build of builds) if (!read.has(build)) read.set(build, filesIn(build));
    const files = new Map(builds.toReversed().flatMap((build) => [...(read.get(build) ?? [])]));
    const newest = files.get(page);
    if (newest === undefined) return null;
    current = { builds, served: { page: newest, files } };
    return current.served;
  };
}

/** Whether a folder is a build, or holds one. */
export function hasBuild(folder: string): boolean {
  return buildsIn(folder).length > 0;
}

/** Newest first. */
function buildsIn(folder: string): string[] {
  if (madeAt(folder) !== null) return [folder];
  return foldersIn(folder)
    .flatMap((name) => {
      const at = madeAt(join(folder, name));
      return at === null ? [] : [{ build: join(folder, name), at }];
    })
    .toSorted((a, b) => b.at - a.at)
    .slice(0, kept)
    .map(({ build }) => build);
}

function foldersIn(folder: string): string[] {
  try {
    // A build that is still being made has a dot in its name.
    return readdirSync(folder).filter((name) => !name.includes('.'));
  } catch {
    return [];
  }
}

function madeAt(build: string): number | null {
  return statSync(join(build, page), { throwIfNoEntry: false })?.mtimeMs ?? null;
}

function filesIn(build: string): ReadonlyMap<string, BuiltFile> {
  const names = readdirSync(build, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(build, join(entry.parentPath, entry.name)));
  const encoded = (name: string, extension: string) =>
    names.includes(name + extension) ? readFileSync(join(build, name + extension)) : null;

  return new Map(
    names
      .filter((name) => contentTypes[extname(name)] !== undefined)
      .map((name) => {
        const plain = readFileSync(join(build, name));
        const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`;
        const contentType = contentTypes[extname(name)] ?? '';
        return [name.split(sep).join('/'), { contentType, etag, plain, br: encoded(name, '.br'), gzip: encoded(name, '.gz') }];
      }),
  );
}
