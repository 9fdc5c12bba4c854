import { fail } from '../../workflows/contracts/failure.ts';
import { areaDependency } from '../http/operation/area-dependency.ts';
import type { Deps } from '../http/operation/deps.ts';

/** The exports that a process sends: each keeps a page in memory for as long as its reader takes. */
export interface Exports {
  /** How long a reader may take nothing until it is cut off. */
  idleMs: number;
  /** Counts an export in, and returns the function that counts it out, once. @throws 429 `rate_limited` (`exports`) where an organization has four already. */
  begin(organizationId: string | null): () => void;
}

const maxAtOnce = 4;

export const exportsOf = areaDependency((_deps: Pick<Deps, 'db'>): Exports => {
  const open = new Map<string, number>();
  return {
    idleMs: 60_000,
    begin(organizationId) {
      const key = organizationId ?? 'platform';
      const count = open.get(key) ?? 0;
      if (count >= maxAtOnce)
        throw fail('rate_limited', {
          reason: 'exports',
          detail: `The organization already has ${maxAtOnce} exports in progress.`,
          retryAfterS: 10,
        });
      open.set(key, count + 1);
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        const left = (open.get(key) ?? 1) - 1;
        if (left === 0) open.delete(key);
        else open.set(key, left);
      };
    },
  };
});
