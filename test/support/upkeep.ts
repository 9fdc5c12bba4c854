import { ScheduleOverlapPolicy } from '@temporalio/client';
import type { Temporal } from '../../temporal/client.ts';

/** Has a schedule of the platform run now, also beside a run of it that hangs: a worker that a test has frozen or killed may still hold one, and Temporal would skip this one. */
export function runUpkeep({ client }: Pick<Temporal, 'client'>, name: string): Promise<void> {
  return client.schedule.getHandle(`maint:${name}`).trigger(ScheduleOverlapPolicy.ALLOW_ALL);
}
