import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { NotNull, Selectable } from 'kysely';
import { query } from '../query.ts';
import { rows } from '../sql.ts';
import type { Tables } from '../table-types.ts';
import { inChain, organizationOfChain } from './chain.ts';
import { entryForm, entryMac, entryMacBytes, sealedColumns, sealKinds, sealMac, type SealedEntry, type SealKind } from './entry-form.ts';
import type { AuditKeys } from './seal.ts';

/** A place where the log differs from what was sealed. */
export interface AuditFault {
  readonly chain: string;
  /** `broken`: the seals themselves don't follow each other. */
  readonly kind: 'changed' | 'missing' | 'added' | 'broken';
  readonly sealNo: number | null;
  readonly seq: number | null;
  readonly entryId: string | null;
  readonly message: string;
}

export const sealColumns = [
  'sealNo',
  'firstSeq',
  'lastSeq',
  'entries',
  'mac',
  'previousMac',
  'entryMacs',
  'keyId',
  'purgedAt',
  'createdAt',
] as const;

export type Seal = Pick<Selectable<Tables['audit_seals']>, (typeof sealColumns)[number]>;

export type Report = (fault: Omit<AuditFault, 'chain'>) => void;

export interface Checking extends AuditKeys {
  readonly chain: string;
  readonly report: Report;
}

/** A seal that was checked against its entries: the existing ones, and its kind, or null where the seal does not hold. */
export interface CheckedSeal {
  readonly seal: Seal;
  readonly kind: SealKind | null;
  readonly entries: readonly SealedEntry[];
}

const entriesAtOnce = 5_000;

/** Reports a fault of a seal as a whole. */
export function brokenSeal({ report }: Pick<Checking, 'report'>, { sealNo }: Pick<Seal, 'sealNo'>, message: string): void {
  report({ kind: 'broken', sealNo, seq: null, entryId: null, message });
}

/** Reads the entries of seals of one chain, some thousand at a time, and checks each seal against its own. */
export async function* checkEntries(em: SqlEntityManager, checking: Checking, seals: readonly Seal[]): AsyncGenerator<CheckedSeal> {
  for (const run of runsOf(seals)) {
    const found = await readEntries(em, checking.chain, run);
    for (const seal of run) yield { seal, kind: checkSeal(checking, seal, found), entries: entriesOf(seal, found) };
  }
}

/** Groups neighbouring seals, so that many small ones need one query. */
function runsOf(seals: readonly Seal[]): Seal[][] {
  const runs: Seal[][] = [];
  let room = 0;
  for (const seal of seals) {
    const run = runs.at(-1);
    if (run?.at(-1)?.sealNo === seal.sealNo - 1 && seal.entries <= room) run.push(seal);
    else {
      runs.push([seal]);
      room = entriesAtOnce;
    }
    room -= seal.entries;
  }
  return runs;
}

async function readEntries(em: SqlEntityManager, chain: string, run: readonly Seal[]): Promise<Map<number, SealedEntry>> {
  const found = await rows(
    em,
    query
      .selectFrom('audit_entries')
      .select(sealedColumns)
      .where(inChain(organizationOfChain(chain)))
      .where(({ between }) => between('seq', run[0]?.firstSeq ?? 0, run.at(-1)?.lastSeq ?? 0))
      .$narrowType<{ seq: NotNull }>(),
  );
  return new Map(found.map((entry) => [entry.seq, entry]));
}

function entriesOf(seal: Seal, found: ReadonlyMap<number, SealedEntry>): SealedEntry[] {
  const entries: SealedEntry[] = [];
  // Sequence numbers that span more than the seal's count of entries are forged.
  for (let seq = seal.firstSeq; seq < seal.firstSeq + Math.min(countOf(seal), seal.entries); seq++) {
    const entry = found.get(seq);
    if (entry) entries.push(entry);
  }
  return entries;
}

/** Returns the kind of a seal that holds, or null when it does not, which is reported. */
function checkSeal(checking: Checking, seal: Seal, found: ReadonlyMap<number, SealedEntry>): SealKind | null {
  const key = checking.auditKeys.find(({ id }) => id === seal.keyId);
  const broken = (message: string): null => {
    brokenSeal(checking, seal, message);
    return null;
  };
  if (!key) return broken(`LONGHAUL_AUDIT_KEYS lacks the key ${seal.keyId}, under which it was made`);
  if (seal.entryMacs.length !== seal.entries * entryMacBytes || countOf(seal) !== seal.entries)
    return broken('its list of entries was changed');

  const { forms, isWhole } = checkEach(checking, { key: key.secret, seal, found });
  const kind = sealKinds.find((one) => isSame(sealMac(key.secret, one, { previousMac: seal.previousMac, forms }), seal.mac)) ?? null;
  // With entries missing or changed the seal can't match; it is reported only when nothing else explains that.
  if (isWhole && kind === null) return broken('it was changed itself');
  if (!isWhole && kind !== null) return broken('its list of entries was changed');
  return kind;
}

function checkEach({ report }: Checking, one: { key: Buffer; seal: Seal; found: ReadonlyMap<number, SealedEntry> }) {
  const { key, seal, found } = one;
  const forms: Buffer[] = [];
  let isWhole = true;

  for (let seq = seal.firstSeq; seq <= seal.lastSeq; seq++) {
    const entry = found.get(seq);
    const at = (seq - seal.firstSeq) * entryMacBytes;
    const form = entry ? entryForm(entry) : null;
    if (form) forms.push(form);
    if (form && isSame(entryMac(key, form), seal.entryMacs.subarray(at, at + entryMacBytes))) continue;

    isWhole = false;
    const place = { sealNo: seal.sealNo, seq, entryId: entry?.id ?? null };
    if (entry) report({ ...place, kind: 'changed', message: 'the entry is not the one that was sealed' });
    else report({ ...place, kind: 'missing', message: 'the entry is gone' });
  }
  return { forms, isWhole };
}

/** Number of entries that a seal's sequence numbers span. */
export function countOf({ firstSeq: first, lastSeq: last }: Seal): number {
  return last - first + 1;
}

export function isSame(left: Buffer | null, right: Buffer | null): boolean {
  return left === null || right === null ? left === right : left.equals(right);
}
