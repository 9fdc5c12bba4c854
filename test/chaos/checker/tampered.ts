import { parseFrame } from '../../../db/streams/frame-text.ts';
import type { Effect } from '../../fakes/tool-server.ts';
import type { Slugs } from '../load/kinds.ts';
import type { Evidence } from './evidence.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer Item)[] ? Mutable<Item>[] : T[K] };
/** A copy of the evidence that may be changed. */
export type Draft = Omit<Mutable<Evidence>, 'archives' | 'views' | 'kills'> & {
  readonly archives: Map<string, string[]>;
  readonly views: Map<string, object | null>;
  readonly kills: Map<string, number>;
};

/** One broken promise: what is changed in the evidence, and what the checker must say. */
export interface Tampering {
  readonly name: string;
  readonly says: RegExp;
  /** False when the evidence holds nothing of the kind. */
  readonly apply: (evidence: Draft, slugs: Slugs) => boolean;
}

export const tamperings: readonly Tampering[] = [
  tampering('an acknowledged run is gone', /acknowledged .* and lost/, ({ runs }) => runs.splice(0, 1).length === 1),
  tampering('a start made two runs', /made several runs/, ({ runs, client }) => {
    const run = runs.find((one) => one.parent_run_id === null && client.starts.some((start) => one.input_text?.includes(start.marker)));
    return run !== undefined && runs.push({ ...run, id: crypto.randomUUID() }) > 0;
  }),
  tampering('a run never ended', /never ended/, ({ runs }) => set(runs[0], { status: 'running' })),
  tampering('a run failed without a reason', /of kind .* ended failed/, ({ runs }) => {
    const run = runs.find((one) => one.parent_run_id === null && one.status === 'succeeded');
    return set(run, { status: 'failed', finish_reason: 'error', error: { code: 'internal_error', reason: null } });
  }),
  tampering('a run lost three workers of which none had ended', /of kind .* ended failed/, (evidence) => {
    const run = evidence.runs.find((one) => one.parent_run_id === null && one.status === 'succeeded');
    const step = evidence.steps.find((one) => one.run_id === run?.id);
    const lost = [1, 2, 3].map((attempt) => ({ attempt, cause: 'worker_lost', error_code: null }));
    set(evidence, { workersEnded: 0 });
    return (
      set(step, { retries: lost }) &&
      set(run, { status: 'failed', finish_reason: 'error', error: { code: 'internal_error', reason: 'worker_lost' } })
    );
  }),
  tampering('a conversation is still held', /holds its conversation/, ({ runs }) => set(runs[0], { holds_conversation: true })),
  tampering('a workflow is still open', /left over: openWorkflows/, (evidence) =>
    set(evidence, { leftovers: { ...evidence.leftovers, openWorkflows: 1 } }),
  ),
  tampering('an outbox row was never sent', /left over: unsentOutbox/, (evidence) =>
    set(evidence, { leftovers: { ...evidence.leftovers, unsentOutbox: 1 } }),
  ),
  tampering(
    'a client was told of a fault of ours',
    /a client was told 500/,
    ({ client }) => client.surprises.push('500 by POST /runs') > 0,
  ),

  tampering('a frame is missing in the archive', /number \d+ follows/, (evidence) =>
    changeArchive(evidence, (texts) => texts.splice(1, 1).length === 1),
  ),
  tampering('two frames changed places', /number \d+ follows/, (evidence) =>
    changeArchive(evidence, (texts) => texts.push(...texts.splice(1, 1)) > 0),
  ),
  tampering('a frame came after the end', /nothing follows run.finished|ended 2 times/, (evidence) =>
    changeArchive(evidence, (texts) => texts.push(texts.at(-1) ?? '') > 0),
  ),
  tampering('a stream has no end', /ended 0 times/, (evidence) => changeArchive(evidence, (texts) => texts.splice(-1, 1).length === 1)),
  tampering('a subscriber lost a frame', /1 lost, 0 doubled/, (evidence) =>
    changeSeen(evidence, (texts) => texts.splice(Math.floor(texts.length / 2), 1).length === 1),
  ),
  tampering('a subscriber got a frame twice', /0 lost, 1 doubled/, (evidence) =>
    changeSeen(evidence, (texts) => texts.splice(1, 0, texts[1] ?? '').length === 0),
  ),
  tampering('a subscriber got frames in another order', /differs at position 2/, (evidence) =>
    changeSeen(evidence, (texts) => texts.splice(1, 2, texts[2] ?? '', texts[1] ?? '').length === 2),
  ),
  tampering('a replay differs by a byte', /replay got/, ({ replays }) => {
    const texts = replays.find((seen) => seen.who === 'replay')?.texts;
    return texts !== undefined && texts.push(`${texts.pop()} `) > 0;
  }),
  tampering('a copy on the root is missing', /its root holds/, (evidence) => {
    const child = evidence.runs.find((run) => run.parent_run_id !== null);
    const root = evidence.archives.get(child?.root_run_id ?? '');
    const at = root?.findIndex((text) => parseFrame(text).run_id === child?.id) ?? -1;
    return at >= 0 && root?.splice(at, 1).length === 1;
  }),
  tampering('GET says something else', /status: GET says/, ({ views }) => {
    const [entry] = views;
    if (entry) views.set(entry[0], { ...entry[1], status: 'unheard of' });
    return entry !== undefined;
  }),

  tampering('a write happened twice', /happened 2 times/, ({ effects }, slugs) => again(effects, slugs.write, {})),
  tampering('a keyed write came under two keys', /came under 2 keys/, ({ effects }, slugs) =>
    again(effects, slugs.keyed, { key: 'another' }),
  ),
  tampering('a tool did what nobody asked for', /no call asked for/, ({ effects }, slugs) =>
    again(effects, slugs.write, { body: '{"n":-1}' }),
  ),
  // All of them: not every run has a reader who saw its end.
  tampering(
    'a tool did something after the end',
    /ms after the end/,
    ({ effects }) => effects.push(...effects.map((effect) => ({ ...effect, at: Date.now() + 1e9 }))) > 0,
  ),
  tampering('a denied call happened', /was denied and happened/, (evidence, slugs) =>
    set(doneCall(evidence, slugs.write), { state: 'denied' }),
  ),
  tampering('a call that succeeded did nothing', /succeeded without an effect/, ({ calls, effects }, slugs) => {
    const call = doneCall({ calls }, slugs.write);
    const at = effects.findIndex((effect) => effect.path === `/${slugs.write}` && effect.body === JSON.stringify(call?.args));
    return at >= 0 && effects.splice(at, 1).length === 1;
  }),
  tampering('a call killed a fourth worker', /killed 4 workers/, ({ kills }) => kills.set('{"n":0}', 4).size > 0),

  tampering('the ledger lacks a call', /usage.*the ledger/, ({ ledger }) => ledger.splice(0, 1).length === 1),
  tampering('a call is charged twice', /is charged 2 times/, ({ ledger }) => {
    const entry = ledger.find((one) => one.provider_request_id !== null);
    return entry !== undefined && ledger.push({ ...entry, call_key: 'another' }) > 0;
  }),
  tampering('the ledger says other tokens', /tokens, the ledger says/, ({ ledger }) => {
    const entry = ledger.find((one) => one.provider_request_id !== null);
    return set(entry, { input: (entry?.input ?? 0) + 1 });
  }),
  tampering('the model server knows of no such call', /does not know/, ({ ledger, modelCalls }) => {
    const id = ledger.find((one) => one.provider_request_id !== null)?.provider_request_id;
    return (
      modelCalls.splice(
        modelCalls.findIndex((call) => call.requestId === id),
        1,
      ).length === 1
    );
  }),
  tampering('a whole answer is in no ledger', /whole answers are not in the ledger/, ({ modelCalls }) => {
    const call = modelCalls.find((one) => one.outcome === 'completed');
    return call !== undefined && modelCalls.push(...Array.from({ length: 9 }, (_, n) => ({ ...call, requestId: `req_${n}` }))) > 0;
  }),

  tampering('a cause started two runs', /started 2 runs of/, ({ runs, client }) => {
    const run = causedRun({ runs, client });
    return run !== undefined && runs.push({ ...run, id: crypto.randomUUID() }) > 0;
  }),
  tampering('a cause was forgotten', /was taken and started 0 runs/, ({ runs, client }) => {
    const run = causedRun({ runs, client });
    return run !== undefined && runs.splice(runs.indexOf(run), 1).length === 1;
  }),
  tampering('a sender was told of another run', /which is not of it/, ({ client }) => {
    const cause = client.causes.find(({ runIds }) => runIds.length > 0);
    return cause !== undefined && cause.runIds.push(crypto.randomUUID()) > 0;
  }),
  tampering('an answer never arrived', /never arrived/, ({ answers, answered }) => answers.length > 0 && answered.splice(0).length > 0),
  tampering('an answer came under another id', /which no row has/, ({ answered }) => answered.push(crypto.randomUUID()) > 0),
  tampering('a channel was answered twice', /has 2 answers/, ({ answers }) => {
    const answer = answers.find(({ kind }) => kind === 'callback' || kind === 'reply');
    return answer !== undefined && answers.push({ ...answer, id: crypto.randomUUID() }) > 0;
  }),

  tampering('a window has spent other than the ledger', /the ledger says/, ({ windows }) => set(windows[0], { spent: '0.000000001' })),
  tampering('a window still holds something', /still holds/, ({ windows }) => set(windows[0], { reserved: '0.01' })),
  tampering('a cap was passed', /past its limit/, ({ windows }) => {
    const cap = windows.find((window) => window.budget_id === null);
    return set(cap, { spent: '9', ledger: '9' });
  }),
  tampering('a receiver was notified twice', /has 2 notices/, ({ alerts }) => set(alerts[0]?.notices[0], { times: 2 })),
  tampering('a notice never arrived', /never arrived/, ({ notices, arrived }) => notices.length > 0 && arrived.splice(0).length > 0),
  tampering('a notice came again under another id', /which no row has/, ({ arrived }) => arrived.push(crypto.randomUUID()) > 0),
  tampering('a notice was given up', /is dead/, ({ notices }) => set(notices[0], { status: 'dead' })),
  tampering('nobody was notified of a full budget', /has 0 alerts/, ({ alerts }) => alerts.splice(0).length > 0),

  tampering('a step is open', /step \d+ is still open/, ({ steps }) => set(steps[0], { status: 'running' })),
  tampering('a call is open', /is still executing/, ({ calls }) => set(calls[0], { state: 'executing' })),
  tampering('a call failed for no reason', /is failed/, ({ calls }, slugs) =>
    set(
      calls.find((call) => call.slug === slugs.write),
      { state: 'failed', error: { code: 'invalid_arguments' } },
    ),
  ),
  tampering('a message is pending', /is still pending/, ({ messages }) => set(messages[0], { state: 'pending' })),
  tampering('two messages share a place', /share a place/, ({ messages }) =>
    set(messages[1], { run_id: messages[0]?.run_id, pos: messages[0]?.pos }),
  ),
  tampering('a call has no result in the history', /without a result/, ({ messages }) => {
    const at = messages.findIndex((message) => message.role === 'tool' && message.state === 'committed');
    return at >= 0 && messages.splice(at, 1).length === 1;
  }),
  tampering('an approval is open', /approval .* is still pending/, ({ approvals }) => set(approvals[0], { status: 'pending' })),
  tampering('an answer was forgotten', /answered .*, approval/, ({ client, approvals }) => {
    const [answer] = client.answers;
    return set(
      approvals.find((approval) => approval.id === answer?.approvalId),
      { status: 'expired' },
    );
  }),
  tampering('an added input was never read', /read 0 times/, ({ client, messages }) => {
    const [input] = client.inputs;
    const at = messages.findIndex((message) => input !== undefined && message.text.includes(input.marker));
    return at >= 0 && messages.splice(at, 1).length === 1;
  }),
  tampering('an added input was read twice', /read 2 times/, ({ client, messages }) => {
    const [input] = client.inputs;
    const message = messages.find((one) => input !== undefined && one.text.includes(input.marker));
    return message !== undefined && messages.push({ ...message, pos: 99 }) > 0;
  }),
];

function tampering(name: string, says: RegExp, apply: Tampering['apply']): Tampering {
  return { name, says, apply };
}

/** A copy that shares nothing with the original. Not by `structuredClone`: its objects are another realm's under Jest, and so equal to nothing. */
export function draftOf(evidence: Evidence): Draft {
  return copyOf(evidence) as Draft; // the same values, free to be changed
}

function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  if (value instanceof Map) return new Map([...value].map(([key, inner]) => [key, copyOf(inner)] as const));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copyOf(inner)]));
}

/** A run of something that is one of its trigger's. */
function causedRun({ runs, client }: Pick<Draft, 'runs' | 'client'>) {
  const markers = client.causes.filter(({ isTaken, kind }) => isTaken && kind.startsWith('hook')).map(({ marker }) => marker);
  return runs.find((run) => markers.some((marker) => run.input_text?.includes(marker)));
}

function doneCall({ calls }: Pick<Draft, 'calls'>, slug: string) {
  return calls.find((call) => call.slug === slug && call.state === 'succeeded');
}

function set<T extends object>(row: T | undefined, values: Partial<Record<keyof T, unknown>>): boolean {
  if (row) Object.assign(row, values);
  return row !== undefined;
}

function changeArchive({ archives, runs }: Draft, change: (texts: string[]) => boolean): boolean {
  const run = runs.find((one) => one.status === 'succeeded' && (archives.get(one.id)?.length ?? 0) > 5);
  const texts = archives.get(run?.id ?? '');
  return texts !== undefined && change(texts);
}

function changeSeen({ client }: Draft, change: (texts: string[]) => boolean): boolean {
  const seen = client.seen.find((one) => one.isDone && one.texts.length > 5);
  return seen !== undefined && change(seen.texts);
}

function again(effects: Effect[], slug: string, changed: Partial<Effect>): boolean {
  const effect = effects.find((one) => one.path === `/${slug}`);
  return effect !== undefined && effects.push({ ...effect, ...changed }) > 0;
}
