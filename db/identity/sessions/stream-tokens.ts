import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
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

const inserting = prepared(({ principalId, ...made }: ParametersOf<NewStreamToken>) =>
  query
    .insertInto('stream_tokens')
    .values({
      ...made,
      principalId: sql<string>`${principalId}`,
      usedAt: null,
      createdAt: sql<string>`now()`,
      expiresAt: sql<string>`now() + make_interval(secs => ${streamTokenLifeS})`,
    })
    .returning('expiresAt'),
);

/** Stores a token; returns its expiry. */
export async function insertStreamToken(tx: TenantTransaction, made: NewStreamToken): Promise<string> {
  const written = await row(tx.em, inserting(made));

  if (!written) throw new Error('a stream token was not made');
  return written.expiresAt;
}
