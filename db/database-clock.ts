import type { MikroORM, SqlEntityManager } from '@mikro-orm/postgresql';

/** The database's time as a process follows it: it costs no statement and ignores the process's wall clock. */
export interface DatabaseClock {
  /** Returns the current time, accurate to half the round trip of the best measurement. */
  now(): Date;
  /** Takes a new measurement. Rejects when the database does not answer; the clock then continues from the last measurement. */
  measure(): Promise<void>;
  stop(): void;
}

const measureEveryMs = 5_000;

/**
 * Starts a clock that follows the database's; `ask` returns `clock_timestamp()`. Between measurements it advances with the process's monotonic clock, which
 * cannot be set. A measurement adjusts it only where the two contradict each other, so slow answers don't make it jump.
 */
export async function followClock(ask: () => Promise<Date>): Promise<DatabaseClock> {
  let offsetMs: number | null = null;
  let measuring: Promise<void> | null = null;

  const measureOnce = async () => {
    const sentAt = performance.now();
    const toldMs = (await ask()).getTime();
    const [lowest, highest] = [toldMs - performance.now(), toldMs - sentAt];
    if (offsetMs === null || offsetMs < lowest || offsetMs > highest) offsetMs = (lowest + highest) / 2;
  };
  const measure = () => {
    measuring ??= measureOnce().finally(() => {
      measuring = null;
    });
    return measuring;
  };
  await measure();
  const timer = setInterval(() => void measure().catch(() => undefined), measureEveryMs);
  timer.unref();

  return {
    now: () => new Date(performance.now() + (offsetMs ?? 0)),
    measure,
    stop: () => clearInterval(timer),
  };
}

const clocks = new WeakMap<object, DatabaseClock>();

/** Registers the clock of a pool; `followedTime` finds it through any of the pool's entity managers. */
export function nameClock({ em }: MikroORM, clock: DatabaseClock): void {
  clocks.set(em.getDriver(), clock);
}

/**
 * Returns the current time by the database's clock as this process follows it: for values that are compared with row times, or stored beside them, where a
 * separate statement would cost a round trip. `databaseTime` asks the database itself. Throws for pools that `connectDatabases` did not open.
 */
export function followedTime(em: SqlEntityManager): Date {
  const clock = clocks.get(em.getDriver());
  if (!clock) throw new Error('a pool that connectDatabases has not opened');
  return clock.now();
}

/** Like `followedTime`, but returns null for a pool without a clock (one that a test or migration opened itself). */
export function followedTimeIfKnown(em: { getDriver(): object }): Date | null {
  return clocks.get(em.getDriver())?.now() ?? null;
}
