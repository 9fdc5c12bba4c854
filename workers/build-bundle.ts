import { createHash } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, type BundleOptions } from '@temporalio/worker';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const workflows = join(root, 'workflows');
const bundlePath = join(root, 'dist', 'workflow-bundle.js');
const hashPath = join(root, 'dist', 'workflow-bundle.sha256');
const lockPath = join(root, 'dist', 'workflow-bundle.lock');

/** A builder that has held the lock for longer is dead: a build takes seconds. */
const lockExpiresMs = 60_000;

/**
 * Returns the path of the workflow bundle; rebuilds it only when its sources, the SDK or this builder have changed. Any number of processes may call it at
 * once: one builds, the others wait for it. The bytes depend on the sources alone.
 */
export async function ensureBundle(): Promise<string> {
  const hash = await hashSources();

  while (!(await isBuiltFrom(hash))) {
    if (await takeLock()) await buildLocked(hash);
    else await delay(100);
  }
  return bundlePath;
}

async function buildLocked(hash: string): Promise<void> {
  try {
    if (!(await isBuiltFrom(hash))) await build(hash);
  } finally {
    await rm(lockPath, { force: true });
  }
}

async function build(hash: string): Promise<void> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(workflows, 'index.ts'),
    workflowInterceptorModules: [join(workflows, 'shared', 'tenant-header.ts')],
    logger: new DefaultLogger('WARN'),
    webpackConfigHook: withoutPlace,
  });

  await replaceFile(bundlePath, code);
  await replaceFile(hashPath, hash);
}

/** Keeps the folder of this clone out of the bytes: module names are relative to it, and the source map holds lines but no sources. */
const withoutPlace: BundleOptions['webpackConfigHook'] = (config) => ({
  ...config,
  context: root,
  devtool: 'inline-nosources-cheap-module-source-map',
  output: { ...config.output, filename: 'workflow-bundle.js', pathinfo: false, devtoolModuleFilenameTemplate: nameWithoutPlace },
});

function nameWithoutPlace({ resourcePath }: { readonly resourcePath: string }): string {
  return resourcePath.replaceAll(root, '');
}

async function hashSources(): Promise<string> {
  const entries = await readdir(workflows, { recursive: true, withFileTypes: true });
  const sources = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const files = [
    ...sources.toSorted(),
    fileURLToPath(import.meta.url),
    join(root, 'node_modules', '@temporalio', 'worker', 'package.json'),
  ];
  const hash = createHash('sha256');

  for (const file of files)
    hash
      .update(`${relative(root, file)}\0`)
      .update(await readFile(file))
      .update('\0');
  return hash.digest('hex');
}

async function isBuiltFrom(hash: string): Promise<boolean> {
  try {
    const [built] = await Promise.all([readFile(hashPath, 'utf8'), stat(bundlePath)]);

    return built === hash;
  } catch {
    return false;
  }
}

async function takeLock(): Promise<boolean> {
  await mkdir(dirname(lockPath), { recursive: true });
  try {
    await (await open(lockPath, 'wx')).close();
    return true;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    const held = await stat(lockPath).catch(() => null);

    if (held && Date.now() - held.mtimeMs > lockExpiresMs) await rm(lockPath, { force: true });
    return false;
  }
}

/** Readers see the old file or the new one, never a partial one. */
async function replaceFile(path: string, content: string): Promise<void> {
  const temporary = `${path}.${process.pid}`;

  await writeFile(temporary, content);
  await rename(temporary, path);
}

if (import.meta.main) await ensureBundle();
