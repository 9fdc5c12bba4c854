import type { FastifyRequest } from 'fastify';
import { writeAudit } from '../../db/audit/audit.ts';
import type { Caller } from '../../db/caller.ts';
import type { PageRequest } from '../../db/page.ts';
import { isRetried } from '../../db/faults.ts';
import { beginUnit, emptyOutgoing, type UnitOptions } from '../../db/scope.ts';
import type { Outgoing, Unit } from '../../db/unit.ts';
import type { Role } from '../../workflows/contracts/access.ts';
import { defaultNote } from './audit.ts';
import type { AuditNote, Ctx, Reply } from './context.ts';
import type { AppDeps } from './deps.ts';
import { storeSuccess, type Reservation } from './idempotency.ts';
import type { RegisteredOperation } from './operation.ts';
import { toPageView } from './page.ts';
import type { ParsedInput } from './parse-input.ts';
import { render, unwrap, type Rendered } from './render.ts';
import { stateOf } from './request-state.ts';
import { isRoleAccess } from './scopes.ts';

/** One request that has passed every check before its handler. */
export interface Execution {
  readonly deps: AppDeps;
  readonly operation: RegisteredOperation;
  readonly request: FastifyRequest;
  readonly caller: Caller;
  readonly options: UnitOptions;
  readonly input: ParsedInput;
  readonly identified: unknown;
  readonly page: PageRequest;
  readonly sealCursor: (position: readonly string[]) => string;
}

export interface Executed {
  readonly reply: Rendered;
  readonly outgoing: Outgoing;
  readonly afterCommit: (() => Promise<Reply<unknown>>) | null;
}

const mostTries = 3;

type Handle = (ctx: unknown, input: unknown) => Promise<unknown>;
type Renew = () => Promise<Outgoing>;

/** Runs the handler in the caller's tenant; row, audit entry, outbox and stored reply commit together or not at all. */
export async function execute(execution: Execution, reservation: Reservation | null): Promise<Executed> {
  if (execution.operation.transaction === 'none') return { ...(await run(execution, outsideUnit(execution), refuseRenew, reservation)), outgoing: emptyOutgoing() };

  for (let tries = 1; ; tries += 1) {
    const open = await beginUnit(execution.deps.db, execution.options);
    let hasKept = false;
    const renew: Renew = () => {
      hasKept = true;
      return open.renew();
    };
    try {
      const done = await run(execution, open.unit, renew, reservation);
      return { ...done, outgoing: await open.commit() };
    } catch (error) {
      await open.rollback();
      // What was kept stands already, so such a handler does not run twice.
      if (hasKept || tries === mostTries || !isDeadlock(error)) throw error;
    }
  }
}

/** What a raw handler works with: everything but a transaction. */
export function rawContext(execution: Execution): Omit<Ctx, 'em' | 'keep'> {
  return makeContext(execution, outsideUnit(execution), refuseRenew, () => undefined);
}

async function run(execution: Execution, unit: Unit, renew: Renew, reservation: Reservation | null): Promise<Omit<Executed, 'outgoing'>> {
  const { operation, input } = execution;
  let note: AuditNote | null = null;
  const ctx = makeContext(execution, unit, renew, (given) => { note = given; });
  // The registry erases each handler's own types; its schemas have just been enforced on the input.
  const handle = operation.handler as unknown as Handle;

  const result = await handle(ctx, { params: input.params, query: input.query, body: input.body, identified: execution.identified });
  const { view, options } = unwrap(result);
  // `list` handlers give pages by their type.
  const shown = operation.kind === 'list' ? toPageView(view as Parameters<typeof toPageView>[0], execution.sealCursor) : view;
  const reply = render(operation, shown, options);

  if (operation.audit !== 'none' && reply.status < 300) await audit(execution, unit, note ?? defaultNote(operation, view, input.params));
  if (reservation) await storeSuccess(execution, unit, reservation, reply, options.afterCommit === undefined);
  return { reply, afterCommit: options.afterCommit ?? null };
}

function makeContext(execution: Execution, unit: Unit, renew: Renew, audit: (note: AuditNote) => void): Ctx {
  const { deps, operation, request, caller, input, page } = execution;
  return {
    // Read late: outside a transaction there is none to read.
    get em() {
      return unit.em;
    },
    tenant: unit.tenant,
    actor: unit.actor,
    correlationId: unit.correlationId,
    outgoing: unit.outgoing,
    caller,
    deps,
    get log() {
      return deps.log.child({ correlation_id: request.id, operation: operation.operationId });
    },
    operationId: operation.operationId,
    floor: floorOf(operation),
    page,
    ifMatch: input.ifMatch,
    isIfMatchRequired: operation.ifMatch === 'required',
    address: stateOf(request).address,
    userAgent: userAgentOf(request),
    audit,
    keep: async (write) => {
      await write(unit);
      void deps.dispatch(await renew());
    },
  };
}

async function audit(execution: Execution, unit: Unit, note: AuditNote): Promise<void> {
  const { operation, request } = execution;
  if (operation.audit === 'none') return;
  await writeAudit(unit, { action: operation.audit, operationId: operation.operationId, note, ip: stateOf(request).address, userAgent: userAgentOf(request) });
}

/** A unit for handlers that promised to touch no row; reaching for the transaction is a bug. */
function outsideUnit({ options, operation }: Execution): Unit {
  return {
    get em(): never {
      throw new Error(`${operation.operationId} has no transaction`);
    },
    tenant: options.tenant,
    actor: options.actor,
    correlationId: options.correlationId,
    outgoing: emptyOutgoing(),
  };
}

/** A deadlock or serialization failure; a commit's own arrives translated, with the fault as its cause. */
function isDeadlock(error: unknown): boolean {
  return isRetried(error) || (error instanceof Error && isRetried(error.cause));
}

async function refuseRenew(): Promise<never> {
  throw new Error('nothing to keep outside a transaction');
}

function floorOf(operation: RegisteredOperation): Role | null {
  return isRoleAccess(operation) ? operation.access : null;
}

export function userAgentOf(request: FastifyRequest): string | null {
  return request.headers['user-agent']?.slice(0, 400) ?? null;
}
