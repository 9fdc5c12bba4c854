import type { CallFact, Evidence, Fault, ModelCallFact, RunFact } from './evidence.ts';
import { markersIn } from './record.ts';

/** What tools did: a write at most once, a keyed one under one key, nothing that people did not allow, nothing after the end. */
export function judgeEffects({ effects, calls, approvals, client, kills }: Evidence): Fault[] {
  const bySlug = new Map(calls.map((call) => [`/${call.slug} ${numberIn(call.args)}`, call]));
  const faults: Fault[] = [];
  for (const [place, done] of Map.groupBy(effects, (effect) => `${effect.path} ${numberIn(JSON.parse(effect.body))}`)) {
    const call = bySlug.get(place) ?? editedCall(place, calls, approvals);
    if (!call) faults.push(`${place}: ${done.length} effects that no call asked for`);
    else faults.push(...effectFaults(place, call, { done, allowed: 1 + confirmationsOf(call, approvals) }));
  }
  for (const call of calls) {
    const isDone = effects.some(
      (effect) => effect.path === `/${call.slug}` && sameNumber(call, numberIn(JSON.parse(effect.body)), approvals),
    );
    if (call.state === 'succeeded' && isHttp(call) && !isDone) faults.push(`${call.run_id}: call ${call.id} succeeded without an effect`);
  }
  for (const [body, count] of kills) if (count > 3) faults.push(`the call ${body} killed ${count} workers`);
  return [...faults, ...lateEffects({ effects, calls, client, approvals })];
}

/** How often people, told that it may have happened, had a call executed again. */
function confirmationsOf(call: CallFact, approvals: Evidence['approvals']): number {
  return approvals.filter(
    ({ tool_call_id: id, reason, status }) => id === call.id && reason === 'confirmation' && ['approved', 'edited'].includes(status),
  ).length;
}

function effectFaults(place: string, call: CallFact, { done, allowed }: { done: Evidence['effects']; allowed: number }): Fault[] {
  const isOnce = call.effect === 'write' && !call.is_idempotent;
  const keys = new Set(done.map((effect) => effect.key));
  return [
    ...(isOnce && done.length > allowed ? [`${call.run_id}: the write ${place} happened ${done.length} times`] : []),
    ...(call.is_idempotent && keys.size > 1 ? [`${call.run_id}: ${place} came under ${keys.size} keys`] : []),
    ...(call.state === 'denied' ? [`${call.run_id}: ${place} was denied and happened`] : []),
    ...(call.client_owned ? [`${call.run_id}: ${place} belongs to the client and happened`] : []),
  ];
}

/** Nothing is done for a run whose end a client has seen already. */
function lateEffects({ effects, calls, client, approvals }: Pick<Evidence, 'effects' | 'calls' | 'client' | 'approvals'>): Fault[] {
  const graceMs = 500;
  const endedAt = new Map<string, number>();
  for (const seen of client.seen) {
    const at = seen.isDone ? seen.times.at(-1) : undefined;
    if (at !== undefined) endedAt.set(seen.runId, Math.min(at, endedAt.get(seen.runId) ?? Infinity));
  }
  return effects.flatMap((effect) => {
    const n = numberIn(JSON.parse(effect.body));
    const call = calls.find((one) => `/${one.slug}` === effect.path && sameNumber(one, n, approvals));
    const end = call ? endedAt.get(call.run_id) : undefined;
    return end !== undefined && effect.at > end + graceMs
      ? [`${call?.run_id}: ${effect.path} happened ${effect.at - end} ms after the end`]
      : [];
  });
}

/** Completed calls that the ledger does not name: their try was lost, or their run ended otherwise. */
export interface ModelCount {
  /** Requests that the model server answered whole. */
  completed: number;
  /** Ledger rows. */
  settled: number;
  /** Whole answers whose worker was lost before it could store them. */
  unsettled: number;
}

/** The ledger equals what the model server counted itself, call by call; what it does not hold is explained by a lost try. */
export function judgeUsage(evidence: Evidence, count: ModelCount): Fault[] {
  const { ledger, modelCalls } = evidence;
  const byId = new Map(modelCalls.map((call) => [call.requestId, call]));
  const faults: Fault[] = [];
  for (const [id, entries] of Map.groupBy(ledger, (entry) => entry.provider_request_id)) {
    if (id === null) continue;
    if (entries.length > 1) faults.push(`${entries[0]?.run_id}: the model call ${id} is charged ${entries.length} times`);
    const call = byId.get(id);
    if (!call) faults.push(`${entries[0]?.run_id}: the ledger names ${id}, which the model server does not know`);
    else faults.push(...entries.flatMap((entry) => entryFaults(entry, call)));
  }
  count.completed += modelCalls.filter((call) => call.outcome === 'completed').length;
  count.settled += ledger.length;
  return [...faults, ...unsettledFaults(evidence, count)];
}

function entryFaults(entry: Evidence['ledger'][number], call: ModelCallFact): Fault[] {
  if (call.outcome !== 'completed') return [`${entry.run_id}: ${call.requestId} is charged whole and was ${call.outcome}`];
  const isEqual = entry.input === call.promptTokens && entry.output === call.completionTokens && !entry.estimated;
  if (isEqual) return [];
  return [
    `${entry.run_id}: ${call.requestId} took ${call.promptTokens}/${call.completionTokens} tokens, the ledger says ${entry.input}/${entry.output}`,
  ];
}

function unsettledFaults(evidence: Evidence, count: ModelCount): Fault[] {
  const { ledger, modelCalls, steps } = evidence;
  const settled = new Set(ledger.map((entry) => entry.provider_request_id));
  const runsOf = runsByMarker(evidence);
  const open = modelCalls.filter((call) => call.outcome === 'completed' && !settled.has(call.requestId));
  count.unsettled += open.length;
  return [...Map.groupBy(open, (call) => call.markers.at(-1))].flatMap(([marker, missing]) => {
    const of = runsOf(marker);
    if (of.length === 0) return [`${missing.length} model calls belong to no run: ${marker}`];
    const ids = new Set(of.map(({ id }) => id));
    const tries = steps.filter((step) => ids.has(step.run_id) && step.kind === 'model').reduce((sum, step) => sum + step.retries.length, 0);
    const allowed = tries + of.filter(({ status }) => status !== 'succeeded').length;
    if (missing.length <= allowed) return [];
    const known = {
      missing: missing.map(({ requestId, promptTokens, completionTokens }) => `${requestId} ${promptTokens}/${completionTokens}`),
      ledger: ledger.filter((entry) => ids.has(entry.run_id)),
      steps: steps.filter((step) => ids.has(step.run_id)),
    };
    return [
      `${[...ids].join()}: ${missing.length} whole answers are not in the ledger, ${allowed} tries were lost, ${JSON.stringify(known)}`,
    ];
  });
}

/** Whose prompt a marker is in: the run of the message that holds it, or all that one event has started. */
function runsByMarker({ messages, runs }: Evidence): (marker: string | undefined) => readonly RunFact[] {
  const byId = new Map(runs.map((run) => [run.id, run]));
  const asked = new Map<string, Set<string>>();
  for (const message of messages)
    if (message.role === 'user')
      for (const marker of markersIn(message.text)) asked.set(marker, (asked.get(marker) ?? new Set()).add(message.run_id));
  return (marker) => (marker === undefined ? [] : [...(asked.get(marker) ?? [])].flatMap((id) => byId.get(id) ?? []));
}

function editedCall(place: string, calls: readonly CallFact[], approvals: Evidence['approvals']): CallFact | undefined {
  return calls.find((call) => place.startsWith(`/${call.slug} `) && sameNumber(call, Number(place.split(' ').at(-1)), approvals));
}

/** Calls are told apart by their argument `n`; an edit replaces it. */
function sameNumber(call: CallFact, n: number | null, approvals: Evidence['approvals']): boolean {
  const edits = approvals.filter((approval) => approval.tool_call_id === call.id && approval.edited_args !== null);
  return [call.args, ...edits.map((edit) => edit.edited_args)].some((args) => numberIn(args) === n);
}

function isHttp(call: CallFact): boolean {
  return numberIn(call.args) !== null && !call.client_owned && call.child_run_id === null;
}

function numberIn(args: unknown): number | null {
  const n: unknown = typeof args === 'object' && args !== null && 'n' in args ? args.n : null;
  return n === null ? null : Number(n);
}
