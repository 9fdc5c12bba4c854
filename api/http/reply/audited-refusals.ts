import type { FastifyRequest } from 'fastify';
import { tenantOf, transact } from '../../../db/transaction.ts';
import { recordRefused } from '../../../domain/audit/record.ts';
import { actorOf, defaultNote } from '../operation/audit.ts';
import type { Deps } from '../operation/deps.ts';
import { toFailure } from './error-envelope.ts';
import { userAgentOf } from '../operation/make-context.ts';
import type { RegisteredOperation } from '../operation/operation.ts';
import { stateOf } from '../operation/request-state.ts';

const plainId = /^[\w.:-]{1,200}$/;

/** Whether a refusal must be recorded in the audit log: every 403 in an impersonation. */
export function isAuditedRefusal(request: FastifyRequest, error: unknown): boolean {
  const { state } = request;
  const isInside = state !== null && state.operation !== null && state.caller !== null && state.caller.impersonationId !== null;
  return isInside && toFailure(error).status === 403;
}

/** The attempted operation: the request's own, or the one that it called as a tool. */
export interface Tried {
  readonly operation: RegisteredOperation;
  readonly params: unknown;
}

/** Records what an impersonating operator was refused, in a separate transaction, because that of the request is rolled back. */
export async function recordAuditedRefusal(deps: Deps, request: FastifyRequest, tried: Tried | null = null): Promise<void> {
  const { caller, address } = stateOf(request);
  const operation = tried?.operation ?? stateOf(request).operation;
  if (!caller || !operation) return;

  // The input is not validated yet when the refusal occurs, so a path parameter may not be an id.
  const params = Object.entries((tried ? tried.params : request.params) ?? {}).filter(([, value]) => plainId.test(String(value)));
  const note = { ...defaultNote(operation, null, Object.fromEntries(params)), workspaceId: caller.workspaceId };
  await transact(deps.db, { tenant: tenantOf(caller), actor: actorOf(caller), correlationId: request.id }, (tx) =>
    recordRefused(tx, {
      action: operation.audit,
      operationId: operation.operationId,
      note: { ...note, organizationId: caller.organizationId },
      ip: address,
      userAgent: userAgentOf(request),
    }),
  );
}
