import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** Seconds in which a stream token must be used; this limits the connect, not the socket. */
const streamTokenLifeS = 60;

/** A token as it is stored. */
export interface NewStreamToken {
  readonly tokenHash: Buffer;
  readonly runId: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly principalKind: string;
  readonly principalId: string | null;
  readonly sessionId: string | null;
  readonly actingUserId: string | null;
}

/** Stores a token; returns its expiry. */
export async function insertStreamToken(tx: TenantTransaction, made: NewStreamToken): Promise<Date | string> {
  const written = await row<{ expires_at: Date | string }>(
    tx.em,
    `insert into stream_tokens (token_hash, run_id, organization_id, workspace_id, principal_kind, principal_id, session_id, acting_user_id, created_at, expires_at)
    values (?, ?, ?, ?, ?, ?, ?, ?, now(), now() + make_interval(secs => ?))
    returning expires_at`,
    [
      made.tokenHash,
      made.runId,
      made.organizationId,
      made.workspaceId,
      made.principalKind,
      made.principalId,
      made.sessionId,
      made.actingUserId,
      streamTokenLifeS,
    ],
  );

  if (!written) throw new Error('a stream token was not made');
  return written.expires_at;
}
