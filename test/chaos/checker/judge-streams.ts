import { isDeepStrictEqual } from 'node:util';
import { isAdvisory, parseFrame } from '../../../db/streams/frame-text.ts';
import type { Frame } from '../../../db/streams/frame.schema.ts';
import { checkStream } from '../../../db/streams/grammar.ts';
import { violationsOf } from '../../streams/frame-validator.ts';
import { ownFrames, type Evidence, type Fault, type RunViewFact } from './evidence.ts';
import type { Seen } from './record.ts';

/** Frames that subscribers got, and what was wrong with them. */
export interface FrameCount {
  delivered: number;
  lost: number;
  doubled: number;
}

/** Every stream is 1..n in the grammar of the protocol, ends once and last, and says what GET says. */
export function judgeStreams({ runs, archives, views, ledger }: Evidence): Fault[] {
  const rootOf = new Map(runs.map((run) => [run.id, run.root_run_id]));
  // The last frame can't tell what came to the bill after it; that GET tells it is judged by the ledger.
  const billedLate = new Set(ledger.filter((entry) => entry.is_late).map((entry) => rootOf.get(entry.run_id)));
  return runs.flatMap((run) => {
    const frames = (archives.get(run.id) ?? []).map(parseFrame);
    const ends = ownFrames(run.id, frames).filter((frame) => frame.type === 'run.finished');
    const faults = [
      ...checkStream(frames, { runId: run.id }).map(
        ({ seq, runId, rule }) => `grammar at ${seq}${runId === run.id ? '' : ` of ${runId}`}: ${rule}`,
      ),
      ...frames.flatMap((frame) => violationsOf(frame).map((violation) => `schema at ${frame.seq}: ${violation}`)),
      ...(ends.length === 1 ? [] : [`ended ${ends.length} times`]),
      ...viewFaults(views.get(run.id), frames.at(-1), billedLate.has(run.root_run_id)),
    ];
    return faults.map((fault) => `${run.id}: ${fault}`);
  });
}

/** All subscribers and all replays got the archive's bytes, each frame once, in order. */
export function judgeReaders({ client, replays, archives }: Evidence, count: FrameCount): Fault[] {
  return [...client.seen, ...replays].flatMap((seen) => {
    const expected = (archives.get(seen.runId) ?? []).slice(seen.afterSeq);
    const got = Map.groupBy(seen.texts, (text) => text);
    count.delivered += seen.texts.length;
    const lost = expected.filter((text) => !got.has(text)).length;
    const doubled = seen.texts.length - got.size;
    count.lost += lost;
    count.doubled += doubled;
    return isDeepStrictEqual(seen.texts, expected) ? [] : [readerFault(seen, expected, { lost, doubled })];
  });
}

/** A root's stream holds all but the advisory frames of its descendants, in their order, with the same bytes behind the numbers. */
export function judgeCopies({ runs, archives }: Evidence): Fault[] {
  return runs.flatMap((run) => {
    if (run.parent_run_id === null) return [];
    const root = (archives.get(run.root_run_id) ?? []).map((text) => ({ text, frame: parseFrame(text) }));
    const copied = root.filter(({ frame }) => frame.run_id === run.id);
    const own = (archives.get(run.id) ?? [])
      .map((text) => ({ text, frame: parseFrame(text) }))
      .filter(({ frame }) => frame.run_id === run.id && !isAdvisory(frame));
    const expected = own.map(({ text, frame }) => [frame.seq, restOf(text)]);
    const found = copied.map(({ text, frame }) => [frame.origin_seq, restOf(text)]);
    return isDeepStrictEqual(found, expected)
      ? []
      : [`${run.id}: its root holds ${found.length} copies of ${expected.length} frames, or others`];
  });
}

function readerFault(seen: Seen, expected: readonly string[], { lost, doubled }: { lost: number; doubled: number }): Fault {
  const at = expected.findIndex((text, n) => seen.texts[n] !== text);
  const place = at < 0 ? expected.length : at;
  const told = `${seen.texts.length} of ${expected.length} frames over ${seen.connections} connections, ${lost} lost, ${doubled} doubled`;
  return `${seen.runId}: ${seen.who} got ${told}; differs at position ${place + 1}: ${seen.texts[place]?.slice(0, 160) ?? 'nothing'}`;
}

function viewFaults(view: RunViewFact | null | undefined, last: Frame | undefined, isBilledLate: boolean): Fault[] {
  if (last?.type !== 'run.finished') return ['run.finished is not last'];
  if (view === null) return ['GET does not know it'];
  if (view === undefined) return [];
  const { data } = last;
  const pairs: [string, unknown, unknown][] = [
    ['status', view.status, data.status],
    ['finish_reason', view.finish_reason, data.finish_reason],
    ['output', view.output, data.output],
    ['error', view.error, data.error],
    ...(isBilledLate ? [] : [['usage', view.usage, data.usage] as [string, unknown, unknown]]),
    ['last_seq', view.last_seq, last.seq],
  ];
  return pairs.flatMap(([name, left, right]) =>
    isDeepStrictEqual(left, right) ? [] : [`${name}: GET says ${JSON.stringify(left)}, the stream ${JSON.stringify(right)}`],
  );
}

/** What follows the numbers in a frame's text. */
function restOf(text: string): string {
  return text.slice(text.indexOf('"type":"'));
}
