import { createParser, type EventSourceParser } from 'eventsource-parser';
import type { ModelAdapter } from '../../../ports/models/models.ts';
import { tagInexact } from '../../../workflows/contracts/tools/exact-json.ts';
import { wordsInText, type ProviderMessage } from './provider-message.ts';
import type { ProviderError } from '../errors/signals.ts';
import { ChatWire } from './chat.ts';
import { MessagesWire, ResponsesWire } from './events.ts';

/** What one event of a provider's stream means to us. */
export interface WireEvent {
  /** JSON for the SDK to read; null: nothing. */
  readonly data: string | null;
  /** Further JSON that follows it. */
  readonly more?: readonly string[];
  /** `finished`: the answer is complete, only its usage may still come. `ended`: nothing more is read. */
  readonly state: 'open' | 'finished' | 'ended';
  /** The provider broke off. */
  readonly error: ProviderMessage | null;
}

/** One protocol of streams. Lives as long as one answer. */
export interface WireProtocol {
  readonly warnings: readonly string[];
  read(data: string, event?: string): WireEvent;
  /** Takes a JSON value that came in place of a stream, with tags for the numbers that a double would change. */
  whole(value: unknown): WireEvent;
}

/** What is known about an answer besides what the SDK makes of it; filled while it is read. */
export interface WireOutcome {
  isFinished: boolean;
  /** What the provider said, or why it could not be read. */
  error: ProviderError | null;
  warnings: readonly string[];
}

export function newWireOutcome(): WireOutcome {
  return { isFinished: false, error: null, warnings: [] };
}

/** How long a finished answer waits for its usage and for the end of its stream. */
const graceMs = 2_000;
/** How long to wait for the end of the connection after the end of its answer. */
const leaveMs = 100;
/** Maximum length of an event, and of a non-streamed answer, in characters. */
const maxChars = 4 * 1024 * 1024;
const maxErrorBytes = 64 * 1024;

/**
 * Returns a provider's answer as the SDK is to read it. A stream ends with its own end marker, or two seconds after its answer is complete, whatever the
 * connection does; before that, chunks are made to fit the SDK's schema. An answer that is no stream is read as well. Memory is bounded.
 */
export async function mendResponse(response: Response, adapter: ModelAdapter, outcome: WireOutcome): Promise<Response> {
  if (response.body === null) return response;
  const reader = response.body.getReader();
  const head = { status: response.status, statusText: response.statusText, headers: new Headers([...response.headers]) };
  if (!response.ok) return new Response(await readSome(reader), head);
  return new Response(new WireBody(reader, protocolOf(adapter), outcome).stream, head);
}

function protocolOf(adapter: ModelAdapter): WireProtocol {
  if (adapter === 'openai') return new ResponsesWire();
  return adapter === 'anthropic' ? new MessagesWire() : new ChatWire();
}

type BodyReader = ReadableStreamDefaultReader<Uint8Array>;

/** Reads the beginning of an error's body, which may be endless. */
async function readSome(reader: BodyReader): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  while (text.length < maxErrorBytes) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
  }
  void reader.cancel().catch(() => undefined);
  return text;
}

/** One body on its way to the SDK. */
class WireBody {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #reader: BodyReader;
  readonly #protocol: WireProtocol;
  readonly #ending: WireOutcome;
  readonly #decoder = new TextDecoder();
  readonly #encoder = new TextEncoder();
  readonly #parser: EventSourceParser;
  readonly #waiting: string[] = [];
  /** What arrived before the kind of body was clear; null once the body is read as a stream. */
  #start: string | null = '';
  #hasEvents = false;
  #unread = '';
  #graceEnds = Infinity;
  #isOver = false;

  constructor(reader: BodyReader, protocol: WireProtocol, outcome: WireOutcome) {
    this.#reader = reader;
    this.#protocol = protocol;
    this.#ending = outcome;
    outcome.warnings = protocol.warnings;
    this.#parser = createParser({
      maxBufferSize: maxChars,
      onEvent: ({ data, event }) => this.#take(data, event),
      onError: (error) =>
        error.type === 'max-buffer-size-exceeded' ? this.#giveUp('one event of its stream is too long') : this.#takeLine(error),
    });
    this.stream = new ReadableStream({
      pull: (controller) => this.#pull(controller),
      cancel: (reason) => this.#reader.cancel(reason),
    });
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    while (this.#waiting.length === 0 && !this.#isOver) await this.#more();
    // This happens before the last part is enqueued: its consumer ends the call, and the connection with it.
    if (this.#isOver) await this.#leave();
    for (const text of this.#waiting.splice(0)) controller.enqueue(this.#encoder.encode(`data: ${text}\n\n`));
    if (this.#isOver) controller.close();
  }

  /** A connection that has been read to its end is used again; one that its server keeps open, or keeps writing to, is closed. */
  async #leave(): Promise<void> {
    this.#graceEnds = performance.now() + leaveMs;
    try {
      while ((await this.#read()) !== null) if (performance.now() > this.#graceEnds) break;
    } catch {
      // broken: nothing is left of it
    }
    void this.#reader.cancel().catch(() => undefined);
  }

  async #more(): Promise<void> {
    try {
      const chunk = await this.#read();
      const text = this.#decoder.decode(chunk ?? undefined, { stream: chunk !== null });
      if (this.#start === null) this.#feed(text);
      else this.#open(this.#start + text, chunk === null);
      if (chunk === null) this.#end();
    } catch (error) {
      if (!this.#ending.isFinished) throw error;
      this.#isOver = true;
    }
  }

  /** Returns null at the end of the body, or when the grace period of a finished answer is over. */
  async #read(): Promise<Uint8Array | null> {
    const read = this.#reader.read().then(({ value }) => value ?? null);
    if (this.#graceEnds === Infinity) return read;
    read.catch(() => undefined); // nothing awaits it when the grace period is over
    const { promise, resolve } = Promise.withResolvers<null>();
    const timer = setTimeout(() => resolve(null), Math.max(0, this.#graceEnds - performance.now()));
    return Promise.race([read, promise]).finally(() => clearTimeout(timer));
  }

  /** Decides by the first character: a JSON value and a page are no streams. */
  #open(text: string, isWhole: boolean): void {
    this.#start = text;
    const [first] = text.trimStart();
    if (first !== undefined && !'{[<'.includes(first)) {
      this.#start = null;
      this.#feed(text);
    } else if (isWhole) this.#takeWhole(text);
    else if (text.length > maxChars) this.#giveUp('the answer is too long');
  }

  #takeWhole(text: string): void {
    this.#start = null;
    this.#hasEvents = true;
    try {
      this.#pass(this.#protocol.whole(JSON.parse(tagInexact(text, 'all'))));
    } catch {
      this.#giveUp(wordsInText(text)?.message ?? '');
      return;
    }
    if (this.#waiting.length === 0 && this.#ending.error === null) this.#giveUp('');
    this.#isOver = true;
  }

  #feed(text: string): void {
    if (!this.#hasEvents && this.#unread.length < 1_000) this.#unread += text.slice(0, 1_000);
    if (!this.#isOver) this.#parser.feed(text);
  }

  #end(): void {
    if (this.#isOver) return;
    this.#parser.feed('\n\n'); // an event that the end of the body separated from its empty line
    if (!this.#hasEvents) this.#giveUp(wordsInText(this.#unread)?.message ?? '');
    this.#isOver = true;
  }

  #take(data: string, event: string | undefined): void {
    if (this.#isOver) return;
    this.#hasEvents = true;
    this.#unread = '';
    this.#pass(this.#protocol.read(data, event));
  }

  /** Handles a line without `data:`: llama.cpp has sent `error: {…}`, others the JSON alone. */
  #takeLine({
    type,
    field,
    value,
    line,
  }: {
    readonly type: string;
    readonly field?: string;
    readonly value?: string;
    readonly line?: string;
  }): void {
    if (type !== 'unknown-field') return;
    if (field === 'error' && value !== undefined) this.#take(value, 'error');
    else if (line?.startsWith('{')) this.#take(line, undefined);
  }

  #pass({ data, more = [], state, error }: WireEvent): void {
    for (const text of [data, ...more]) if (text !== null) this.#waiting.push(text.replaceAll('\n', ' '));
    if (error !== null) this.#ending.error = { kind: 'told', ...error };
    this.#isOver ||= error !== null || state === 'ended';
    if (state === 'open') return;
    this.#ending.isFinished = true;
    // Each further text restarts the two seconds.
    if (data !== null || this.#graceEnds === Infinity) this.#graceEnds = performance.now() + graceMs;
  }

  #giveUp(message: string): void {
    if (!this.#ending.isFinished) this.#ending.error = { kind: 'garbled', message };
    this.#isOver = true;
  }
}
