import { literal, literals } from '../expressions.ts';

/** In the text of a query, so that the partial indexes of queued and of live runs serve. */
export const queued = literal('queued');
export const liveStatuses = literals('queued', 'running', 'waiting', 'cancelling');
