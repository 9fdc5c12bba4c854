import { literal, literals } from '../expressions.ts';

/** The status of a queued run, in the text of a query, so that the partial index of queued runs serves. */
export const queued = literal('queued');

/** The statuses of runs that have not ended, in the text of a query, so that the partial index of live runs serves. */
export const liveStatuses = literals('queued', 'running', 'waiting', 'cancelling');
