import { strikesAfter, type Recurrence, type DstRules, type Timetable } from './cadence.ts';
import { compileTimetable, type CompiledTimetable } from './compile-cadence.ts';
import { CronError, parseCron } from './cron.ts';
import { describeCadence } from './describe-cadence.ts';
import { isZone } from './wall-time.ts';

/** An error in a schedule's times; `field` is the name on the wire. */
export class ScheduleProblem extends Error {
  override readonly name = 'ScheduleProblem';
  readonly field: string;
  readonly rule: string;
  readonly params: Readonly<Record<string, unknown>>;

  constructor(problem: {
    readonly field: string;
    readonly rule: string;
    readonly message: string;
    readonly params?: Record<string, unknown>;
  }) {
    super(problem.message);
    this.field = problem.field;
    this.rule = problem.rule;
    this.params = problem.params ?? {};
  }
}

/** The times of a schedule as its row holds them. */
export interface ScheduleTimes {
  readonly cron: string | null;
  readonly everySeconds: number | null;
  readonly runAt: Date | string | null;
  readonly timezone: string;
  readonly dst: DstRules;
  readonly startsAt: Date | string | null;
  readonly endsAt: Date | string | null;
  readonly createdAt: Date | string;
}

/** What is stored with a schedule's times, and its description in plain words. */
export interface SchedulePlan {
  readonly timetable: Timetable;
  readonly compiled: CompiledTimetable;
  readonly description: string;
  readonly nextRunAt: Date | null;
}

const minEverySeconds = 60;
const maxEverySeconds = 31_536_000;

/** Returns the timetable of stored times. Throws ScheduleProblem for times that were never valid. */
export function timetableOf(times: ScheduleTimes): Timetable {
  const startsAt = millisecondsOf(times.startsAt);
  return {
    cadence: cadenceOf(times, startsAt),
    zone: times.timezone,
    dst: times.dst,
    startsAt,
    endsAt: millisecondsOf(times.endsAt),
  };
}

/** Checks the times of a new or changed schedule and compiles them. Throws ScheduleProblem. */
export function planSchedule(times: ScheduleTimes, now: Date): SchedulePlan {
  if (!isZone(times.timezone)) throw new ScheduleProblem({ field: 'timezone', rule: 'format', message: 'must be an IANA time zone' });
  const timetable = timetableOf(times);
  const { startsAt, endsAt, cadence } = timetable;
  if (startsAt !== null && endsAt !== null && endsAt <= startsAt)
    throw new ScheduleProblem({ field: 'ends_at', rule: 'range', message: 'must be after starts_at' });
  if (cadence.kind === 'once' && cadence.at <= now.getTime())
    throw new ScheduleProblem({ field: 'run_at', rule: 'range', message: 'must be in the future' });
  if (
    cadence.kind === 'cron' &&
    strikesAfter({ ...timetable, startsAt: null, endsAt: null }, { after: now.getTime(), count: 1 }).length === 0
  )
    throw new ScheduleProblem({ field: 'cron', rule: 'range', message: 'never matches a day in any year' });
  return {
    timetable,
    compiled: compileTimetable(timetable, now.getTime()),
    description: describeCadence(timetable),
    nextRunAt: nextAfter(timetable, now),
  };
}

/** Returns the next instant that starts a run; null when there is none. */
export function nextAfter(timetable: Timetable, after: Date): Date | null {
  const strike = strikesAfter(timetable, { after: after.getTime(), count: 3 }).find(({ isSkipped }) => !isSkipped);
  return strike ? new Date(strike.at) : null;
}

function cadenceOf(times: ScheduleTimes, startsAt: number | null): Recurrence {
  const given = [times.cron, times.everySeconds, times.runAt].filter((value) => value !== null);
  if (given.length !== 1)
    throw new ScheduleProblem({ field: 'cron', rule: 'oneOf', message: 'exactly one of cron, every_seconds and run_at is required' });
  if (times.cron !== null) return { kind: 'cron', spec: parsed(times.cron) };
  if (times.everySeconds !== null) {
    if (times.everySeconds < minEverySeconds || times.everySeconds > maxEverySeconds)
      throw new ScheduleProblem({
        field: 'every_seconds',
        rule: 'range',
        message: `from ${minEverySeconds} to ${maxEverySeconds}`,
      });
    return { kind: 'every', seconds: times.everySeconds, from: startsAt ?? wholeSecond(times.createdAt) };
  }
  return { kind: 'once', at: wholeSecond(times.runAt ?? 0) };
}

function parsed(cron: string) {
  try {
    return parseCron(cron);
  } catch (error) {
    if (!(error instanceof CronError)) throw error;
    throw new ScheduleProblem({ field: 'cron', rule: 'pattern', message: error.message, params: { position: error.position } });
  }
}

/** Temporal fires at whole seconds. */
function wholeSecond(value: Date | string | number): number {
  return Math.floor(new Date(value).getTime() / 1_000) * 1_000;
}

function millisecondsOf(value: Date | string | null): number | null {
  return value === null ? null : wholeSecond(value);
}
