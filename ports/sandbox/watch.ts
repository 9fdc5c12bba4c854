import { readdirSync, readFileSync } from 'node:fs';

/** Current usage of a process and all its descendants. */
export interface Usage {
  readonly processes: number;
  /** Anonymous and shared memory, without mapped files. */
  readonly memoryMb: number;
  readonly cpuMs: number;
}

export interface WatchLimits {
  readonly memoryMb: number;
  readonly cpuMs: number;
}

const intervalMs = 25;
const tickMs = 10; // USER_HZ is 100 on every Linux that Node runs on

/** Checks a process and its descendants every 25 ms and reports once when they exceed a limit. Returns the function that stops it. */
export function watch(pid: number, limits: WatchLimits, over: (reason: 'memory' | 'cpu') => void): () => void {
  const timer = setInterval(() => {
    const usage = usageOf(pid);
    if (usage.memoryMb <= limits.memoryMb && usage.cpuMs <= limits.cpuMs) return;
    clearInterval(timer);
    over(usage.memoryMb > limits.memoryMb ? 'memory' : 'cpu');
  }, intervalMs);
  return () => clearInterval(timer);
}

/** Returns zero where the system has no /proc. CPU time of ended processes counts with their parent. */
export function usageOf(pid: number): Usage {
  const total = { processes: 0, memoryMb: 0, cpuMs: 0 };
  const open = [pid];
  for (let next = open.pop(); next !== undefined && total.processes < 1_000; next = open.pop()) {
    try {
      total.memoryMb += memoryOf(next);
      total.cpuMs += cpuOf(next);
      total.processes += 1;
      open.push(...childrenOf(next));
    } catch {
      // it has already ended
    }
  }
  return total;
}

function memoryOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
  return (kilobytes('RssAnon') + kilobytes('RssShmem')) / 1024;
}

/** utime, stime, cutime and cstime of proc(5); the name before them may hold any character, so fields are counted from its last bracket. */
function cpuOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * tickMs;
}

/** Returns the children of a process; none where the system does not list them. */
export function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}
