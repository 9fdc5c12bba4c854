import { setTimeout as delay } from 'node:timers/promises';
import type { Sort } from '../../ports/untrusted/sorts.ts';
import { invalid } from '../../workflows/contracts/failure.ts';

/** What the work of the tests does with its number, each a way in which real work goes wrong. */
export type Deed = 'busy' | 'idle' | 'bytes' | 'objects' | 'throw' | 'refuse' | 'throw_later' | 'exit' | 'environment' | 'answer';

export interface DeedJob {
  readonly deed: Deed;
  readonly amount: number;
}

const limits = { cpuMs: 400, wallMs: 60_000, memoryMb: 96 };

/** Sorts for tests of the pool: one with small limits, one that may take its time. */
export const sorts = {
  small: sort(limits),
  short: sort({ ...limits, wallMs: 2_000 }),
  patient: sort({ ...limits, cpuMs: 60_000 }),
  /** More than the heap of a child. */
  roomy: sort({ ...limits, cpuMs: 60_000, memoryMb: 900 }),
  /** Its rules are not there, as in an installation that is being replaced. */
  gone: { limits, load: () => Promise.reject(new Error('no such module')) } as Sort<DeedJob, unknown>,
};

function sort(given: Sort<DeedJob, unknown>['limits']): Sort<DeedJob, unknown> {
  return { limits: given, load: () => Promise.resolve({ work }) };
}

const kept: unknown[] = [];

async function work({ deed, amount }: DeedJob): Promise<unknown> {
  switch (deed) {
    case 'busy':
      for (const end = performance.now() + amount; performance.now() < end;);
      return amount;
    case 'idle':
      await delay(amount);
      return amount;
    case 'bytes':
      // Outside the heap of V8; filled, so that the memory is really taken.
      for (let mb = 0; mb < amount; mb++) kept.push(Buffer.alloc(1024 * 1024, 1));
      await delay(60_000);
      return amount;
    case 'objects':
      for (let mb = 0; mb < amount; mb++) kept.push(Array.from({ length: 131_072 }, (_, at) => at + mb + 0.5));
      return amount;
    case 'throw':
      throw new Error('no such number');
    case 'refuse':
      throw invalid('/number', 'range', 'The number is too large.');
    case 'throw_later':
      setImmediate(() => {
        throw new Error('thrown by nobody in particular');
      });
      return new Promise(() => undefined);
    case 'exit':
      return process.exit(3);
    case 'environment':
      return { ...process.env };
    case 'answer':
      return Buffer.alloc(amount * 1024 * 1024);
    default:
      return deed satisfies never;
  }
}
