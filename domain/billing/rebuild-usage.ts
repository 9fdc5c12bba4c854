import { writeSystemEntry } from '../audit/system-entry.ts';
import { ledgerSpans, rebuildDay, type LedgerSpan } from '../../db/billing/ledger/rebuild-rollups.ts';
import type { Databases } from '../../db/databases.ts';
import { sweep } from '../../db/transaction.ts';

export interface Rebuilt {
  readonly workspaces: number;
  readonly days: number;
  /** Rollups that were missing, wrong, or without entries in the ledger. */
  readonly mended: number;
}

const spansARead = 200;
const dayMs = 86_400_000;

/**
 * Makes all rollups equal the sums of the ledger, one day of a workspace per transaction: it may be killed and run again, and calls may settle meanwhile. A day
 * on which a rollup was mended gets an entry in the audit log; a correct day gets none.
 */
export async function rebuildUsage(db: Databases): Promise<Rebuilt> {
  const done = { workspaces: 0, days: 0, mended: 0 };
  for (let after: string | null = null; ;) {
    const from: string | null = after;
    const spans: LedgerSpan[] = await sweep(db, (em) => ledgerSpans(em, from, spansARead));
    for (const span of spans) {
      done.workspaces += 1;
      for (const day of daysOf(span)) {
        done.days += 1;
        done.mended += await rebuild(db, span, day);
      }
    }
    after = spans.at(-1)?.workspaceId ?? null;
    if (spans.length < spansARead) return done;
  }
}

function rebuild(db: Databases, { organizationId, workspaceId }: LedgerSpan, day: string): Promise<number> {
  return sweep(db, async (em) => {
    const mended = await rebuildDay(em, { workspaceId, day });
    if (mended === 0) return 0;
    const changes = { day: { to: day }, mended: { to: mended } };
    const note = { resourceType: 'usage_rollup', organizationId, workspaceId, changes };
    await writeSystemEntry(em, { action: 'update', note });
    return mended;
  });
}

function daysOf({ firstDay, lastDay }: LedgerSpan): string[] {
  const first = Date.parse(firstDay);
  const count = Math.round((Date.parse(lastDay) - first) / dayMs) + 1;
  return Array.from({ length: count }, (_, at) => new Date(first + at * dayMs).toISOString().slice(0, 10));
}
