import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Who requests an exclusive tool, and where. */
export interface LeaseKey {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly toolId: string;
  /** Id of the call or the test. */
  readonly holder: string;
}

/** When a lease was taken, to the microsecond: another try of its holder's call that took it since has another value. */
export type TakenAt = string;

/** A lease as it was taken. */
export interface HeldLeaseKey extends LeaseKey {
  readonly takenAt: TakenAt;
}

type Lasting<K> = K & { readonly seconds: number };

const taking = prepared(({ workspaceId, toolId, organizationId, holder, seconds }: ParametersOf<Lasting<LeaseKey>>) =>
  query
    .insertInto('tool_leases')
    .values({
      workspaceId,
      toolId,
      organizationId,
      callId: holder,
      expiresAt: sql<string>`clock_timestamp() + make_interval(secs => ${seconds})`,
      createdAt: sql<string>`clock_timestamp()`,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['workspaceId', 'toolId'])
        .doUpdateSet(({ ref }) => ({
          callId: ref('excluded.callId'),
          expiresAt: ref('excluded.expiresAt'),
          createdAt: ref('excluded.createdAt'),
        }))
        .where(({ eb, or, ref }) =>
          or([eb('tool_leases.callId', '=', ref('excluded.callId')), eb('tool_leases.expiresAt', '<', sql<string>`clock_timestamp()`)]),
        ),
    )
    .returning(({ ref }) => sql<TakenAt>`${ref('tool_leases.createdAt')}::text`.as('takenAt')),
);

/** Takes the tool's lease in its workspace for `seconds`, unless another holder's has not expired. Returns null when another holder has it. */
export async function takeLeaseRow(
  tx: TenantTransaction,
  { workspaceId, toolId, organizationId, holder }: LeaseKey,
  seconds: number,
): Promise<TakenAt | null> {
  const taken = await row(tx.em, taking({ workspaceId, toolId, organizationId, holder, seconds }));
  return taken?.takenAt ?? null;
}

type Held = Omit<HeldLeaseKey, 'organizationId'>;

const renewing = prepared(({ workspaceId, toolId, holder, takenAt, seconds }: ParametersOf<Lasting<Held>>) =>
  query
    .updateTable('tool_leases')
    .set({ expiresAt: sql<string>`clock_timestamp() + make_interval(secs => ${seconds})` })
    .where('workspaceId', '=', workspaceId)
    .where('toolId', '=', toolId)
    .where('callId', '=', holder)
    .where('createdAt', '=', sql<string>`${takenAt}::timestamptz`)
    .where('expiresAt', '>', sql<string>`clock_timestamp()`),
);

/** Renews a lease until `seconds` from now. Returns false when it has expired or was taken again, possibly by another holder. */
export async function renewLeaseRow(
  tx: TenantTransaction,
  { workspaceId, toolId, holder, takenAt }: HeldLeaseKey,
  seconds: number,
): Promise<boolean> {
  return (await change(tx.em, renewing({ workspaceId, toolId, holder, takenAt, seconds }))) === 1;
}

const dropping = prepared(({ workspaceId, toolId, holder, takenAt }: ParametersOf<Held>) =>
  query
    .deleteFrom('tool_leases')
    .where('workspaceId', '=', workspaceId)
    .where('toolId', '=', toolId)
    .where('callId', '=', holder)
    .where('createdAt', '=', sql<string>`${takenAt}::timestamptz`),
);

/** Releases a lease, if it is still the one taken at `takenAt`. */
export async function dropLeaseRow(tx: TenantTransaction, { workspaceId, toolId, holder, takenAt }: HeldLeaseKey): Promise<void> {
  await change(tx.em, dropping({ workspaceId, toolId, holder, takenAt }));
}
