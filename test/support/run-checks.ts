import { isDeepStrictEqual } from 'node:util';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { parseFrame } from '../../db/streams/frame-text.ts';
import { checkStream } from '../../db/streams/grammar.ts';
import { violationsOf } from '../streams/frame-validator.ts';
import { archivedFrames } from './scenario.ts';
import type { ProcessName, Stack } from './stack.ts';
import { readStream, type ReceivedFrame, type StreamReader } from './stream-client.ts';

export interface RunEnd {
  readonly id: string;
  readonly status: string;
  readonly finish_reason: string | null;
  readonly output: { readonly text: string | null } | null;
  readonly error: { readonly code: string; readonly reason: string | null } | null;
  readonly steps: number;
  readonly last_seq: number;
  readonly usage: { readonly own: Usage; readonly subtree: Usage };
}

interface Usage {
  readonly model_calls: number;
  readonly tokens: Readonly<Record<'input' | 'output' | 'cached_read' | 'cached_write' | 'reasoning', number>>;
}

export interface Checked {
  readonly run: RunEnd;
  readonly frames: readonly ReceivedFrame[];
  /** What is wrong, in words; empty when every promise was kept. */
  readonly faults: readonly string[];
}

export interface CheckOptions {
  /** What subscribers got while the run went on. */
  readonly seen?: readonly (readonly ReceivedFrame[])[];
  readonly process?: ProcessName;
}

/**
 * Holds an ended run against the promises that no fault may break: it has ended once and its last frame is run.finished; frames are 1..n in
 * the grammar of the protocol; every subscriber and every replay got the archive's bytes; view, ledger and rows say the same.
 */
export async function checkRun(stack: Stack, runId: string, { seen = [], process: name = 'api' }: CheckOptions = {}): Promise<Checked> {
  const archive = await archivedFrames(stack, runId);
  const frames = await endOf(watchRun(stack, runId, [name]));
  const middle = Math.max(1, Math.floor(frames.length / 2));
  const rest = await endOf(watchRun(stack, runId, [name], middle));
  const { body: run } = await stack.request('GET', `/runs/${runId}`, { process: name });
  const faults = [
    ...streamFaults(runId, archive),
    ...differences('replay', frames, archive),
    ...differences(`resume after ${middle}`, rest, archive.slice(middle)),
    ...seen.flatMap((received, n) => differences(`subscriber ${n + 1}`, received, archive)),
    ...viewFaults(run, frames.at(-1)),
    ...(await rowFaults(stack, runId, run)),
  ];
  return { run, frames, faults: faults.map((fault) => `${runId}: ${fault}`) };
}

/** `readStream` of a run as the tenant's key. */
export function watchRun(
  stack: Stack,
  runId: string,
  names: readonly ProcessName[] = ['api'],
  afterSeq: number | null = null,
): StreamReader {
  return readStream(
    names.map((name) => stack.url(name)),
    `/runs/${runId}/stream`,
    stack.tenant.serviceKey.plaintext,
    afterSeq === null ? null : String(afterSeq),
  );
}

/** All frames of a run once it has ended; says how far it came when that takes too long. */
export function endOf(reader: StreamReader, maxMs = 240_000): Promise<ReceivedFrame[]> {
  const place = () => `the run did not end: ${reader.frames.length} frames, last ${reader.frames.at(-1)?.text ?? 'none'}`;
  return within(maxMs, place, reader.finished).finally(() => reader.stop());
}

/** Rejects when something takes too long, saying what. */
export async function within<T>(maxMs: number, what: () => string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${maxMs} ms: ${what()}`)), maxMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function streamFaults(runId: string, archive: readonly string[]): string[] {
  const frames = archive.map(parseFrame);
  const ends = frames.filter((frame) => frame.run_id === runId && frame.type === 'run.finished').length;
  return [
    ...checkStream(frames, { runId }).map(({ seq, rule }) => `grammar at ${seq}: ${rule}`),
    ...frames.flatMap((frame) => violationsOf(frame).map((violation) => `schema at ${frame.seq}: ${violation}`)),
    ...(ends === 1 ? [] : [`ended ${ends} times`]),
    ...(frames.at(-1)?.type === 'run.finished' ? [] : ['run.finished is not last']),
  ];
}

function differences(who: string, received: readonly ReceivedFrame[], archive: readonly string[]): string[] {
  const at = archive.findIndex((text, n) => received[n]?.text !== text);
  if (at < 0 && received.length === archive.length) return [];
  const place = at < 0 ? archive.length : at;
  return [
    `${who} got ${received.length} frames of ${archive.length}; first difference at position ${place + 1}: got ${received[place]?.seq}`,
  ];
}

function viewFaults(run: RunEnd, last: ReceivedFrame | undefined): string[] {
  const end = last?.data ?? {};
  const pairs: [string, unknown, unknown][] = [
    ['status', run.status, end['status']],
    ['finish_reason', run.finish_reason, end['finish_reason']],
    ['output', run.output, end['output']],
    ['error', run.error, end['error']],
    ['usage', run.usage, end['usage']],
    ['last_seq', run.last_seq, last?.seq],
    ['last_seq of the frame', end['last_seq'], last?.seq],
  ];
  return pairs.flatMap(([name, left, right]) =>
    isDeepStrictEqual(left, right) ? [] : [`${name}: ${JSON.stringify(left)} is not ${JSON.stringify(right)}`],
  );
}

interface Rows {
  readonly calls: number;
  readonly input: number;
  readonly output: number;
  readonly open_steps: number;
  readonly open_calls: number;
  readonly pending_messages: number;
  readonly holds_conversation: boolean;
  readonly positions: number;
  readonly messages: number;
}

async function rowFaults(stack: Stack, runId: string, run: RunEnd): Promise<string[]> {
  const [found] = await sweep(stack.db, (em) =>
    rows<Rows>(
      em,
      `select (select count(*) from usage_entries u where u.run_id = r.id)::int as calls,
              (select coalesce(sum(input_tokens), 0) from usage_entries u where u.run_id = r.id)::int as input,
              (select coalesce(sum(output_tokens), 0) from usage_entries u where u.run_id = r.id)::int as output,
              (select count(*) from run_steps s where s.run_id = r.id and s.status = 'running')::int as open_steps,
              (select count(*) from tool_calls c where c.run_id = r.id and c.finished_at is null)::int as open_calls,
              (select count(*) from messages m where m.run_id = r.id and m.state = 'pending')::int as pending_messages,
              (select count(*) from messages m where m.run_id = r.id)::int as messages,
              (select count(distinct m.pos) from messages m where m.run_id = r.id)::int as positions,
              exists (select from conversations c where c.active_run_id = r.id) as holds_conversation
         from runs r where r.id = ?`,
      [runId],
    ),
  );
  if (!found) return ['the row is gone'];
  const { model_calls: calls, tokens } = run.usage.own;
  const ledger = { calls: found.calls, input: found.input, output: found.output };
  const view = { calls, input: tokens.input, output: tokens.output };
  return [
    ...(isDeepStrictEqual(ledger, view) ? [] : [`the ledger holds ${JSON.stringify(ledger)}, the view ${JSON.stringify(view)}`]),
    ...(found.open_steps === 0 ? [] : [`${found.open_steps} steps are still open`]),
    ...(found.open_calls === 0 ? [] : [`${found.open_calls} calls have no end`]),
    ...(found.pending_messages === 0 ? [] : [`${found.pending_messages} messages are still pending`]),
    ...(found.positions === found.messages ? [] : ['two messages share a place']),
    ...(found.holds_conversation ? ['it still holds its conversation'] : []),
  ];
}
