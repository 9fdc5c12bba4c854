import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** So many seeds are the whole of the random part. */
export const seedsOfMatrix = 20;

const folder = fileURLToPath(new URL('../../../.longhaul/chaos-results/', import.meta.url));

/** Keeps what a test of the matrix found, for the table that is written once all have run. */
export function saveResult(label: string, result: object): void {
  mkdirSync(folder, { recursive: true });
  const seed = 'seed' in result ? Number(result.seed) : 0;
  const withoutEvidence = (key: string, value: unknown) => (key === 'evidence' ? undefined : value);
  writeFileSync(join(folder, `${label}-${seed}.json`), JSON.stringify(result, withoutEvidence, 1));
}

/** Forgets those of former runs. */
export function clearResults(): void {
  rmSync(folder, { recursive: true, force: true });
}

export function readResults<T>(label: string): T[] {
  mkdirSync(folder, { recursive: true });
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${label}-`) && name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as T); // written by saveResult
}
