import type { NotNull } from 'kysely';
import { sealAll } from '../../domain/audit/seal-all.ts';
import { sealColumns } from '../../db/audit/check-seal.ts';
import { entryForm, entryMac, sealedColumns, sealKinds, sealMac, type SealedEntry } from '../../db/audit/entry-form.ts';
import type { AuditFault } from '../../db/audit/check-seal.ts';
import { auditChains } from '../../db/audit/chain.ts';
import { verifyChain } from '../../domain/audit/verify.ts';
import type { KeyRing } from '../../db/key-ring.ts';
import { Condition } from '../../db/condition.ts';
import { newId } from '../../db/ids.ts';
import { query } from '../../db/query.ts';
import type { Databases } from '../../db/databases.ts';
import { sweep } from '../../db/transaction.ts';
import { change, rows } from '../../db/sql.ts';
import { silent } from '../support/worker.ts';

/** Writes entries as if they had been made `ageS` ago and one after the other, a millisecond apart. */
export async function writeEntries(
  db: Databases,
  entries: { organizationId: string | null; workspaceId?: string | null; count: number; ageS?: number },
): Promise<string[]> {
  const ids = Array.from({ length: entries.count }, () => newId());
  await sweep(db, (em) =>
    change(
      em,
      `insert into audit_entries (id, organization_id, workspace_id, actor_kind, action, resource_type, resource_id, changes, created_at)
       select n.id, ?::uuid, ?::uuid, 'system', 'update', 'agent', 'agent-' || n.at, jsonb_build_object('name', jsonb_build_object('from', null, 'to', 'ä' || n.at)),
         now() - make_interval(secs => ?::float8) + n.at * interval '1 millisecond'
       from unnest(?::uuid[]) with ordinality as n (id, at)`,
      [entries.organizationId, entries.workspaceId ?? null, entries.ageS ?? 60, ids],
    ),
  );
  return ids;
}

/** One tick of the schedule. */
export function tick(db: Databases, keys: Pick<KeyRing, 'auditKeys'>) {
  return sealAll(db, keys, { log: silent, signal: new AbortController().signal });
}

/** What `longhaul audit verify` finds, short: `changed 1:3` is the third entry, in seal 1. */
export async function faultsOf(db: Databases, keys: Pick<KeyRing, 'auditKeys'>, chain: string): Promise<string[]> {
  const { faults } = await verifyChain(db, keys, chain);
  return faults.map(shortOf);
}

/** The faults of all chains. */
export async function allFaults(db: Databases, keys: Pick<KeyRing, 'auditKeys'>): Promise<AuditFault[]> {
  const chains = await sweep(db, auditChains);
  const found: AuditFault[] = [];
  // One after the other, as the CLI does: a long chain holds its connection, and the pool of sweepers is small.
  for (const chain of chains) found.push(...(await verifyChain(db, keys, chain)).faults);
  return found;
}

export interface StoredEntry {
  readonly id: string;
  readonly seq: number | null;
  readonly seal_no: number | null;
}

export function entriesOf(db: Databases, organizationId: string): Promise<StoredEntry[]> {
  return sweep(db, (em) =>
    rows<StoredEntry>(em, 'select id, seq, seal_no from audit_entries where organization_id = ? order by seq, created_at, id', [
      organizationId,
    ]),
  );
}

/**
 * Lets days pass over a whole chain: its times move back and its seals are made anew, as a holder of the keys can. `former`: in the form in which seals were
 * made before those of purges had one of their own.
 */
export async function passDays(
  db: Databases,
  { auditKeys: [key] }: Pick<KeyRing, 'auditKeys'>,
  { chain, days, form }: { chain: string; days: number; form?: 'former' },
): Promise<void> {
  await sweep(db, async (em) => {
    const seals = await rows(em, query.selectFrom('audit_seals').select(sealColumns).where('chain', '=', chain).orderBy('sealNo'));
    const entries = query
      .selectFrom('audit_entries')
      .select(sealedColumns)
      .where(new Condition(ofChain, [chain]))
      .orderBy('seq')
      .$narrowType<{ seq: NotNull }>();
    const before = await rows(em, entries);
    for (const table of ['audit_entries', 'audit_seals'])
      await change(em, `update ${table} set created_at = created_at - make_interval(days => ?::int) where ${ofChain}`, [days, chain]);
    const after = await rows(em, entries);
    let previousMac: Buffer | null = null;
    for (const seal of seals) {
      const formsOf = (entries: readonly SealedEntry[]) => entries.filter((entry) => entry.sealNo === seal.sealNo).map(entryForm);
      const kind = sealKinds.find((one) =>
        sealMac(key.secret, one, { previousMac: seal.previousMac, forms: formsOf(before) }).equals(seal.mac),
      );
      const forms = formsOf(after);
      const mac: Buffer = seal.purgedAt === null ? sealMac(key.secret, form ?? kind ?? 'entries', { previousMac, forms }) : seal.mac;
      await change(em, 'update audit_seals set mac = ?, previous_mac = ?, entry_macs = ? where chain = ? and seal_no = ?', [
        mac,
        previousMac,
        Buffer.concat(forms.map((one) => entryMac(key.secret, one))),
        chain,
        seal.sealNo,
      ]);
      previousMac = mac;
    }
  });
}

const ofChain = "coalesce(organization_id::text, 'platform') = ?";

function shortOf({ kind, sealNo, seq }: AuditFault): string {
  return `${kind} ${sealNo ?? '-'}:${seq ?? '-'}`;
}
