import type { MikroORM, SqlEntityManager } from '@mikro-orm/postgresql';

/** The database's time as a process follows it: without a statement, and whatever the process's own clock shows. */
export interface DatabaseClock {
  /** Now, to within half the round trip of its best measurement. */
  now(): Date;
  /** Measures anew. Rejects when the database does not answer; the clock then goes on by what it knows. */
  measure(): Promise<void>;
  stop(): void;
}

const measureEveryMs = 5_000;

/**
 * Opens a clock that follows the database's: `ask` gives `clock_timestamp()`. Between two measurements it advances by the monotonic clock of the
 * process, which nobody sets. A measurement moves it only where the two contradict each other, so that slow answers don't make it jump.
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

/** Notes which clock belongs to a pool; `followedTime` finds it by any entity manager of it. */
export function nameClock({ em }: MikroORM, clock: DatabaseClock): void {
  clocks.set(em.getDriver(), clock);
}

/**
 * Now, by the database's clock as this process follows it: for whatever is compared with times of rows, or kept beside them, where a statement of its
 * own would cost a round trip. `databaseTime` asks the database itself. Throws for pools that `connectDatabases` has not opened.
 */
export function followedTime(em: SqlEntityManager): Date {
  const clock = clocks.get(em.getDriver());
  if (!clock) throw new Error('a pool that connectDatabases has not opened');
  return clock.now();
}

/** The same where a pool may have no clock (one that a test or a migration has opened by itself): null then. */
export function followedTimeIfKnown(em: { getDriver(): object }): Date | null {
  return clocks.get(em.getDriver())?.now() ?? null;
}
