import fc from 'fast-check';
import { newId } from '../../db/ids.ts';
import type { AppendAnswer, FrameBatch } from '../../db/streams/append.ts';
import type { RunIdentity } from '../../db/streams/frame-text.ts';
import type { FrameDraft } from '../../db/streams/frame.schema.ts';
import { note } from './frame-samples.ts';

/** Who writes: a model call, a tool call, and a transaction that changes the run's state. */
const scopes = ['s1', 'c:1', null] as const;

/** What happens to a run's frames on their way from a writer to its readers. `pick` chooses among what there is. */
export type Move =
  | { readonly kind: 'append'; readonly writer: number; readonly frames: number }
  /** The answer to a writer's last batch was lost: it comes again. */
  | { readonly kind: 'again'; readonly writer: number }
  /** The writer was lost, its successor has the next attempt. */
  | { readonly kind: 'retry'; readonly writer: number }
  /** A predecessor that was frozen wakes up and writes on. */
  | { readonly kind: 'late'; readonly writer: number }
  /** A publish arrives, which may be any of those under way; it may have arrived before. */
  | { readonly kind: 'deliver'; readonly pick: number; readonly isKept: boolean }
  | { readonly kind: 'lose'; readonly pick: number }
  | { readonly kind: 'flush' }
  | { readonly kind: 'open'; readonly pick: number; readonly isReplay: boolean }
  | { readonly kind: 'leave'; readonly pick: number };

const writer = fc.nat(scopes.length - 1);
const pick = fc.nat(1_000);

export const sequencerMoves = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('append' as const), writer, frames: fc.integer({ min: 1, max: 4 }) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('again' as const), writer }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('retry' as const), writer }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('late' as const), writer }) },
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('deliver' as const), pick, isKept: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('lose' as const), pick }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('flush' as const) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('open' as const), pick, isReplay: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), pick }) },
  ),
  { minLength: 5, maxLength: 45 },
);

interface WriterState {
  attempt: number;
  batch: number;
  /** As the table of the protocol has it after the last batch that was written. */
  stored: { attempt: number; batch: number; first: number; last: number } | null;
  last: FrameBatch | null;
}

/** What a batch must be answered, and what it adds. */
export interface Expected {
  readonly batch: FrameBatch;
  readonly result: AppendAnswer['result'];
  readonly firstSeq: number | null;
  readonly lastSeq: number | null;
}

/** The sequencer, on paper: which batch is written, under which numbers. */
export class SequencerModel {
  /** What the archive holds: the texts of the notes, `attempt n` for an announcement. */
  readonly written: string[] = [];

  readonly #run: RunIdentity;
  readonly #writers: WriterState[] = scopes.map(() => ({ attempt: 1, batch: 0, stored: null, last: null }));
  #count = 0;

  constructor(run: RunIdentity, before: readonly string[]) {
    this.#run = run;
    this.written.push(...before);
  }

  append(at: number, frames: number): Expected {
    const state = this.#state(at);
    const scope = this.#scope(at);
    state.batch += 1;
    const batch = this.#batch(at, { attempt: scope === null ? 1 : state.attempt, batch: scope === null ? 0 : state.batch, frames });
    state.last = batch;
    return this.#judge(at, batch);
  }

  /** Null when the writer has written nothing that could come again; a state change is guarded by its row and never does. */
  again(at: number): Expected | null {
    const { last } = this.#state(at);
    return last === null || last.scope === null ? null : this.#judge(at, last);
  }

  retry(at: number): void {
    const state = this.#state(at);
    if (this.#scope(at) === null) return;
    state.attempt += 1;
    state.batch = 0;
    state.last = null;
  }

  /** Fenced once a successor has written; before that nobody knows that the writer counts as lost. Null when there is no predecessor. */
  late(at: number): Expected | null {
    const { attempt, stored } = this.#state(at);
    if (stored === null || attempt === 1) return null;
    const isSucceeded = stored.attempt === attempt;
    const numbers = isSucceeded ? { attempt: attempt - 1, batch: 99 } : { attempt: stored.attempt, batch: stored.batch + 1 };
    return this.#judge(at, this.#batch(at, { ...numbers, frames: 1 }));
  }

  /** The last frame, by a transaction that knows its number. */
  end(): number {
    this.written.push('run.finished');
    return this.written.length;
  }

  #judge(at: number, batch: FrameBatch): Expected {
    const { stored } = this.#state(at);
    if (batch.scope !== null && stored !== null) {
      if (stored.attempt > batch.attempt) return { batch, result: 'fenced', firstSeq: null, lastSeq: null };
      if (stored.attempt === batch.attempt && stored.batch >= batch.batch) {
        const isNewest = stored.batch === batch.batch;
        return { batch, result: 'repeat', firstSeq: isNewest ? stored.first : null, lastSeq: isNewest ? stored.last : null };
      }
    }
    const first = this.written.length + 1;
    if (batch.scope?.startsWith('s') && batch.attempt > (stored?.attempt ?? 1)) this.written.push(`attempt ${batch.attempt}`);
    this.written.push(...batch.frames.map((draft) => (draft.type === 'error' ? draft.data.message : draft.type)));
    const last = this.written.length;
    if (batch.scope !== null) this.#state(at).stored = { attempt: batch.attempt, batch: batch.batch, first, last };
    return { batch, result: 'ok', firstSeq: first, lastSeq: last };
  }

  #batch(at: number, { attempt, batch, frames }: { attempt: number; batch: number; frames: number }): FrameBatch {
    const drafts: FrameDraft[] = Array.from({ length: frames }, () => note(`${at}.${attempt}.${batch} ${++this.#count} ${newId()}`));
    return { run: this.#run, scope: this.#scope(at), attempt, batch, frames: drafts };
  }

  #state(at: number): WriterState {
    const state = this.#writers[at];
    if (!state) throw new Error(`no writer ${at}`);
    return state;
  }

  #scope(at: number): string | null {
    return scopes[at] ?? null;
  }
}
