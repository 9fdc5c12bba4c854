import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { prepare, type Node, type Prepared } from './prepare.ts';

const root = join(import.meta.dirname, '../..');

/** What the API of this checkout serves, ready for generators. */
export async function printed(): Promise<Prepared> {
  const [document, protocol] = await Promise.all(['api/print-openapi.ts', 'api/print-stream-protocol.ts'].map(print));
  return prepare(document ?? {}, protocol ?? {});
}

async function print(script: string): Promise<Node> {
  // A PUBLIC_URL of the environment would stand in the generated files.
  const env = { PATH: process.env['PATH'] };
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, script)], { cwd: root, env, maxBuffer: 100_000_000 });
  return JSON.parse(stdout);
}
