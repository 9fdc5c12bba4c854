import { sql } from 'kysely';
import type { Role } from '../../../workflows/contracts/access.ts';
import type { Databases } from '../../databases.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { callDefinerFunction } from './credential-lookup.ts';
import type { FoundSession, Person } from '../people/people.ts';

export type OauthAuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post';

/** An OAuth client as the definer functions return it. */
export interface FoundClient {
  readonly id: string;
  readonly clientId: string;
  readonly kind: 'preregistered' | 'registered' | 'document';
  readonly clientName: string;
  readonly redirectUris: readonly string[];
  readonly authMethod: OauthAuthMethod;
  /** Hex; null for public clients. */
  readonly secretHash: string | null;
  /** Hex; null unless the client registered itself. */
  readonly registrationHash: string | null;
  readonly grantTypes: readonly string[];
  /** The OAuth scopes it may ask for; null means every scope. */
  readonly scope: string | null;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
  readonly role: Role | null;
  readonly isDocumentFresh: boolean;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
  /** Changes with every rotation of the secret; the client's own tokens carry it. */
  readonly generation: number;
  readonly isDeleted: boolean;
  /** Its organization has been purged. */
  readonly isHomeGone: boolean;
}

/** Returns the client with a client_id, whatever its state. */
export async function findClient(db: Databases, clientId: string): Promise<FoundClient | null> {
  return callDefinerFunction(db, 'gate_oauth_client($1)', [clientId]);
}

/** An authorization code with all that decides about its exchange. */
export interface FoundCode {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly codeChallenge: string;
  readonly scope: string;
  readonly resource: string;
  readonly sessionId: string | null;
  readonly wasUsed: boolean;
  /** Expired, or the session that approved it was ended other than by signing out. */
  readonly isOver: boolean;
  readonly person: Person;
  readonly idleDays: number | null;
  readonly absoluteDays: number | null;
}

export async function findCode(db: Databases, hash: Buffer): Promise<FoundCode | null> {
  return callDefinerFunction(db, 'gate_oauth_code($1)', [hash]);
}

/** The grant of a refresh token, whatever the state of either. */
export interface FoundGrant {
  readonly session: FoundSession;
  readonly person: Person;
  readonly scope: string;
  /** Not used and not expired; says nothing about its session. */
  readonly isLive: boolean;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly idleDays: number | null;
}

export async function findGrant(db: Databases, hash: Buffer): Promise<FoundGrant | null> {
  return callDefinerFunction(db, 'gate_oauth_refresh($1)', [hash]);
}

const noticedMax = 1_000;

/** Ends every grant of a client in all tenants. Open streams of the first 1,000 are notified at once, the others end within 5 s. */
export async function endSessionsOfClient(tx: TenantTransaction, clientId: string): Promise<void> {
  const ended = await row(tx.em, query.selectNoFrom(sql<string[]>`gate_end_oauth_sessions(${clientId})`.as('ids')));
  const ids = ended?.ids ?? [];

  tx.outgoing.revoked.push(...ids.slice(0, noticedMax).map((id) => `session:${id}`));
}
