import type { Logger } from 'pino';
import type { ChainHead } from '../../db/audit/anchored.ts';
import type { Databases } from '../../db/databases.ts';
import { sweep } from '../../db/transaction.ts';
import { takeHeads } from '../../domain/audit/anchored.ts';
import type { AnchorFile } from '../../ports/storage/anchor-file.ts';

/** Writes the heads of the audit log to a file beyond the reach of anyone who can write to the database. */
export interface Anchor {
  /** Appends the heads that this process has not appended yet, and logs them. Throws when the file can't be written. */
  append(): Promise<void>;
  /** Does the same once an hour. Never throws: sealing goes on without it. */
  appendWhenDue(): Promise<void>;
  /** How often writing the file has failed since the start. */
  readonly failures: number;
}

export interface AnchorDeps {
  readonly db: Databases;
  readonly file: AnchorFile;
  readonly log: Logger;
  /** MAC of the newest seal that is known to be in the file, by chain. */
  readonly known?: Map<string, string>;
}

const everyMs = 3_600_000;
/** Heads per line of the log. */
const headsALine = 100;

/** The anchor of one process. */
export function createAnchor({ db, file, log, known = new Map() }: AnchorDeps): Anchor {
  let failures = 0;
  let dueAt = Number.NEGATIVE_INFINITY;
  const append = () => sweep(db, async (em) => appendChanged({ file, log, known }, await takeHeads(em)));

  return {
    append,
    async appendWhenDue() {
      if (performance.now() < dueAt) return;
      dueAt = performance.now() + everyMs;
      try {
        await append();
      } catch (err) {
        failures += 1;
        log.warn({ err, file: file.path }, 'heads of the audit log not anchored');
      }
    },
    get failures() {
      return failures;
    },
  };
}

/** The heads are logged even when the file can't be written. A file that is new or was emptied gets all heads. */
async function appendChanged(
  { file, log, known }: Required<Pick<AnchorDeps, 'file' | 'log' | 'known'>>,
  heads: readonly ChainHead[],
): Promise<void> {
  const isNew = !(await file.hasLines().catch(() => true));
  const changed = heads
    .filter(({ chain, mac }) => isNew || known.get(chain) !== mac)
    .map(({ chain, sealNo, mac, entries }) => ({ chain, seal_no: sealNo, mac, entries }));
  for (let from = 0; from < changed.length; from += headsALine)
    log.info({ heads: changed.slice(from, from + headsALine) }, 'audit log anchored');
  await file.append(changed, new Date());
  for (const { chain, mac } of changed) known.set(chain, mac);
}
