import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One metric as `docs/metrics.md` lists it. */
export interface MetricRow {
  readonly name: string;
  readonly type: string;
  readonly toldBy: 'all' | 'API' | 'workers' | 'bulk';
  readonly labels: readonly string[];
}

const processes: readonly string[] = ['all', 'API', 'workers', 'bulk'] satisfies readonly MetricRow['toldBy'][];

/** The rows of the list; of a row that names several metrics the first. */
export function documented(): MetricRow[] {
  const text = readFileSync(join(import.meta.dirname, '../../docs/metrics.md'), 'utf8');
  const rows = text.split('\n').filter((line) => line.startsWith('| `'));
  return rows.map((line) => {
    const [, name = '', type = '', toldBy = '', labels = ''] = line.split('|').map((cell) => cell.trim());
    if (!isProcess(toldBy)) throw new Error(`${name} is told by ${toldBy}`);
    return { name: named(name)[0] ?? '', type, toldBy, labels: named(labels) };
  });
}

function isProcess(word: string): word is MetricRow['toldBy'] {
  return processes.includes(word);
}

function named(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}
