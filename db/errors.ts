import { OptimisticLockError } from '@mikro-orm/core';
import { fail, Failure } from '../workflows/contracts/failure.ts';

/** Unique constraints whose violation a caller can cause and understand, with the field that is taken. A violation of any other constraint is a bug. */
const takenFields: Readonly<Record<string, string | undefined>> = {
  organizations_slug_key: 'slug',
  workspaces_slug_key: 'slug',
  users_email_key: 'email',
  agents_slug_workspace_key: 'slug',
  agents_slug_organization_key: 'slug',
  agents_slug_platform_key: 'slug',
  tools_slug_workspace_key: 'slug',
  tools_slug_organization_key: 'slug',
  tools_slug_platform_key: 'slug',
  toolkits_slug_workspace_key: 'slug',
  toolkits_slug_organization_key: 'slug',
  toolkits_slug_platform_key: 'slug',
  skills_slug_workspace_key: 'slug',
  skills_slug_organization_key: 'slug',
  skills_slug_platform_key: 'slug',
  knowledge_bases_slug_workspace_key: 'slug',
  knowledge_bases_slug_organization_key: 'slug',
  knowledge_bases_slug_platform_key: 'slug',
  knowledge_grants_principal_key: 'principal_id',
  knowledge_items_external_key: 'external_id',
  knowledge_relations_ends_key: 'to_item_id',
  personas_slug_key: 'slug',
  schedules_tool_call_key: 'tool_call_id',
  webhook_endpoints_slug_key: 'slug',
  review_playbooks_slug_workspace_key: 'slug',
  review_playbooks_slug_organization_key: 'slug',
  review_playbooks_slug_platform_key: 'slug',
  repo_bindings_repo_key: 'repo_full_name',
  model_prices_effective_key: 'effective_from',
};

/** SQLSTATE codes that `app_refuse` raises in statements whose result no code awaits; the message carries the reason. */
const refusals = { frozen: 'LH423', leaseLost: 'LH409' } as const;
const uniqueViolation = '23505';
const foreignKeyViolation = '23503';
const retriedStates = new Set(['40001', '40P01']);
/** Retryable states. Class 28 means that the server no longer accepts our role: its password or the server's access rules have changed. */
const unavailableStates = new Set([
  '57014',
  '55P03',
  '25P03',
  '57P01',
  '57P02',
  '57P03',
  '53100',
  '53200',
  '53300',
  '53400',
  '28P01',
  '28000',
]);
const socketCalls = new Set(['connect', 'read', 'write', 'getaddrinfo']);
const lostConnection =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|not queryable|Cannot use a pool after/;

/** Returns the Failure that a database error means to a caller, or null for a bug of ours (`internal_error`). A Failure is returned as it is. */
export function toFailure(error: unknown): Failure | null {
  if (error instanceof Failure) return error;
  if (error instanceof OptimisticLockError) return fail('precondition_failed', { cause: error });

  const { code, constraint, detail, message } = detailsOf(error);
  if (code === refusals.frozen) return fail('resource_frozen', { reason: message, cause: error });
  if (code === refusals.leaseLost) return fail('idempotency_in_progress', { retryAfterS: 1, cause: error });
  if (code === uniqueViolation) {
    const field = takenFields[constraint];
    return field === undefined ? null : fail('already_exists', { context: { field }, cause: error });
  }
  if (code === foreignKeyViolation) return foreignKeyFailure(error, detail);
  if (isRetried(error) || hasLostConnection(error)) return fail('service_unavailable', { retryAfterS: 1, cause: error });
  return null;
}

/** True for a deadlock or serialization failure, after which the transaction is run again. */
export function isRetried(error: unknown): boolean {
  return retriedStates.has(detailsOf(error).code);
}

/** True for a write that a policy refused: always a bug, counted in `rls_violations_total`. */
export function isPolicyViolation(error: unknown): boolean {
  const { code, message } = detailsOf(error);
  return code === '42501' && message.includes('row-level security');
}

function foreignKeyFailure(error: unknown, detail: string): Failure {
  // The server says "is still referenced" on delete and "is not present" on write. The detail contains ids, so it is never passed on.
  if (/still referenced/.test(detail)) return fail('state_conflict', { reason: 'still_referenced', cause: error });
  return fail('validation_failed', {
    detail: 'A referenced row does not exist.',
    errors: [{ in: 'body', pointer: null, name: null, rule: 'reference', message: 'refers to a row that does not exist' }],
    cause: error,
  });
}

/** True when the database does not answer, or not yet. A database that rejects our role has answered, so it does not count. */
export function isUnavailable(error: unknown): boolean {
  const cause = error instanceof Failure ? error.cause : error;
  return hasLostConnection(cause) && !detailsOf(cause).code.startsWith('28');
}

function hasLostConnection(error: unknown): boolean {
  const { code, syscall, message } = detailsOf(error);
  return unavailableStates.has(code) || code.startsWith('08') || socketCalls.has(syscall) || lostConnection.test(message);
}

function detailsOf(error: unknown): { code: string; constraint: string; detail: string; syscall: string; message: string } {
  if (!(error instanceof Error)) return { code: '', constraint: '', detail: '', syscall: '', message: '' };
  const text = (name: string) => {
    const value: unknown = Reflect.get(error, name);
    return typeof value === 'string' ? value : '';
  };
  return { code: text('code'), constraint: text('constraint'), detail: text('detail'), syscall: text('syscall'), message: error.message };
}
