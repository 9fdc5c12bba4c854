import { expect, test } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import { frameText, numbered, ownTypeOf, parseFrame, seqOf, typeOf, numberedCopy, type RunIdentity } from '../../db/streams/frame-text.ts';
import type { Frame, FrameDraft } from '../../db/streams/frame.schema.ts';
import { checkStream } from '../../db/streams/grammar.ts';
import { call, completed, finished, note, queued, result, started, status } from './frame-samples.ts';

const id = newId();
const run: RunIdentity = { runId: id, rootRunId: id, parentRunId: null, organizationId: newId(), workspaceId: newId(), path: ['agent'] };
const [message, callId] = [newId(), newId()];

test('a whole run with a call passes', () => {
  const frames = [
    queued(),
    started(),
    delta('ab', 0),
    delta('c', 2),
    completed(message, 'abc'),
    ready(),
    call(callId, message, { phase: 'executing' }),
    result(callId),
    finished(9),
  ];

  expect(rulesOf(frames)).toEqual([]);
});

test.each<[string, FrameDraft[]]>([
  ['the first frame is run.status queued', [started(), finished(2)]],
  ['run.started is the change from queued to running, once', [queued(), started(), started(), finished(4)]],
  ['error before run.started', [queued(), note('early'), finished(3, cancelledEnd())]],
  ['offset 3 instead of 2', [queued(), started(), delta('ab', 0), delta('c', 3), completed(message, 'abc'), finished(6)]],
  ['delta of a message that is completed', [queued(), started(), completed(message, 'a'), delta('b', 0), finished(5)]],
  ['delta of a message that is discarded', [queued(), started(), delta('a', 0), discarded(), delta('b', 0), finished(6)]],
  ['only an open message is discarded', [queued(), started(), completed(message, 'a'), discarded(), finished(5)]],
  ['a message was left open', [queued(), started(), delta('a', 0), finished(4)]],
  ['call.ready follows message.completed of its message', [queued(), started(), ready(), result(callId), finished(5)]],
  [
    'a result follows call.ready, once',
    [queued(), started(), completed(message, 'a'), ready(), result(callId), result(callId), finished(7)],
  ],
  ['a call was left without result', [queued(), started(), completed(message, 'a'), ready(), finished(5)]],
  [
    'no change from cancelling to running',
    [queued(), started(), status({ status: 'cancelling' }), status({ previous: 'cancelling' }), finished(5)],
  ],
  ['no end cancelled from running', [queued(), started(), finished(3, cancelledEnd())]],
  ['only stop succeeds', [queued(), started(), finished(3, { finish_reason: 'max_steps' })]],
  ['last_seq is its own number', [queued(), started(), finished(4)]],
  ['nothing follows run.finished', [queued(), started(), finished(3), note('late')]],
  ['the stream does not end with run.finished', [queued(), started()]],
])('%s', (rule, frames) => {
  expect(rulesOf(frames)).toContain(rule);
});

test('numbers without gap, copies with origin_seq, and compaction with holes', () => {
  const frames = toFrames([queued(), started(), note('x'), finished(4)]);
  const hole = frames.filter((frame) => frame.seq !== 3);
  const foreign = frames.map((frame, index) => (index === 2 ? { ...frame, run_id: newId() } : frame));

  expect(checkStream(hole, { runId: id }).map(({ rule }) => rule)).toContain('number 4 follows 2');
  expect(checkStream(hole, { runId: id, isCompacted: true })).toEqual([]);
  expect(checkStream(foreign, { runId: id }).map(({ rule }) => rule)).toContain('origin_seq stands on copies and only there');
  expect(checkStream(frames.slice(2), { runId: id, afterSeq: 2 })).toEqual([]);
});

test('number and type are read from the text without parsing it', () => {
  const text = frameText(run, note('"type":"run.finished"'), 1, new Date());

  expect([seqOf(numbered(17, text)), typeOf(numbered(17, text)), ownTypeOf(numbered(17, text))]).toEqual([17, 'error', 'error']);
  const copy = numberedCopy(9_007_199, 3, text);
  expect([seqOf(copy), typeOf(copy), ownTypeOf(copy)]).toEqual([9_007_199, 'error', null]);
});

function delta(text: string, offset: number): FrameDraft {
  return { type: 'message.delta', data: { message_id: message, role: 'assistant', step: 1, index: 0, block: 'text', delta: text, offset } };
}

function discarded(): FrameDraft {
  return status({ discarded_message_ids: [message], retry: { cause: 'worker_lost', error_code: null, delay_ms: 0 } });
}

function ready(): FrameDraft {
  return call(callId, message, { phase: 'ready', args: {} });
}

function cancelledEnd() {
  return { status: 'cancelled', finish_reason: 'cancelled' } as const;
}

function toFrames(drafts: readonly FrameDraft[]): Frame[] {
  return drafts.map((draft, index) => parseFrame(numbered(index + 1, frameText(run, draft, 1, new Date()))));
}

function rulesOf(drafts: readonly FrameDraft[]): string[] {
  return checkStream(toFrames(drafts), { runId: id }).map(({ rule }) => rule);
}
