import type { NoDataMode } from '../../db/alerts/alert-rule.entity.ts';
import type { AlertSeverity, RuleState } from '../../db/alerts/alert-state.entity.ts';

/** The result of a tick for one group of a rule: no value, a value that is fine, or one that breaches a threshold. */
export type Sample = { readonly kind: 'none' } | { readonly kind: 'fine' } | { readonly kind: 'breach'; readonly level: AlertSeverity };

/** The state of a group between two ticks. */
export interface GroupState {
  readonly state: RuleState;
  /** Level of the open alert; it never falls. */
  readonly level: AlertSeverity | null;
  /** When the state began; for `pending`, when the breach began. */
  readonly since: Date;
  /** Since when the group of an open alert has been fine. */
  readonly fineSince: Date | null;
  /** Since when the group has had no value. */
  readonly noneSince: Date | null;
  readonly lastEmitAt: Date | null;
  /** No new alert opens before this time, after a person has resolved the last one. */
  readonly quietUntil: Date | null;
}

/** The times of a rule, in seconds, and how it treats a missing value. */
export interface RuleTimes {
  readonly forS: number;
  readonly keepFiringS: number;
  readonly repeatIntervalS: number;
  readonly noDataMode: NoDataMode;
}

export type Emission =
  | { readonly event: 'firing'; readonly status: 'firing' | 'no_data'; readonly level: AlertSeverity }
  | { readonly event: 'escalated' | 'repeated'; readonly level: AlertSeverity }
  | { readonly event: 'resolved' };

/** The effect of a sample on a group: its next state and the emissions, in order. */
export interface Step {
  readonly next: GroupState;
  readonly emits: readonly Emission[];
}

/** The time of a tick, the times of its rule, and whether the open alert has been acknowledged or snoozed. */
export interface TickFacts {
  readonly now: Date;
  readonly times: RuleTimes;
  readonly isMuted: boolean;
}

/** A group that has not been measured yet: its first fine value emits nothing. */
export function newGroup(now: Date): GroupState {
  return { state: 'unknown', level: null, since: now, fineSince: null, noneSince: null, lastEmitAt: null, quietUntil: null };
}

/**
 * Judges one sample of one group. Pure: the same state, sample and facts yield the same step. An alert fires once until it is resolved; while a value is fine
 * nothing is emitted but the end of an open alert.
 */
export function reduce(group: GroupState, sample: Sample, facts: TickFacts): Step {
  if (sample.kind === 'none') return missing(group, facts);
  const known = { ...group, noneSince: null };
  if (known.state === 'no_data') return after(resolve(known, facts), (calm) => reduce(calm, sample, facts));
  return sample.kind === 'fine' ? fine(known, facts) : breached(known, sample.level, facts);
}

function missing(group: GroupState, facts: TickFacts): Step {
  const { now, times } = facts;
  if (times.noDataMode === 'ok') return group.state === 'no_data' ? resolve(group, facts) : fine(group, facts);
  if (times.noDataMode === 'keep' || group.state === 'no_data') return silent(group);

  const noneSince = group.noneSince ?? now;
  const waiting = { ...group, noneSince };
  if (secondsBetween(noneSince, now) < times.forS || isQuiet(group, now)) return silent(waiting);
  const open = (calm: GroupState) => fire(calm, { status: 'no_data', level: 'critical' }, facts);
  return group.state === 'firing' ? after(resolve(waiting, facts), open) : open(waiting);
}

function fine(group: GroupState, facts: TickFacts): Step {
  const { now, times } = facts;
  if (group.state !== 'firing') return silent(enter(group, 'ok', now));
  const fineSince = group.fineSince ?? now;
  if (secondsBetween(fineSince, now) < times.keepFiringS) return silent({ ...group, fineSince });
  return resolve(group, facts);
}

function breached(group: GroupState, level: AlertSeverity, facts: TickFacts): Step {
  if (group.state === 'firing') return goOn({ ...group, fineSince: null }, level, facts);

  const { now, times } = facts;
  const pending = group.state === 'pending' ? group : { ...enter(group, 'pending', now), quietUntil: group.quietUntil };
  const isDue = secondsBetween(pending.since, now) >= times.forS && !isQuiet(pending, now);
  return isDue ? fire(pending, { status: 'firing', level }, facts) : silent(pending);
}

/** Continues an open alert: it escalates, is repeated, or neither. */
function goOn(group: GroupState, level: AlertSeverity, { now, times, isMuted }: TickFacts): Step {
  if (level === 'critical' && group.level === 'warning')
    return { next: { ...group, level, lastEmitAt: now }, emits: [{ event: 'escalated', level }] };
  const isDue = group.lastEmitAt === null || secondsBetween(group.lastEmitAt, now) >= times.repeatIntervalS;
  if (isMuted || !isDue) return silent(group);
  return { next: { ...group, lastEmitAt: now }, emits: [{ event: 'repeated', level: group.level ?? level }] };
}

function fire(
  group: GroupState,
  { status, level }: { readonly status: 'firing' | 'no_data'; readonly level: AlertSeverity },
  { now }: TickFacts,
): Step {
  const next = { ...group, state: status, level, since: now, fineSince: null, lastEmitAt: now, quietUntil: null };
  return { next, emits: [{ event: 'firing', status, level }] };
}

function resolve(group: GroupState, { now }: TickFacts): Step {
  return { next: { ...enter(group, 'ok', now), lastEmitAt: now }, emits: [{ event: 'resolved' }] };
}

/** Enters a state without an open alert; a group that is already in the state keeps its beginning. */
function enter(group: GroupState, state: 'ok' | 'pending', now: Date): GroupState {
  const since = group.state === state ? group.since : now;
  return { ...group, state, since, level: null, fineSince: null, quietUntil: null };
}

function isQuiet({ quietUntil }: GroupState, now: Date): boolean {
  return quietUntil !== null && now < quietUntil;
}

function silent(next: GroupState): Step {
  return { next, emits: [] };
}

function after(first: Step, then: (group: GroupState) => Step): Step {
  const second = then(first.next);
  return { next: second.next, emits: [...first.emits, ...second.emits] };
}

function secondsBetween(from: Date, to: Date): number {
  return (to.getTime() - from.getTime()) / 1_000;
}
