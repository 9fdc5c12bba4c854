import { setTimeout as delay } from 'node:timers/promises';
import { ownTypeOf } from '../../../db/streams/frame-text.ts';
import type { Seeded } from '../../support/seeded.ts';
import type { ProcessName, Stack } from '../../support/stack.ts';
import type { Seen } from './record.ts';
import { eventFrames } from './wire-events.ts';
import { socketFrames } from './wire-socket.ts';
import type { Wire } from './wire.ts';

export interface WatchOptions {
  readonly wire: 'sse' | 'websocket';
  readonly names: readonly ProcessName[];
  /** Leaves in the middle, by its choices, and comes back; null: it stays as long as it may. */
  readonly roams: Seeded | null;
  readonly afterSeq?: number;
  readonly credential?: string;
}

export interface StreamWatcher {
  readonly seen: Seen;
  /** Resolves when run.finished has come, or after `stop`. */
  readonly ended: Promise<void>;
  stop(): void;
}

const wires: Record<WatchOptions['wire'], Wire> = { sse: eventFrames, websocket: socketFrames };

/** Watches a run to its end like a client of the platform does: it comes back after its last number, wherever the connection broke. */
export function watch(stack: Stack, runId: string, options: WatchOptions): StreamWatcher {
  const { wire, names, roams, afterSeq = 0 } = options;
  const who = `${wire}${roams ? ', roaming' : ''}${afterSeq > 0 ? `, from ${afterSeq}` : ''}`;
  const seen: Seen = { runId, who, afterSeq, texts: [], times: [], connections: 0, isDone: false };
  const stopped = new AbortController();
  let last: number | null = afterSeq > 0 ? afterSeq : null;

  async function connect(): Promise<void> {
    const left = new AbortController();
    const signal = AbortSignal.any([stopped.signal, left.signal]);
    const leaveAfter = roams ? roams.between(1, 60) : Infinity;
    const timer = setTimeout(() => left.abort(), roams ? roams.between(300, 9_000) : 24 * 3_600_000);
    const process = names[seen.connections++ % names.length] ?? 'api';
    const place = { stack, process, runId, credential: options.credential ?? stack.tenant.serviceKey.plaintext, last, signal };
    try {
      let count = 0;
      for await (const text of wires[wire](place)) {
        seen.texts.push(text);
        seen.times.push(Date.now());
        last = seqIn(text);
        if (ownTypeOf(text) === 'run.finished') seen.isDone = true;
        if (seen.isDone || ++count >= leaveAfter) return;
      }
    } finally {
      clearTimeout(timer);
      left.abort();
    }
  }

  async function follow(): Promise<void> {
    while (!seen.isDone && !stopped.signal.aborted) {
      await connect().catch(() => undefined);
      if (!seen.isDone) await delay(roams ? roams.between(50, 1_500) : 150, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  }

  return { seen, ended: follow(), stop: () => stopped.abort() };
}

function seqIn(text: string): number {
  return Number(/^\{"v":2,"seq":(\d+),/.exec(text)?.[1]);
}
