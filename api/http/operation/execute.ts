import type { AuditOptions } from '../../../db/audit/audit.ts';
import { recordRequest } from '../../../domain/audit/record.ts';
import { isRetried } from '../../../db/errors.ts';
import { openTransaction, emptyOutgoing, openReadOnly } from '../../../db/transaction.ts';
import type { Outgoing, TenantTransaction } from '../../../db/tenant-transaction.ts';
import { defaultNote } from './audit.ts';
import type { AuditNote, Reply } from './context.ts';
import { storeSuccess, type Reservation } from '../idempotency/idempotency.ts';
import { makeContext, outsideTransaction, refuseRenew, userAgentOf, type Execution, type Renew } from './make-context.ts';
import { toPageView } from '../reply/page.ts';
import { render, unwrap, type Rendered } from '../reply/render.ts';
import { stateOf } from './request-state.ts';

/** The committed result of a handler: the reply, what is to be dispatched now, and what is still to be awaited. */
export interface Executed {
  readonly reply: Rendered;
  readonly outgoing: Outgoing;
  readonly afterCommit: (() => Promise<Reply<unknown>>) | null;
}

const maxTries = 3;
const openAreas: ReadonlySet<string> = new Set(['Authentication', 'Sessions', 'Oauth', 'Operator']);

type Handle = (ctx: unknown, input: unknown) => Promise<unknown>;

/** Runs the handler in the caller's tenant; row, audit entry, outbox and stored reply commit together or not at all. */
export async function execute(execution: Execution, reservation: Reservation | null): Promise<Executed> {
  if (execution.operation.transaction === 'none')
    return { ...(await run(execution, outsideTransaction(execution), refuseRenew, reservation)), outgoing: emptyOutgoing() };

  const isRead = execution.operation.method === 'GET' && execution.operation.transaction !== 'writes';
  for (let tries = 1; ; tries += 1) {
    const open = isRead ? openReadOnly(execution.deps.db, execution.options) : await openTransaction(execution.deps.db, execution.options);
    let hasCommitted = false;
    const renew: Renew = async () => {
      hasCommitted = true;
      return open.renew();
    };
    try {
      const done = await run(execution, open.tx, renew, reservation);
      return { ...done, outgoing: await open.commit() };
    } catch (error) {
      await open.rollback();
      // An early commit cannot be undone, so such a handler does not run twice.
      if (hasCommitted || tries === maxTries || !isDeadlock(error)) throw error;
    }
  }
}

async function run(
  execution: Execution,
  tx: TenantTransaction,
  renew: Renew,
  reservation: Reservation | null,
): Promise<Omit<Executed, 'outgoing'>> {
  const { operation, input } = execution;
  let noted: { readonly note: AuditNote | null } | null = null;
  const ctx = makeContext(execution, tx, renew, (given) => {
    noted = { note: given };
  });
  // The registry erases each handler's own types; its schemas have just been enforced on the input.
  const handle = operation.handler as unknown as Handle;

  const result = await handle(ctx, { params: input.params, query: input.query, body: input.body, identified: execution.identified });
  const { view, options } = unwrap(result);
  // By its type, a `list` handler returns a page.
  const shown = operation.kind === 'list' ? toPageView(view as Parameters<typeof toPageView>[0], execution.signCursor) : view;
  const reply = render(operation, shown, options);

  const note = noteOf(noted, () => defaultNote(operation, view, input.params));
  // Handlers refuse earlier; if one does not, this rolls back a change in a suspended or archived tenant. Both statements go with the commit.
  if (operation.audit !== 'none' && reply.status < 300 && note) await recordRequest(tx, auditOf(execution, operation.audit, note));
  if (reservation) await storeSuccess(execution, tx, reservation, reply, options.afterCommit === undefined);
  return { reply, afterCommit: options.afterCommit ?? null };
}

/** The note of the handler, else the default. */
function noteOf(noted: { readonly note: AuditNote | null } | null, byDefault: () => AuditNote): AuditNote | null {
  return noted ? noted.note : byDefault();
}

function auditOf({ operation, request }: Execution, action: AuditOptions['action'], note: AuditNote): AuditOptions {
  return {
    action,
    operationId: operation.operationId,
    note,
    ip: stateOf(request).address,
    userAgent: userAgentOf(request),
    demandsOpen: !isOpenWhenFrozen(operation),
  };
}

/** Whether a suspended organization or archived workspace still allows the operation: signing in, operator operations, and flagged ones. */
function isOpenWhenFrozen(operation: Execution['operation']): boolean {
  return operation.openWhenSuspended === true || openAreas.has(operation.area);
}

/** Whether an error is a deadlock or serialization failure; one in the commit arrives translated, with the original as its cause. */
function isDeadlock(error: unknown): boolean {
  return isRetried(error) || (error instanceof Error && isRetried(error.cause));
}
