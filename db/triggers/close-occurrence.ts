import type { RunState } from '../runs/run-state.ts';
import type { Unit } from '../unit.ts';
import { closeOccurrence, type EndedRun } from './occurrences.ts';
import { lockSchedule } from './schedules.ts';

/** What the end of a run means to the schedule that started it; nothing for any other run, at no cost. */
export async function closeOccurrenceOf(unit: Unit, run: RunState, status: EndedRun['status']): Promise<void> {
  if (run.source !== 'schedule' || run.trigger_id === null) return;
  await closeOccurrence(unit, { id: run.id, status, currency: run.usage_own.currency }, (id) => lockSchedule(unit, id));
}
