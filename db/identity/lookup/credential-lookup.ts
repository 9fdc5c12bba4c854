import { toFailure } from '../../errors.ts';
import { runInAutocommit, type Databases } from '../../databases.ts';
import type { FoundClient } from './oauth-lookup.ts';
import type { FoundImpersonation, FoundKey, FoundSession, Person } from '../people/people.ts';

// The only look-ups that run before a tenant is known. Each is one statement outside a transaction, and its result is never cached.

export interface SessionAnswer {
  readonly session: FoundSession;
  readonly person: Person;
  readonly acting: Person | null;
  /** Id of the organization that X-View-Organization names, when it exists. */
  readonly viewOrganization: string | null;
  readonly viewWorkspace: { readonly id: string; readonly organizationId: string } | null;
}

/** Returns a session with all that decides about a request, or null when the user has no such session. */
export async function findSession(
  db: Databases,
  ask: {
    sessionId: string;
    userId: string;
    actingUserId: string | null;
    viewOrganizationId: string | null;
    viewWorkspaceId: string | null;
  },
): Promise<SessionAnswer | null> {
  return callDefinerFunction(db, 'gate_session($1, $2, $3, $4, $5)', [
    ask.sessionId,
    ask.userId,
    ask.actingUserId,
    ask.viewOrganizationId,
    ask.viewWorkspaceId,
  ]);
}

export interface ServiceKeyAnswer {
  readonly key: FoundKey;
  readonly creator: Person | null;
  readonly acting: Person | null;
}

/** Returns the service key stored under one of the hashes. */
export async function findServiceKey(
  db: Databases,
  hashes: readonly Buffer[],
  actingUserId: string | null,
): Promise<ServiceKeyAnswer | null> {
  return callDefinerFunction(db, 'gate_service_key($1, $2)', [hashes, actingUserId]);
}

/** Returns the impersonation of a token, whatever its state. */
export async function findImpersonation(db: Databases, hash: Buffer): Promise<FoundImpersonation | null> {
  return callDefinerFunction(db, 'gate_impersonation($1)', [hash]);
}

export interface LoginAnswer {
  readonly person: Person;
  readonly passwordHash: string | null;
  /** Null for operators, who have no organization with settings. */
  readonly idleDays: number | null;
  readonly absoluteDays: number | null;
}

/** Returns the user with a normalized address, active or not. */
export async function findLogin(db: Databases, email: string): Promise<LoginAnswer | null> {
  return callDefinerFunction(db, 'gate_login($1)', [email]);
}

export interface RefreshAnswer {
  readonly session: FoundSession;
  readonly person: Person;
  readonly idleDays: number | null;
}

/** Returns the session of a refresh token, whatever the state of either. */
export async function findRefresh(db: Databases, hash: Buffer): Promise<RefreshAnswer | null> {
  return callDefinerFunction(db, 'gate_refresh($1)', [hash]);
}

export interface ChallengeAnswer {
  readonly person: Person;
  readonly email: string;
  readonly idleDays: number | null;
  readonly absoluteDays: number | null;
}

/** Returns the user of an incomplete sign-in, whatever its state. */
export async function findChallenge(db: Databases, id: string): Promise<ChallengeAnswer | null> {
  return callDefinerFunction(db, 'gate_challenge($1)', [id]);
}

export interface MailTokenAnswer {
  readonly person: Person;
  readonly email: string;
  readonly fullName: string | null;
  /** Neither used nor expired. */
  readonly isOpen: boolean;
}

/** Returns the user to whom the token of a mail was sent for this purpose. */
export async function findMailToken(db: Databases, hash: Buffer, purpose: string): Promise<MailTokenAnswer | null> {
  return callDefinerFunction(db, 'gate_mail_token($1, $2)', [hash, purpose]);
}

export type StreamTokenAnswer =
  | { readonly result: 'used' | 'invalid' }
  | {
      readonly result: 'ok';
      readonly organizationId: string;
      readonly workspaceId: string;
      readonly isActing: boolean;
      /** The key or client secret behind it has been rotated since. */
      readonly isOutdated: boolean;
      readonly session: FoundSession | null;
      readonly person: Person | null;
      readonly key: FoundKey | null;
      readonly creator: Person | null;
      readonly client: FoundClient | null;
      readonly acting: Person | null;
      readonly impersonation: FoundImpersonation | null;
    };

/** Uses up a stream token and returns its caller. */
export async function takeStreamToken(db: Databases, hash: Buffer, runId: string): Promise<StreamTokenAnswer> {
  const answer = await callDefinerFunction<StreamTokenAnswer>(db, 'gate_stream_token($1, $2)', [hash, runId]);

  return answer ?? { result: 'invalid' };
}

/** Calls a definer function for one look-up; returns its answer, or null. */
export async function callDefinerFunction<Answer>(db: Databases, call: string, params: readonly unknown[]): Promise<Answer | null> {
  const sql = `select ${call} as answer`;

  db.app.config.get('onQuery')(sql, params);
  try {
    const result = await runInAutocommit<{ answer: Answer | null }>(db.app, { sql, parameters: params });

    return result.rows[0]?.answer ?? null;
  } catch (error) {
    throw toFailure(error) ?? error;
  }
}
