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
    query
      .with('standing', (of) =>
        of
          .selectFrom('users as u')
          .innerJoin('user_credentials as c', 'c.userId', 'u.id')
          .innerJoin('sessions as s', 's.userId', 'u.id')
          .where('s.id', '=', grant.sessionId)
          .where('u.id', '=', grant.userId)
          .where('u.isActive', '=', sql.lit(true))
          .where('u.deletedAt', 'is', null)
          .where('s.revokedAt', 'is', null)
          .select(['u.id as userId', 's.id as sessionId'])
          .forShare(['u', 'c', 's']),
      )
      .insertInto('oauth_codes')
      .columns([
        'codeHash',
        'clientId',
        'userId',
        'organizationId',
        'approverSessionId',
        'redirectUri',
        'codeChallenge',
        'scope',
        'resource',
        'createdAt',
        'expiresAt',
      ])
      .expression(({ selectFrom }) =>
        selectFrom('standing').select([
          sql<Buffer>`${tokenHash(code)}::bytea`.as('codeHash'),
          sql<string>`${grant.clientId}::text`.as('clientId'),
          'standing.userId',
          sql<string | null>`${grant.organizationId}::uuid`.as('organizationId'),
          'standing.sessionId as approverSessionId',
          sql<string>`${grant.redirectUri}::text`.as('redirectUri'),
          sql<string>`${grant.codeChallenge}::text`.as('codeChallenge'),
          sql<string>`${grant.scope}::text`.as('scope'),
          sql<string>`${grant.resource}::text`.as('resource'),
          sql<string>`now()`.as('createdAt'),
          sql<string>`now() + make_interval(secs => ${codeLifeS})`.as('expiresAt'),
        ]),
      ),
  );

  return issued > 0 ? code : null;
}
