import { planSchedule, type SchedulePlan } from './plan.ts';

/** When the policy of a knowledge base runs by itself. */
export interface PolicyTimes {
  /** Cron expression; null: never. */
  readonly schedule: string | null;
  /** IANA. */
  readonly timezone: string;
}

const midnight = '0 0 * * *';

/** Returns the compiled times of a policy; null when it runs only by request. Throws ScheduleProblem for an invalid zone or expression. */
export function planPolicy({ schedule, timezone }: PolicyTimes, now: Date): SchedulePlan | null {
  const dst = { gap: 'shift', repeat: 'once' } as const;
  const plan = planSchedule(
    { cron: schedule ?? midnight, everySeconds: null, runAt: null, timezone, dst, startsAt: null, endsAt: null, createdAt: now },
    now,
  );
  return schedule === null ? null : plan;
}
