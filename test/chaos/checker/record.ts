/** One subscriber of one run: everything it got, over all its connections. */
export interface Seen {
  readonly runId: string;
  /** How it read and why it stands here, in words. */
  readonly who: string;
  /** The number after which it began. */
  readonly afterSeq: number;
  readonly texts: string[];
  /** Unix times in milliseconds at which they came. */
  readonly times: number[];
  connections: number;
  /** True once run.finished has come. */
  isDone: boolean;
}

/** A start that was answered with 202, or one whose client gave up without an answer. */
export interface Start {
  readonly kind: string;
  /** Stands in its input, so that rows and model calls can be told to be its own. */
  readonly marker: string;
  readonly agentId: string;
  readonly sessionKey: string | null;
  /** Null when it was never acknowledged: the run may exist or not, but not twice. */
  runId: string | null;
  readonly askedAt: number;
  ms: number;
}

/** An input that joined a run and was answered with 202. */
export interface AddedInput {
  readonly runId: string;
  readonly marker: string;
}

/** An answer to a question that was taken: 200. */
export interface GivenAnswer {
  readonly approvalId: string;
  readonly runId: string;
  readonly status: 'approved' | 'rejected' | 'edited' | 'responded';
}

export interface TakenCancel {
  readonly runId: string;
  readonly policy: string;
  readonly at: number;
}

export const causeKinds = [
  'hook async',
  'hook sync',
  'hook ack',
  'hook callback',
  'coalesced debounce',
  'coalesced throttle',
  'coalesced batch',
  'schedule',
  'event',
  'channel message',
] as const;
export type CauseKind = (typeof causeKinds)[number];

/** Something that happened outside and starts a run. */
export interface Cause {
  readonly kind: CauseKind;
  /** Stands in the input of each of its runs. */
  readonly marker: string;
  readonly askedAt: number;
  /** Whoever said it was answered that it counts. */
  isTaken: boolean;
  /** Runs that whoever said it was told of. */
  readonly runIds: string[];
}

/** What the clients of a deployment know: all that was promised to them, and all that they saw. */
export interface ClientRecord {
  readonly starts: Start[];
  readonly inputs: AddedInput[];
  readonly answers: GivenAnswer[];
  readonly cancels: TakenCancel[];
  readonly seen: Seen[];
  readonly causes: Cause[];
  /** Answers that no client should get, whatever happens. */
  readonly surprises: string[];
}

export function newRecord(): ClientRecord {
  return { starts: [], inputs: [], answers: [], cancels: [], seen: [], causes: [], surprises: [] };
}

/** A word for an input, found again by `markersIn`. */
export function newMarker(): string {
  return `mark:${crypto.randomUUID()}`;
}

/** The markers of a text. A script is no part of it: the one of a parent holds the words of its children. */
export function markersIn(text: string): string[] {
  return text.replaceAll(/<script>.*?<\/script>/gs, '').match(/mark:[0-9a-f-]{36}/g) ?? [];
}
