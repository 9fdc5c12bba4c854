// Builds the browser console: `node cli/build-console.mjs FOLDER` leaves a build in FOLDER/<key>, where the key names its sources. Runs beside a new
// deployment, in the image's build and for tests, so it needs only Node and npm, like prepare.mjs; the console's own packages are installed on the way.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { prepare, withLock } from './prepare.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sources = ['console', 'clients/typescript/src'];
/** Tabs that are open during an upgrade still load files of the build before. */
const keptBuilds = 2;
const compressed = new Set(['.html', '.js', '.css', '.svg', '.txt']);

/**
 * Returns the folder of the build of the present sources, which is made if there is none; of several builders at once one builds and the others wait.
 * @param {string} folder where builds are kept
 * @throws {Error} with a text for the user
 */
export async function buildConsole(folder) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const build = join(folder, keyOf(sources));
  const isMade = () => existsSync(join(build, 'index.html'));
  if (!isMade()) await withLock(join(folder, 'build.lock'), async () => isMade() || (await make(build)));
  // The newest is served, also after a return to older sources.
  utimesSync(join(build, 'index.html'), new Date(), new Date());
  removeOldBuilds(folder);
  return build;
}

async function make(build) {
  const consoleRoot = join(root, 'console');
  await prepare(consoleRoot, { needsDevelopment: true });
  const unfinished = `${build}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });

  const vite = join(consoleRoot, 'node_modules', 'vite', 'bin', 'vite.js');
  const args = [vite, 'build', '--config', 'vite.config.ts', '--outDir', unfinished, '--emptyOutDir', '--logLevel', 'warn'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: consoleRoot, encoding: 'utf8' });
  if (status !== 0) throw new Error(`The console could not be built:\n${stdout ?? ''}${stderr ?? ''}`);

  for (const file of filesIn(unfinished)) compress(join(unfinished, file));
  renameSync(unfinished, build);
}

/** Smaller only: an encoding that saves nothing is left out. */
function compress(file) {
  if (!compressed.has(extname(file))) return;
  const plain = readFileSync(file);
  const encodings = {
    br: brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length } }),
    gz: gzipSync(plain, { level: 9 }),
  };
  for (const [extension, bytes] of Object.entries(encodings)) if (bytes.length < plain.length) writeFileSync(`${file}.${extension}`, bytes);
}

function keyOf(folders) {
  const hash = createHash('sha256');
  for (const folder of folders)
    for (const file of filesIn(join(root, folder)).toSorted()) {
      const bytes = readFileSync(join(root, folder, file));
      hash.update(`${folder}/${file}\n${bytes.length}\n`).update(bytes);
    }
  return hash.digest('hex').slice(0, 32);
}

function filesIn(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === 'node_modules' || entry.name.startsWith('.longhaul')) return [];
    if (!entry.isDirectory()) return entry.isFile() ? [entry.name] : [];
    return filesIn(join(folder, entry.name)).map((file) => join(entry.name, file));
  });
}

function removeOldBuilds(folder) {
  const builds = readdirSync(folder)
    .filter((name) => !name.includes('.') && existsSync(join(folder, name, 'index.html')))
    .map((name) => ({ name, at: statSync(join(folder, name, 'index.html')).mtimeMs }))
    .toSorted((a, b) => b.at - a.at);
  for (const { name } of builds.slice(keptBuilds)) rmSync(join(folder, name), { recursive: true, force: true });
}

const isMain = process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url);
if (isMain) {
  const [folder = join(root, '.longhaul', 'console')] = process.argv.slice(2);
  await buildConsole(folder).then(
    (build) => console.log(relative(process.cwd(), build)),
    (error) => {
      console.error(error.message);
      process.exitCode = 1;
    },
  );
}
