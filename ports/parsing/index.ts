import type { ChildProcess } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { usageOf } from '../sandbox/watch.ts';
import { launchChild } from '../untrusted/launch.ts';
import { takeParser, type Parser } from './text/line.ts';
import { type ChildMessage, type ParentMessage, ParseFailure, type ParsedPart, type ParseWarning } from './parsed.ts';

/** Facts about a file, and what ends its parsing. */
export interface ParseOptions {
  readonly filename: string;
  /** As declared; decides only where bytes and name don't. */
  readonly mediaType: string;
  readonly signal?: AbortSignal;
  /** From `askForParser`; without one the file waits for a parser. */
  readonly parser?: Parser;
}

/** What a file yields, in order. */
export type ParseEvent =
  | { readonly kind: 'part'; readonly part: ParsedPart }
  | { readonly kind: 'warning'; readonly warning: ParseWarning };

const heapMb = 512;
/** Anonymous memory of the child, heap and bytes outside it; the kernel's own limit is higher, since V8 reserves what it does not use. */
const maxMemoryMb = 900;
const kernelMb = 1_536;
/** Time that the reader waits for the child; while the reader is busy, the child is at most one batch ahead. */
const maxWorkMs = 10 * 60_000;
const pollMs = 100;
/** A freeze of this process does not count as the file's time. */
const maxPerPollMs = 1_000;

const main = fileURLToPath(new URL('./parse-child.ts', import.meta.url));
/** The child's own code and libraries; besides these it may read only the file, so no document can make a parser read anything else. */
const codeFolders = ['../', '../../workflows/', '../../node_modules/', '../../package.json'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

/**
 * Parses a file in a separate child process, which may read that file and our code, and nothing else. Limits: 512 MiB of heap, ten minutes, and two files at a
 * time in this process. The parts come in batches; the child makes only the next batch while the reader has the last one, so that a long file takes constant
 * memory. Leaving the loop ends the child.
 * @throws ParseFailure for errors of the file itself, and the signal's reason when it aborts
 */
export async function* parseFile(path: string, options: ParseOptions): AsyncGenerator<ParseEvent> {
  const { signal } = options;
  const parser = options.parser ?? (await takeParser(signal));
  try {
    signal?.throwIfAborted();
    yield* parseInChild(await realpath(path), options);
  } finally {
    parser.release();
  }
}

async function* parseInChild(path: string, { filename, mediaType, signal }: ParseOptions): AsyncGenerator<ParseEvent> {
  const child = launchChild(main, { args: [], heapMb, kernelMb, readable: [...codeFolders, path] });
  const inbox = new Inbox(child);
  const abort = () => inbox.fail(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    send(child, { kind: 'start', job: { path, filename, mediaType } });
    for (;;) {
      const message = await inbox.next();
      for (const warning of message.warnings) yield { kind: 'warning', warning };
      if (message.kind === 'failed') throw new ParseFailure(message.code, message.detail);
      if (message.kind === 'end') return;
      // The child makes the next batch while the reader has this one.
      send(child, { kind: 'more' });
      for (const part of message.parts) yield { kind: 'part', part };
    }
  } finally {
    signal?.removeEventListener('abort', abort);
    inbox.close();
    child.kill('SIGKILL');
  }
}

/** Receives a child's messages, one at a time, and watches its time and memory. */
class Inbox {
  readonly #child: ChildProcess;
  readonly #timer: NodeJS.Timeout;
  #waiting: PromiseWithResolvers<ChildMessage> | null = null;
  /** The message that arrived before it was awaited: a child sends no second one. */
  #message: ChildMessage | null = null;
  #fault: unknown = null;
  #workedMs = 0;
  #lookedAt = performance.now();

  constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', (message: ChildMessage) => this.#take(message));
    child.once('error', (error) => this.fail(new ParseFailure('parser_crashed', error.message)));
    child.once('exit', (code, signal) => this.fail(deathOf(code, signal)));
    this.#timer = setInterval(() => this.#poll(), pollMs);
  }

  next(): Promise<ChildMessage> {
    const waiting = Promise.withResolvers<ChildMessage>();
    this.#waiting = waiting;
    this.#lookedAt = performance.now();
    if (this.#message) this.#take(this.#message);
    else if (this.#fault !== null) waiting.reject(this.#fault as Error); // set only by fail, which is given errors
    return waiting.promise;
  }

  fail(reason: unknown): void {
    this.#fault ??= reason;
    this.#waiting?.reject(this.#fault as Error); // as above
    this.#waiting = null;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #take(message: ChildMessage): void {
    this.#message = this.#waiting ? null : message;
    this.#waiting?.resolve(message);
    this.#waiting = null;
  }

  #poll(): void {
    const now = performance.now();
    if (this.#waiting) this.#workedMs += Math.min(now - this.#lookedAt, maxPerPollMs);
    this.#lookedAt = now;
    if (this.#workedMs > maxWorkMs) this.fail(new ParseFailure('parser_timeout', 'Reading the file took more than ten minutes.'));
    else if (usageOf(this.#child.pid ?? 0).memoryMb > maxMemoryMb) this.fail(outOfMemory());
  }
}

/** V8 and libc use signals of their own to end a process that can't go on. */
function deathOf(code: number | null, signal: NodeJS.Signals | null): ParseFailure {
  const isMemory = signal === 'SIGABRT' || signal === 'SIGTRAP' || signal === 'SIGILL';
  return isMemory ? outOfMemory() : new ParseFailure('parser_crashed', `The reader of the file ended (${signal ?? `exit ${code}`}).`);
}

function outOfMemory(): ParseFailure {
  return new ParseFailure('parser_out_of_memory', `Reading the file took more than ${heapMb} MiB of memory.`);
}

function send(child: ChildProcess, message: ParentMessage): void {
  // The exit event reports a child that has ended.
  child.send(message, () => undefined);
}
