import { sql } from 'kysely';
import { newOpaqueToken, tokenHash } from '../identity/factors/opaque-tokens.ts';
import { query } from '../query.ts';
import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

const transactionLifeS = 600;
const codeLifeS = 60;

/** What a client requested, and where the reply is sent. */
export interface AuthorizationRequest {
  readonly redirectUri: string;
  readonly state: string | null;
  readonly codeChallenge: string;
  readonly scope: string;
  readonly resource: string;
}

/** Stores a request until a user decides on it; no row contains the id. */
export async function openTransaction(
  tx: TenantTransaction,
  { clientId, request }: { clientId: string; request: AuthorizationRequest },
): Promise<{ transactionId: string; expiresAt: string }> {
  const transactionId = newOpaqueToken('transaction');
  const opened = await row(
    tx.em,
    query
      .insertInto('oauth_transactions')
      .values({
        idHash: tokenHash(transactionId),
        clientId,
        request,
        createdAt: sql<string>`now()`,
        expiresAt: sql<string>`now() + make_interval(secs => ${transactionLifeS})`,
      })
      .returning('expiresAt'),
  );

  if (!opened) throw new Error('a transaction was not stored');
  return { transactionId, expiresAt: opened.expiresAt };
}

/** A transaction as a decision finds it. */
export type StoredTransaction = NonNullable<Awaited<ReturnType<typeof lockTransaction>>>;

/** Loads a transaction and locks it, so that of two concurrent decisions one comes first. */
export async function lockTransaction(tx: TenantTransaction, transactionId: string) {
  return row(
    tx.em,
    query
      .selectFrom('oauth_transactions as t')
      .select(['t.clientId', 't.request'])
      .select(({ eb }) => [
        eb('t.decidedAt', 'is not', null).$castTo<boolean>().as('isDecided'),
        eb('t.expiresAt', '<=', sql<string>`now()`)
          .$castTo<boolean>()
          .as('isOver'),
      ])
      .where('t.idHash', '=', tokenHash(transactionId))
      .forUpdate(),
  );
}

export async function closeTransaction(
  tx: TenantTransaction,
  transactionId: string,
  { userId, organizationId }: { userId: string; organizationId: string | null },
): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('oauth_transactions')
      .set({ decidedAt: sql<string>`now()`, userId, organizationId })
      .where('idHash', '=', tokenHash(transactionId)),
  );
}

/**
 * Creates a code, bound to user, client, redirect, challenge, scope and resource, for one exchange. Returns null when the deciding session has ended meanwhile:
 * because of the locks, an operation that ends sessions comes either before or finds the code.
 */
export async function issueCode(
  tx: TenantTransaction,
  grant: Omit<AuthorizationRequest, 'state'> & {
    clientId: string;
    userId: string;
    organizationId: string | null;
    sessionId: string | null;
  },
): Promise<string | null> {
  const code = newOpaqueToken('code');
  const issued = await change(
    tx.em,
    `with standing as (
       select u.id as user_id, s.id as session_id from users u join user_credentials c on c.user_id = u.id join sessions s on s.user_id = u.id
       where s.id = ?::uuid and u.id = ?::uuid and u.is_active and u.deleted_at is null and s.revoked_at is null for share of u, c, s)
     insert into oauth_codes (code_hash, client_id, user_id, organization_id, approver_session_id, redirect_uri, code_challenge, scope, resource,
       created_at, expires_at)
     select ?::bytea, ?, user_id, ?::uuid, session_id, ?, ?, ?, ?, now(), now() + make_interval(secs => ?) from standing`,
    [
      grant.sessionId,
      grant.userId,
      tokenHash(code),
      grant.clientId,
      grant.organizationId,
      grant.redirectUri,
      grant.codeChallenge,
      grant.scope,
      grant.resource,
      codeLifeS,
    ],
  );

  return issued > 0 ? code : null;
}
