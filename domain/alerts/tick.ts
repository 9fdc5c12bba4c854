import { emitAlert } from '../../db/alerts/emit.ts';
import { measure, type Measured } from '../../db/alerts/samples.ts';
import {
  dropStates,
  lockRules,
  lockStates,
  markJudged,
  rulesToJudge,
  touchAlerts,
  writeStates,
  type NextState,
  type TickRule,
  type TickState,
} from '../../db/alerts/tick.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { groupsOf, placeOf, readingOf, sampleOf, type Group } from './judge.ts';
import { newGroup, reduce, type Emission, type GroupState } from './reducer.ts';

/** What the rules of an organization were found to measure at a tick. */
export interface TickReadings {
  readonly at: Date;
  readonly rules: readonly TickRule[];
  readonly measured: readonly Measured[];
}

/** One organization at a tick; money is measured in `currency`. */
export interface Tick {
  readonly organizationId: string;
  readonly at: Date;
  readonly currency: string;
}

/** Measures the rules of an organization that this tick has to judge: one statement a kind. For work that only reads. */
export async function readTick(tx: Pick<TenantTransaction, 'em'>, tick: Tick): Promise<TickReadings> {
  const { organizationId, at } = tick;
  const rules = await rulesToJudge(tx, organizationId, at);
  const measured: Measured[] = [];
  for (const kind of new Set(rules.map((rule) => rule.kind)))
    if (kind !== 'budget') measured.push(...(await measure(tx.em, { ...tick, kind, rules: rules.filter((rule) => rule.kind === kind) })));
  return { at, rules, measured };
}

/** About so many groups are judged in a transaction: when all of them fire at once, that takes some seconds. */
const groupsATransaction = 1_000;

/** What a tick has read, in parts that each are one transaction: a tick that is cut off has judged some rules, and the next try goes on behind them. */
export function partsOf({ at, rules, measured }: TickReadings): TickReadings[] {
  const byRule = Map.groupBy(measured, ({ ruleId }) => ruleId);
  const parts: { at: Date; rules: TickRule[]; measured: Measured[] }[] = [];
  let groups = 0;
  for (const rule of rules) {
    const own = byRule.get(rule.id) ?? [];
    if (parts.length === 0 || groups + own.length > groupsATransaction) {
      parts.push({ at, rules: [], measured: [] });
      groups = 0;
    }
    groups += Math.max(1, own.length);
    parts.at(-1)?.rules.push(rule);
    parts.at(-1)?.measured.push(...own);
  }
  return parts;
}

/**
 * Judges a part of what a tick has read, in one transaction: states, alerts, transitions, deliveries and the starts of their workflows. A rule that was changed since it
 * was read, or that a newer tick has judged, is left alone. Gives how many rules it judged.
 */
export async function judgeTick(tx: TenantTransaction, { at, rules, measured }: TickReadings, currency: string): Promise<number> {
  const locked = await lockRules(tx, rules, at);
  if (locked.size === 0) return 0;
  const states = await lockStates(tx, locked, at);
  const outcome: TickOutcome = { next: [], gone: [], seen: [] };
  for (const rule of rules) {
    if (!locked.has(rule.id)) continue;
    const own = new Map(states.filter(({ ruleId }) => ruleId === rule.id).map((state) => [state.fingerprint, state]));
    const groups = groupsOf(
      rule,
      measured.filter(({ ruleId }) => ruleId === rule.id),
      own.keys(),
    );
    for (const group of groups) {
      const before = own.get(group.fingerprint) ?? null;
      if (before === null || new Date(before.lastTick) < at) await judgeGroup({ tx, rule, at, currency, outcome }, group, before);
    }
  }

  await writeStates(tx, outcome.next, at);
  await dropStates(tx, outcome.gone);
  await touchAlerts(tx, outcome.seen, at);
  await markJudged(tx, locked, at);
  return locked.size;
}

interface TickOutcome {
  readonly next: NextState[];
  readonly gone: NextState[];
  readonly seen: { id: string; value: string | null }[];
}

interface Judging {
  readonly tx: TenantTransaction;
  readonly rule: TickRule;
  readonly at: Date;
  readonly currency: string;
  readonly outcome: TickOutcome;
}

async function judgeGroup(judging: Judging, group: Group, before: TickState | null): Promise<void> {
  const { rule, at, outcome } = judging;
  const { next, emits } = reduce(toGroupState(before, at), sampleOf(rule, group.value), {
    now: at,
    times: rule,
    isMuted: before?.isMuted ?? false,
  });
  let alertId = before?.alertId ?? null;
  for (const emission of emits) alertId = await emit(judging, group, { emission, alertId });

  const { workspaceId } = placeOf(rule, group.fingerprint);
  const state = { ruleId: rule.id, fingerprint: group.fingerprint, organizationId: rule.organizationId, workspaceId, ...next, alertId };
  const isGone = !group.isMeasured && next.state === 'ok' && next.noneSince === null;
  if (isGone) outcome.gone.push(state);
  else outcome.next.push(state);
  if (alertId !== null && emits.length === 0) outcome.seen.push({ id: alertId, value: group.value });
}

/** Does what the reducer says; gives the id of the alert that is open then. */
async function emit(
  { tx, rule, at, currency }: Judging,
  { fingerprint, value }: Group,
  { emission, alertId }: { readonly emission: Emission; readonly alertId: string | null },
): Promise<string | null> {
  if (emission.event === 'resolved') {
    if (alertId !== null) await emitAlert(tx, rule, { event: 'resolved', alertId, resolution: 'recovered', value }, at);
    return null;
  }
  const { event, level } = emission;
  const reading = { severity: level, value, ...readingOf(rule, { value, level, currency }) };
  if (event === 'firing')
    return emitAlert(
      tx,
      rule,
      { event, status: emission.status, fingerprint, windowKey: at.toISOString(), ...placeOf(rule, fingerprint), ...reading },
      at,
    );
  if (alertId !== null) await emitAlert(tx, rule, { event, alertId, ...reading }, at);
  return alertId;
}

function toGroupState(state: TickState | null, at: Date): GroupState {
  if (state === null) return newGroup(at);
  const time = (value: string | null) => (value === null ? null : new Date(value));
  return {
    state: state.state,
    level: state.level,
    since: new Date(state.since),
    fineSince: time(state.fineSince),
    noneSince: time(state.noneSince),
    lastEmitAt: time(state.lastEmitAt),
    quietUntil: time(state.quietUntil),
  };
}
