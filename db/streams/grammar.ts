import type { Frame } from './frame.schema.ts';
import { RunGrammar } from './run-grammar.ts';

/** The grammar of protocol 2, as served to clients. */
export const grammarText = `
stream   = status(queued) status* [ started body* ] finished      the first seq is 1; nothing follows finished
body     = message | call | approval | sub_agent | status | usage | error      (parts of different bodies may interleave)
message  = delta* completed | delta* status(discarded_message_ids names it)
call     = [ call.started call.args_delta* ] call.ready ( approval | call.executing call.progress* )* result
approval = requested resolved
child    = sub_agent(started) ... copies of its frames, sub_agent(waiting) ... sub_agent(finished)
1. Offsets of one (message_id, index) rise without gap; no delta follows the completed frame or the discarding of its message.
2. call.ready follows message.completed of its message. A call whose message was discarded, or cut before its arguments were whole, never becomes ready and has no result.
3. run.started stands for the change to running, run.finished for the last change; every other change is a status frame. A run cancelled before its start has no run.started.
4. Copies of descendants' frames obey the same rules per run_id, advisory ones missing.`.trim();

export interface Violation {
  readonly seq: number | null;
  readonly runId: string;
  readonly rule: string;
}

export interface GrammarOptions {
  /** The run whose stream it is. */
  readonly runId: string;
  /** After compaction, advisory frames and their numbers are missing. */
  readonly isCompacted?: boolean;
  /** Number after which reading began. The run's own state before it is unknown, so only numbers are checked. Default 0. */
  readonly afterSeq?: number;
}

/** The only validator of streams: tests check both writers and readers with it. Feed it each frame in the order received. */
export class StreamGrammar {
  readonly violations: Violation[] = [];

  readonly #options: GrammarOptions;
  readonly #runs = new Map<string, RunGrammar>();
  #lastSeq: number;
  #lastOrigin = new Map<string, number>();
  #isFinished = false;

  constructor(options: GrammarOptions) {
    this.#options = options;
    this.#lastSeq = options.afterSeq ?? 0;
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  get isFinished(): boolean {
    return this.#isFinished;
  }

  /** Checks the next frame. Notices (seq null) belong to no stream and are skipped. */
  take(frame: Frame): void {
    if (frame.seq === null) return;
    const report = (rule: string) => void this.violations.push({ seq: frame.seq, runId: frame.run_id, rule });

    this.#checkNumber(frame, frame.seq, report);
    if (this.#isFinished) report('nothing follows run.finished');
    const isOwn = frame.run_id === this.#options.runId;
    if (isOwn && frame.type === 'run.finished') this.#isFinished = true;
    if ((this.#options.afterSeq ?? 0) > 0) return;

    const run = this.#runs.get(frame.run_id) ?? new RunGrammar({ isWhole: isOwn && !this.#options.isCompacted });
    this.#runs.set(frame.run_id, run);
    run.take(frame, report);
  }

  /** Reports a stream that has not ended, and returns all violations. Nothing may be open at the end of a stream. */
  finish(): readonly Violation[] {
    if (!this.#isFinished)
      this.violations.push({ seq: this.#lastSeq, runId: this.#options.runId, rule: 'the stream does not end with run.finished' });
    return this.violations;
  }

  #checkNumber(frame: Frame, seq: number, report: (rule: string) => void): void {
    const isNext = this.#options.isCompacted ? seq > this.#lastSeq : seq === this.#lastSeq + 1;
    if (!isNext) report(`number ${seq} follows ${this.#lastSeq}`);
    this.#lastSeq = Math.max(this.#lastSeq, seq);

    const isCopy = frame.run_id !== this.#options.runId;
    if (isCopy !== (frame.origin_seq !== undefined)) report('origin_seq stands on copies and only there');
    if (frame.origin_seq === undefined) return;
    if (frame.origin_seq <= (this.#lastOrigin.get(frame.run_id) ?? 0)) report('origin_seq rises');
    this.#lastOrigin.set(frame.run_id, frame.origin_seq);
  }
}

/** Checks a whole stream, or one that is still going on (`isEnded: false`). */
export function checkStream(frames: Iterable<Frame>, options: GrammarOptions & { readonly isEnded?: boolean }): readonly Violation[] {
  const grammar = new StreamGrammar(options);
  for (const frame of frames) grammar.take(frame);
  return options.isEnded === false ? grammar.violations : grammar.finish();
}
