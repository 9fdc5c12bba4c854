import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import { root } from '../env.ts';

/** What the numbers were measured on, line by line. The load tells how much else was going on. */
export function machineFacts(versions: Readonly<Record<string, string>>): string[] {
  const gibibytes = (totalmem() / 1024 ** 3).toFixed(0);
  return [
    `${availableParallelism()} × ${cpus()[0]?.model.trim() ?? 'unknown processor'}, ${gibibytes} GiB, Linux ${release()}`,
    `Node ${process.versions.node}, ${Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(', ')}`,
    `load before the run: ${loadavg()
      .map((load) => load.toFixed(1))
      .join(', ')}`,
    `commit ${commit()}`,
  ];
}

function commit(): string {
  try {
    const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
    const isChanged = git('status', '--porcelain') !== '';
    return `${git('rev-parse', '--short', 'HEAD')}${isChanged ? ' with changes' : ''}`;
  } catch {
    return 'unknown';
  }
}
