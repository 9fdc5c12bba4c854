import type { FastifyRequest } from 'fastify';
import type { Caller } from '../../../db/caller.ts';
import type { PageRequest } from '../../../db/page.ts';
import { emptyOutgoing, type TransactionOptions } from '../../../db/transaction.ts';
import type { Outgoing, TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { AuditNote, Ctx } from './context.ts';
import type { AppDeps } from './deps.ts';
import type { RegisteredOperation } from './operation.ts';
import type { ParsedInput } from '../input/parse-input.ts';
import { stateOf } from './request-state.ts';
import { floorOf } from '../credentials/role-floor.ts';

/** One request that has passed every check before its handler. */
export interface Execution {
  readonly deps: AppDeps;
  readonly operation: RegisteredOperation;
  readonly request: FastifyRequest;
  /** How the request came: through the operation's own route, or as a tool call of the MCP endpoint. */
  readonly source: 'api' | 'mcp';
  /** Aborted when the client no longer waits for the answer; null if this is not watched. */
  readonly signal: AbortSignal | null;
  readonly caller: Caller;
  readonly options: TransactionOptions;
  readonly input: ParsedInput;
  readonly identified: unknown;
  readonly page: PageRequest;
  readonly signCursor: (position: readonly string[]) => string;
}

/** Commits, returns what must be dispatched now, and begins a new transaction on the same connection. */
export type Renew = () => Promise<Outgoing>;

/** Creates the context of a handler over one transaction. */
export function makeContext(execution: Execution, tx: TenantTransaction, renew: Renew, audit: (note: AuditNote | null) => void): Ctx {
  const { deps, operation, request, caller, input, page, source, signal } = execution;
  return {
    // Read lazily, because there is none outside a transaction.
    get em() {
      return tx.em;
    },
    tenant: tx.tenant,
    actor: tx.actor,
    correlationId: tx.correlationId,
    outgoing: tx.outgoing,
    caller,
    deps,
    get log() {
      return deps.log.child({ correlation_id: request.id, operation: operation.operationId });
    },
    operationId: operation.operationId,
    source,
    signal,
    floor: floorOf(operation),
    page,
    ifMatch: input.ifMatch,
    isIfMatchRequired: operation.ifMatch === 'required',
    address: stateOf(request).address,
    userAgent: userAgentOf(request),
    audit,
    commitNow: async (write) => {
      await write(tx);
      void deps.dispatch(await renew());
    },
  };
}

/** Creates the context of a raw handler: everything but a transaction. */
export function rawContext(execution: Execution): Omit<Ctx, 'em' | 'commitNow'> {
  return makeContext(execution, outsideTransaction(execution), refuseRenew, () => undefined);
}

/** Stands in for the transaction of handlers that touch no row; using its entity manager is a bug. */
export function outsideTransaction({ options, operation }: Execution): TenantTransaction {
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

/** The `Renew` of a context without a transaction: always throws. */
export async function refuseRenew(): Promise<never> {
  throw new Error('nothing to commit outside a transaction');
}

/** The client's User-Agent, truncated to what a row holds. */
export function userAgentOf(request: FastifyRequest): string | null {
  return request.headers['user-agent']?.slice(0, 400) ?? null;
}
