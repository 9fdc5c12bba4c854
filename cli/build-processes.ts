import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { OutputFile, Plugin } from 'esbuild';
import { buildOnce, dist, replaceFile, root } from '../workers/build-once.ts';

/** The process of each kind: its source, and what it is built to. */
const entries = { 'api': 'api/server.ts', 'worker-runs': 'workers/runs.worker.ts', 'worker-bulk': 'workers/bulk.worker.ts' } as const;

/** A process that anyone starts: the API, or one of the two workers. */
export type BuiltProcess = keyof typeof entries;

const folders = ['activities', 'api', 'db', 'domain', 'ports', 'temporal', 'workers', 'workflows'];
/** Packages that load native code or look for their own files, and what shares state with them. */
const unbundled = [
  '@temporalio/*',
  '@node-rs/*',
  'onnxruntime-node',
  'pino',
  'thread-stream',
  'redoc',
  'quickjs-emscripten',
  'pg-native',
  'canvas',
];
/** CommonJS packages in the bundle call it for what Node has built in. */
const commonJsRequire = `import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);`;
/** Processes that run longer than their build is the newest find their chunks for this long. */
const keptMs = 7 * 24 * 3_600_000;

/** Path of a built process: what `node` starts. It exists once `ensureProcesses` has returned. */
export function builtProcess(name: BuiltProcess, folder = root): string {
  return join(folder, 'dist', `${name}.mjs`);
}

/** The source of the process, for those who change it while it runs. */
export function sourceOfProcess(name: BuiltProcess): string {
  return join(root, entries[name]);
}

/**
 * Bundles the API and the workers with their packages, since Node takes three times as long to load thousands of modules one by one. Builds only what has changed
 * (`buildOnce`). Lines in stack traces are those of the sources (`node --enable-source-maps`).
 */
export async function ensureProcesses(): Promise<void> {
  const names = Object.keys(entries) as BuiltProcess[]; // ours
  await buildOnce({
    name: 'processes',
    outputs: names.map((name) => builtProcess(name)),
    sources: [...folders.map((folder) => join(root, folder)), join(root, 'package-lock.json'), fileURLToPath(import.meta.url)],
    build,
  });
}

async function build(): Promise<void> {
  const { build: bundle, stop: endBundler } = await import('esbuild'); // most commands and tests only ask for the paths
  const { outputFiles } = await bundle({
    entryPoints: Object.entries(entries).map(([out, source]) => ({ in: join(root, source), out })),
    outdir: dist,
    outExtension: { '.js': '.mjs' },
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: `node${process.versions.node}`,
    external: unbundled,
    keepNames: true,
    legalComments: 'none',
    sourcemap: 'linked',
    sourcesContent: false,
    write: false,
    absWorkingDir: root,
    logLevel: 'error',
    plugins: [ownPlaces],
    banner: { js: commonJsRequire },
  }).finally(endBundler);
  const isEntry = (path: string) => dirname(path) === dist;

  await replaceChunks(outputFiles.filter(({ path }) => !isEntry(path)));
  for (const { path, contents } of outputFiles.filter(({ path: written }) => isEntry(written))) await replaceFile(path, contents);
}

/** Chunks are named by their contents, so those of earlier builds stay as they are. */
async function replaceChunks(chunks: readonly OutputFile[]): Promise<void> {
  const folder = join(dist, 'chunks');
  await mkdir(folder, { recursive: true });
  for (const { path, contents } of chunks) await replaceFile(path, contents);
  const written = new Set(chunks.map(({ path }) => path));
  for (const path of (await readdir(folder)).map((name) => join(folder, name)))
    if (!written.has(path) && Date.now() - (await stat(path)).mtimeMs > keptMs) await rm(path, { force: true });
}

/** Files that a source looks for beside itself lie beside the source. */
const ownPlaces: Plugin = {
  name: 'own-places',
  setup({ onLoad, onResolve }) {
    // Untrusted work is loaded by the children that do it, which run from the sources.
    onResolve({ filter: /-work\.ts$/ }, ({ kind, path, resolveDir }) =>
      kind === 'dynamic-import' ? { path: pathToFileURL(join(resolveDir, path)).href, external: true } : null,
    );
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      if (path.includes('node_modules')) return null;
      const places = { dirname: dirname(path), filename: path, url: pathToFileURL(path).href, main: false };
      const contents = (await readFile(path, 'utf8')).replace(
        /\bimport\.meta\.(dirname|filename|url|main)\b/g,
        (_all, name: keyof typeof places) => JSON.stringify(places[name]),
      );
      return { contents, loader: 'ts' };
    });
  },
};

if (import.meta.main) await ensureProcesses();
