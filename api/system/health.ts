import { pendingMigrations, refuseLostAccess } from '../../db/orm.ts';
import type { Deps } from '../http/operation/deps.ts';

export const healthComponents = ['postgres', 'redis', 'temporal', 'migrations'] as const;

export interface HealthCheck {
  readonly name: (typeof healthComponents)[number];
  readonly status: 'ok' | 'failed' | 'skipped';
  readonly latency_ms: number | null;
}

export interface HealthState {
  readonly status: 'ok' | 'degraded' | 'unavailable';
  readonly draining: boolean;
  readonly checks: readonly HealthCheck[];
}

/** What this process can do now. */
export interface Health {
  /** Without any I/O. */
  live(): HealthState;
  /** Four checks in parallel, at most 1 s each; one result serves all who ask within 1 s. */
  ready(): Promise<HealthState>;
  /** Whether migrations have once been found complete; true permanently from then on. */
  started(): Promise<boolean>;
}

const checkTimeoutMs = 1_000;
const sharedForMs = 1_000;
/** So often a connection is opened; after a failure each time. */
const openEveryMs = 10_000;

export function createHealth(deps: Pick<Deps, 'db' | 'redis' | 'temporal' | 'isDraining'>): Health {
  let isStarted = false;
  let openedAt = -Infinity;
  const askPostgres = async () => {
    await deps.db.app.em.getConnection().execute('select 1');
    if (performance.now() - openedAt < openEveryMs) return;
    await refuseLostAccess(deps.db);
    openedAt = performance.now();
  };
  const checkShared = (): Promise<HealthCheck[]> => {
    if (!shared || performance.now() - shared.at > sharedForMs) shared = { at: performance.now(), checks: checkAll(deps, askPostgres) };
    return shared.checks;
  };
  let shared: { readonly at: number; readonly checks: Promise<HealthCheck[]> } | null = null;

  return {
    live: () => ({ status: 'ok', draining: deps.isDraining(), checks: [] }),
    async ready() {
      const checks = await checkShared();
      return { status: statusOf(checks, deps.isDraining()), draining: deps.isDraining(), checks };
    },
    async started() {
      isStarted ||= (await checkShared()).some((check) => check.name === 'migrations' && check.status === 'ok');
      return isStarted;
    },
  };
}

async function checkAll(
  { db, redis, temporal }: Pick<Deps, 'db' | 'redis' | 'temporal'>,
  askPostgres: () => Promise<void>,
): Promise<HealthCheck[]> {
  const postgres = timed('postgres', askPostgres);
  const migrations = timed('migrations', async () => {
    const pending = await pendingMigrations(db);
    if (pending.length > 0) throw new Error(`${pending.length} migrations are pending`);
  });
  const others = [timed('redis', () => redis.ping()), timed('temporal', () => temporal.check(checkTimeoutMs))];

  const [first, ...rest] = await Promise.all([postgres, ...others]);
  const last = await migrations;
  // Without PostgreSQL nothing is known about its migrations.
  return first ? [first, ...rest, first.status === 'failed' ? { ...last, status: 'skipped' as const, latency_ms: null } : last] : [];
}

async function timed(name: HealthCheck['name'], check: () => Promise<unknown>): Promise<HealthCheck> {
  const startedAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('timed out')), checkTimeoutMs);
  });
  try {
    await Promise.race([check(), timeout]);
    return { name, status: 'ok', latency_ms: Math.round(performance.now() - startedAt) };
  } catch {
    return { name, status: 'failed', latency_ms: null };
  } finally {
    clearTimeout(timer);
  }
}

/** Redis and Temporal may be away for a while; without PostgreSQL or its migrations nothing works. */
function statusOf(checks: readonly HealthCheck[], isDraining: boolean): HealthState['status'] {
  const failed = checks.filter((check) => check.status === 'failed').map((check) => check.name);
  if (isDraining || failed.includes('postgres') || failed.includes('migrations')) return 'unavailable';
  return failed.length > 0 ? 'degraded' : 'ok';
}
