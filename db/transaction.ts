import { setTimeout as delay } from 'node:timers/promises';
import { EntityManager, type SqlEntityManager } from '@mikro-orm/postgresql';
import type { CompiledQuery } from 'kysely';
import type { Actor, Caller, TenantSettings } from './caller.ts';
import { isRetried, toFailure } from './errors.ts';
import { runInAutocommit, type Databases } from './databases.ts';
import type { QueuedStatement, Statement } from './postgres/pg-connection.ts';
import { isUnbounded, organizationOf, workspacesOf } from './caller-scope.ts';
import { holdsEntities, run, queueStatement, takeConnection } from './sql.ts';
import type { Outgoing, TenantTransaction } from './tenant-transaction.ts';

export interface TransactionOptions {
  readonly tenant: TenantSettings;
  readonly actor: Actor;
  readonly correlationId: string;
}

/** An open transaction. `commit` and `renew` return what has to be dispatched now; a failed `commit` has already rolled back. */
export interface OpenTransaction {
  readonly tx: TenantTransaction;
  commit(): Promise<Outgoing>;
  rollback(): Promise<void>;
  /** Commits and begins again, in the same tenant and on the same connection: taking a second connection could exhaust the pool. */
  renew(): Promise<Outgoing>;
}

const maxTries = 3;
/**
 * Base delay in ms before the loser of a deadlock runs again, times the number of tries and up to doubled by jitter. An immediate rerun could take its
 * first lock before the winner is awake, and lose once more.
 */
const pauseMs = 50;

const settingNames = ['app.org', 'app.user', 'app.ws', 'app.ws_all', 'app.operator'];
const settingsSql = sqlOfSettings(settingNames);
const readSettingsSql = sqlOfSettings([...settingNames, 'transaction_read_only']);

/** The tenant of callers without a credential: it sees nothing, and may write rows of kind open and audit entries without an organization. */
export const nobodyTenant: TenantSettings = {
  organizationId: null,
  userId: null,
  workspaceIds: [],
  hasAllWorkspaces: false,
  isOperator: false,
};

/** The actor of the platform's own work: schedules, sweeps, the CLI. */
export const systemActor: Actor = { kind: 'system', id: null, role: null, actingUserId: null, impersonationId: null };

/** The tenant of one workspace: what an activity of a run may see. */
export function workspaceTenant(organizationId: string, workspaceId: string): TenantSettings {
  return { organizationId, userId: null, workspaceIds: [workspaceId], hasAllWorkspaces: false, isOperator: false };
}

/** The tenant of one whole organization: what a job of the organization may see. */
export function organizationTenant(organizationId: string): TenantSettings {
  return { organizationId, userId: null, workspaceIds: [], hasAllWorkspaces: true, isOperator: false };
}

/** Returns a caller's tenant. An operator narrowed by X-View-* is a caller of that organization or workspace. */
export function tenantOf(caller: Caller): TenantSettings {
  const workspaceIds = workspacesOf(caller);

  return {
    organizationId: organizationOf(caller),
    userId: caller.userId,
    workspaceIds: workspaceIds ?? [],
    hasAllWorkspaces: workspaceIds === null,
    isOperator: isUnbounded(caller),
  };
}

/** Opens a transaction in a tenant, on a new fork of the entity manager; one statement after `begin` sets the five settings. */
export async function openTransaction(db: Databases, { tenant, actor, correlationId }: TransactionOptions): Promise<OpenTransaction> {
  const em: SqlEntityManager = db.app.em.fork();
  const tx: TenantTransaction = { em, tenant, actor, correlationId, outgoing: emptyOutgoing() };
  const giveBack = await db.shares.take(tenant.organizationId);
  try {
    await translated(() => begin(em));
    await queueStatement(em, settingsSql, settingsOf(tenant));
  } catch (error) {
    giveBack();
    throw error;
  }

  return {
    tx,
    commit: async () => {
      try {
        await em.commit();
      } catch (error) {
        await rollBack(em);
        throw toFailure(error) ?? error;
      } finally {
        giveBack();
      }
      return taken(tx.outgoing);
    },
    rollback: () => rollBack(em).finally(giveBack),
    renew: async () => {
      await translated(async () => {
        await run(em, 'commit and chain');
        await queueStatement(em, settingsSql, settingsOf(tenant));
      });
      return taken(tx.outgoing);
    },
  };
}

/**
 * Stands in for a transaction in work that only reads: each statement is its own transaction that sees the tenant's rows and cannot write, so it costs one
 * round trip and holds a connection no longer than that. Statements see what others have committed, as in any transaction here.
 */
export function openReadOnly(db: Databases, options: TransactionOptions): OpenTransaction {
  const tx = autocommitTransaction(db, options, { sql: readSettingsSql, parameters: [...settingsOf(options.tenant), 'on'] });
  const { em } = tx;

  return {
    tx,
    commit: async () => {
      // Nothing should be there to write; if something is, the database refuses it.
      if (holdsEntities(em)) await translated(() => em.flush());
      return taken(tx.outgoing);
    },
    rollback: async () => undefined,
    renew: async () => {
      throw new Error('a read keeps nothing');
    },
  };
}

/**
 * Runs `work` in a tenant with each of its statements as its own transaction: one round trip each, for work whose statements are independent. Database
 * errors become Failures; `work` may leave nothing in `outgoing`.
 */
export async function withAutocommit<R>(
  db: Databases,
  options: TransactionOptions,
  work: (tx: TenantTransaction) => Promise<R>,
): Promise<R> {
  const settings = { sql: settingsSql, parameters: settingsOf(options.tenant) };
  return translated(() => work(autocommitTransaction(db, options, settings)));
}

/**
 * Runs `work` in one tenant transaction and commits it. After a deadlock or serialization failure, `work` runs again from the start, at most twice, so it
 * must have no outside effects. Database errors become Failures. `outgoing` is returned, not sent.
 */
export async function transact<R>(
  db: Databases,
  options: TransactionOptions,
  work: (tx: TenantTransaction) => Promise<R>,
): Promise<{ value: R; outgoing: Outgoing }> {
  return retried(async () => {
    const open = await openTransaction(db, options);
    return orRollBack(open.rollback, async () => {
      const value = await work(open.tx);
      return { value, outgoing: await open.commit() };
    });
  });
}

function autocommitTransaction(
  db: Databases,
  { tenant, actor, correlationId }: TransactionOptions,
  settings: Statement,
): TenantTransaction {
  // Does what `fork` does, without its write to the process's environment on every call.
  const { em: whole } = db.app;
  const em = new EntityManager(whole.config, whole.getDriver(), whole.getMetadata(), false, whole.getEventManager());
  em.setTransactionContext({
    // Nothing waits for a transaction here: a queued statement is sent at once.
    executeQuery: async ({ sql, parameters, onRows }: CompiledQuery & Partial<QueuedStatement>) => {
      const found = await runInAutocommit(db.app, { sql, parameters, settings });
      onRows?.(found.rows);
      return found;
    },
  });
  return { em, tenant, actor, correlationId, outgoing: emptyOutgoing() };
}

/** Runs one transaction across tenants on the sweeper's pool, for the allow-listed jobs only. Retried like `transact`. */
export async function sweep<R>(db: Databases, work: (em: SqlEntityManager) => Promise<R>): Promise<R> {
  return retried(async () => {
    const em: SqlEntityManager = db.sweeper.em.fork();
    await begin(em);
    return orRollBack(
      () => rollBack(em),
      async () => {
        const value = await work(em);
        await em.commit();
        return value;
      },
    );
  });
}

export function emptyOutgoing(): Outgoing {
  return { frames: [], outboxIds: [], cancelledRunIds: [], erasedRunIds: [], revoked: [], measurements: [], endedRuns: [] };
}

async function retried<R>(attempt: () => Promise<R>): Promise<R> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      // An error of the commit arrives translated; its cause says what it was.
      const cause = error instanceof Error && isRetried(error.cause) ? error.cause : error;
      if (!isRetried(cause) || tries === maxTries) throw toFailure(error) ?? error;
      await delay(tries * pauseMs * (1 + Math.random()));
    }
  }
}

async function translated<R>(work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    throw toFailure(error) ?? error;
  }
}

async function begin(em: SqlEntityManager): Promise<void> {
  await em.begin();
  await takeConnection(em);
}

async function orRollBack<R>(rollback: () => Promise<void>, work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    await rollback();
    throw error;
  }
}

// The error that led here matters, not that the connection could not even roll back: the server does so by itself.
async function rollBack(em: SqlEntityManager): Promise<void> {
  if (!em.isInTransaction()) return;
  await em.rollback().catch(() => undefined);
}

/** Returns the values for `settingsSql`. */
function settingsOf(tenant: TenantSettings): string[] {
  if (tenant.workspaceIds.length > 1_000) throw new Error('A caller sees at most 1,000 workspaces');
  return [
    tenant.organizationId ?? 'none',
    tenant.userId ?? 'none',
    `{${tenant.workspaceIds.join(',')}}`,
    tenant.hasAllWorkspaces ? 'on' : 'off',
    tenant.isOperator ? 'on' : 'off',
  ];
}

/** One text for all calls, so that PostgreSQL can reuse its plan. */
function sqlOfSettings(names: readonly string[]): string {
  return `select ${names.map((name, n) => `set_config('${name}', $${n + 1}, true)`).join(', ')}`;
}

function taken(outgoing: Outgoing): Outgoing {
  return {
    frames: outgoing.frames.splice(0),
    outboxIds: outgoing.outboxIds.splice(0),
    cancelledRunIds: outgoing.cancelledRunIds.splice(0),
    erasedRunIds: outgoing.erasedRunIds.splice(0),
    revoked: outgoing.revoked.splice(0),
    measurements: outgoing.measurements.splice(0),
    endedRuns: outgoing.endedRuns.splice(0),
  };
}
