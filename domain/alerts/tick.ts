import { emitAlert } from '../../db/alerts/emit.ts';
import { measure, type Measured } from '../../db/alerts/samples.ts';
import {
  claimRules,
  dropStates,
  rulesToJudge,
  touchAlerts,
  writeStates,
  type NextState,
  type TickRule,
  type TickState,
} from '../../db/alerts/tick.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { groupsOf, alertScopeOf, readingOf, sampleOf, type Group } from './judge.ts';
import { newGroup, reduce, type Emission, type GroupState } from './reducer.ts';

/** The rules of an organization and their measurements at a tick. */
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

/** Measures the rules of an organization that this tick has to judge: one statement per kind. Only reads. */
export async function readTick(tx: Pick<TenantTransaction, 'em'>, tick: Tick): Promise<TickReadings> {
  const { organizationId, at } = tick;
  const rules = await rulesToJudge(tx, organizationId, at);
  const measured: Measured[] = [];
  for (const kind of new Set(rules.map((rule) => rule.kind)))
    if (kind !== 'budget') measured.push(...(await measure(tx.em, { ...tick, kind, rules: rules.filter((rule) => rule.kind === kind) })));
  return { at, rules, measured };
}

/** The approximate number of groups judged in one transaction: when all of them fire at once, that takes some seconds. */
const groupsATransaction = 1_000;

/** Splits the readings of a tick into parts of one transaction each: an interrupted tick has judged some rules, and the next try continues after them. */
export function partsOf({ at, rules, measured }: TickReadings): TickReadings[] {
  const byRule = Map.groupBy(measured, ({ ruleId }) => ruleId);
  const parts: { at: Date; rules: TickRule[]; measured: Measured[] }[] = [];
  let groups = 0;
  for (const rule of rules) {
    const own = byRule.get(rule.id) ?? [];
    const size = Math.max(1, own.length, rule.states.length);
    if (parts.length === 0 || groups + size > groupsATransaction) {
      parts.push({ at, rules: [], measured: [] });
      groups = 0;
    }
    groups += size;
    parts.at(-1)?.rules.push(rule);
    parts.at(-1)?.measured.push(...own);
  }
  return parts;
}

/**
 * Judges a part of a tick's readings, in one transaction: states, alerts, transitions, deliveries and the starts of their workflows. Leaves a rule to the next
 * tick if it was changed since it was read, another tick has judged it, or a person has resolved one of its alerts meanwhile. Returns how many rules it judged.
 */
export async function judgeTick(tx: TenantTransaction, { at, rules, measured }: TickReadings, currency: string): Promise<number> {
  const judged = judge({ at, rules, measured });
  const isSilent = ({ emits, isObsolete }: JudgedGroup) => emits.length === 0 && !isObsolete;
  const claimed = await claimRules(tx, { rules, states: judged.filter(isSilent).map(({ next }) => next), at });
  const own = judged.filter(({ rule }) => claimed.has(rule.id));

  const emitted: NextState[] = [];
  for (const group of own) {
    let { alertId } = group.next;
    for (const emission of group.emits) alertId = await emit({ tx, at, currency }, group, { emission, alertId });
    if (group.emits.length > 0 && !group.isObsolete) emitted.push({ ...group.next, alertId });
  }
  await writeStates(tx, emitted, at);
  await dropStates(
    tx,
    own.filter(({ isObsolete }) => isObsolete).map(({ next }) => next),
  );
  const seen = own.flatMap(({ next, emits, value }) => (next.alertId !== null && emits.length === 0 ? [{ id: next.alertId, value }] : []));
  await touchAlerts(tx, seen, at);
  return claimed.size;
}

/** A group with the step that its sample yields. */
interface JudgedGroup extends Group {
  readonly rule: TickRule;
  /** With the alert that was open before. */
  readonly next: NextState;
  readonly emits: readonly Emission[];
  /** The group's state can be dropped. */
  readonly isObsolete: boolean;
}

function judge({ at, rules, measured }: TickReadings): JudgedGroup[] {
  const byRule = Map.groupBy(measured, ({ ruleId }) => ruleId);
  return rules.flatMap((rule) => {
    const known = new Map(rule.states.map((state) => [state.fingerprint, state]));
    const groups = groupsOf(rule, byRule.get(rule.id) ?? [], known.keys());
    return groups.map((group) => judgeGroup(rule, group, { before: known.get(group.fingerprint) ?? null, at }));
  });
}

function judgeGroup(rule: TickRule, group: Group, { before, at }: { readonly before: TickState | null; readonly at: Date }): JudgedGroup {
  const { next, emits } = reduce(toGroupState(before, at), sampleOf(rule, group.value), {
    now: at,
    times: rule,
    isMuted: before?.isMuted ?? false,
  });
  const { workspaceId } = alertScopeOf(rule, group.fingerprint);
  const { id: ruleId, organizationId } = rule;
  return {
    ...group,
    rule,
    next: { ruleId, fingerprint: group.fingerprint, organizationId, workspaceId, ...next, alertId: before?.alertId ?? null },
    emits,
    isObsolete: !group.isMeasured && next.state === 'ok' && next.noneSince === null,
  };
}

interface Emitting {
  readonly tx: TenantTransaction;
  readonly at: Date;
  readonly currency: string;
}

/** Carries out an emission; returns the id of the alert that is open afterwards. */
async function emit(
  { tx, at, currency }: Emitting,
  { rule, fingerprint, value }: JudgedGroup,
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
      { event, status: emission.status, fingerprint, windowKey: at.toISOString(), ...alertScopeOf(rule, fingerprint), ...reading },
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
