// Installs the packages if node_modules is missing or does not match package-lock.json. Runs before `npm start`, `npm test` and
// `npx longhaul`, so it needs only Node 20 and npm: no package, no TypeScript. Only tests and checks request the development
// packages (`--development`): otherwise an install without them (`npm ci --omit=dev`) is accepted and never replaced under a running process.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** The first Node that runs TypeScript without a flag; MikroORM needs 22.17. */
const neededNode = [22, 18];

/**
 * Makes node_modules match package-lock.json and provides a Node that runs Longhaul. Silent if there is nothing to do.
 * @param {string} root folder of package.json
 * @param {{ needsDevelopment?: boolean }} options whether the packages for tests and checks are required
 * @throws {Error} with a text for the user
 */
export async function prepare(root, { needsDevelopment = false } = {}) {
  const isReady = () => isFresh(root) || (!needsDevelopment && isFresh(root, { isLean: true }));
  const folder = join(root, '.longhaul');
  if (!isReady()) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    await withLock(join(folder, 'install.lock'), () => isReady() || install(root));
  }
  checkNode(root);
}

/**
 * The Node to run Longhaul with: the packaged one if there is one for this machine, else the one that runs this script.
 * @param {string} root folder of package.json
 * @returns {string} path
 */
export function nodeOf(root) {
  const packaged = join(root, 'node_modules', '.bin', 'node');
  return versionOf(packaged) === null ? process.execPath : packaged;
}

/** `isLean`: with or without the development packages. */
function isFresh(root, { isLean = false } = {}) {
  const lockText = readFileSync(join(root, 'package-lock.json'), 'utf8');
  const stamp = createHash('sha256').update(`${lockText}\n${process.platform}-${process.arch}`).digest('hex');
  const stampFile = join(root, 'node_modules', isLean ? '.longhaul-stamp-lean' : '.longhaul-stamp');

  if (readOrNull(stampFile) === stamp) return true;
  if (!isInstalled(JSON.parse(lockText), readOrNull(join(root, 'node_modules', '.package-lock.json')), isLean)) return false;
  try {
    writeFileSync(stampFile, stamp);
  } catch {
    // Packages that are read-only or owned by another user are just as good; they are only checked again the next time.
  }
  return true;
}

/** npm writes what it has installed to node_modules/.package-lock.json; only packages for other machines may be missing there. */
function isInstalled(lock, hiddenText, isLean) {
  if (hiddenText === null) return false;
  const installed = JSON.parse(hiddenText).packages;

  return Object.entries(lock.packages).every(([path, wanted]) => {
    if (path === '') return true;
    const found = installed[path];
    const mayLack = wanted.optional === true || (isLean && wanted.dev === true);
    return found === undefined ? mayLack : found.version === wanted.version && found.integrity === wanted.integrity;
  });
}

/** Installs without running install scripts, since no package needs one. */
function install(root) {
  console.log('Installing packages (npm ci), about a minute …');
  const [file, ...npm] = npmCommand();
  const flags = ['ci', '--ignore-scripts', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status, stdout, stderr, error } = spawnSync(file, [...npm, ...flags], {
    cwd: root,
    encoding: 'utf8',
  });

  if (error !== undefined) throw new Error(`npm could not be run: ${error.message}`);
  if (status !== 0) throw new Error(`npm ci failed:\n${stdout}${stderr}`);
  if (!isFresh(root))
    throw new Error(
      'npm ci succeeded, but node_modules does not hold what package-lock.json says. Do npm settings (npm config list) omit packages?',
    );
  removeForeignRuntimes(join(root, 'node_modules'));
}

/**
 * Removes the native modules of onnxruntime for other machines from node_modules (200 MB). Does nothing if there are none.
 * @param {string} nodeModules folder
 */
export function removeForeignRuntimes(nodeModules) {
  const binaries = join(nodeModules, 'onnxruntime-node', 'bin', 'napi-v6');
  for (const platform of foldersIn(binaries)) {
    for (const arch of foldersIn(join(binaries, platform)))
      if (platform !== process.platform || arch !== process.arch) rmSync(join(binaries, platform, arch), { recursive: true, force: true });
  }
}

function foldersIn(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The npm that runs this, else the one in PATH. */
function npmCommand() {
  const running = process.env['npm_execpath'];
  return running !== undefined && basename(running).startsWith('npm') ? [process.execPath, running] : ['npm'];
}

/** Removes a packaged Node that does not run here (another C library), because it would come first in the PATH of every npm script. */
function checkNode(root) {
  const packaged = join(root, 'node_modules', '.bin', 'node');
  if (isEnough(versionOf(packaged))) return;

  rmSync(packaged, { force: true });
  const host = process.versions.node;
  if (!isEnough(host)) {
    throw new Error(
      `Longhaul needs Node ${neededNode.join('.')} or newer; this is ${host}, and for ${process.platform}-${process.arch} none could be installed with the packages` +
        ' (they bring one for Linux with glibc on x64 and arm64, unless npm leaves optional packages out). Install a newer Node and start again.',
    );
  }
}

/** Whether a Node of this version (`24.1.0`; null: there is none) runs Longhaul. */
export function isEnough(version) {
  if (version === null) return false;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > neededNode[0] || (major === neededNode[0] && minor >= neededNode[1]);
}

function versionOf(node) {
  const { status, stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  return status === 0 ? stdout.trim().replace(/^v/, '') : null;
}

/**
 * Does work that must not be done twice at once (two concurrent `npm ci` delete each other's files): the second waits for the first.
 * @param {string} lock file that exists meanwhile
 * @param {() => unknown} work
 */
export async function withLock(lock, work) {
  while (!takeLock(lock)) await sleep(300);
  try {
    await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function takeLock(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    if (isAbandoned(lock)) rmSync(lock, { force: true });
    return false;
  }
}

function isAbandoned(lock) {
  const [longestMs, graceMs] = [15 * 60_000, 2000];
  try {
    const ageMs = Date.now() - statSync(lock).mtimeMs;
    return ageMs > longestMs || (ageMs > graceMs && !isAlive(Number(readFileSync(lock, 'utf8'))));
  } catch {
    return false;
  }
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function readOrNull(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

const isMain = process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url);
if (isMain) {
  const needsDevelopment = process.argv.includes('--development');
  // Another folder with a lock of its own may be named: those of the console's tests, say.
  const [named = ''] = process.argv.slice(2).filter((word) => !word.startsWith('--'));
  const root = join(dirname(dirname(fileURLToPath(import.meta.url))), named);
  await prepare(root, { needsDevelopment }).catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
