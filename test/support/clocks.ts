import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ProcessName, Stack } from './stack.ts';
import { until } from './temporal.ts';

/** Clocks of a deployment's processes, each of which a test can set. */
export interface Clocks {
  /** What `startStack` takes for it. */
  readonly options: { readonly imports: readonly string[]; readonly env: Readonly<Record<string, string>> };
  /** Sets the clock of processes off by so many milliseconds, and waits until they show it. */
  set(stack: Stack, offsets: Partial<Record<ProcessName, number>>): Promise<void>;
  remove(): void;
}

/** Makes the clocks; `clock-shift.ts` runs in each process. */
export function createClocks(): Clocks {
  const folder = mkdtempSync(join(tmpdir(), 'longhaul-clocks-'));
  const fileOf = (stack: Stack, name: ProcessName) => join(folder, new URL(stack.url(name)).port);
  const shownBy = (file: string) => {
    try {
      return Number(readFileSync(`${file}.shown`, 'utf8'));
    } catch {
      return 0;
    }
  };

  return {
    options: { imports: [fileURLToPath(new URL('clock-shift.ts', import.meta.url))], env: { CLOCK_SHIFT_DIR: folder } },
    async set(stack, offsets) {
      // The names are those of the type.
      for (const [name, ms] of Object.entries(offsets) as [ProcessName, number][]) {
        const file = fileOf(stack, name);
        writeFileSync(file, String(ms));
        await until(async () => shownBy(file) === ms);
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
