import { fail } from '../../workflows/contracts/failure.ts';
import type { FrameWriter } from './frame-writer.ts';

/** Bounds the bytes that wait for PostgreSQL, by run and by process: beyond that the provider is not read any further. */
export interface StreamBuffer {
  account(writer: FrameWriter, bytes: number): void;
  /** Null while there is room; otherwise resolves when there is, and rejects after 30 s. */
  wait(writer: FrameWriter): Promise<void> | null;
}

const maxRunBytes = 1024 * 1024;
const maxProcessBytes = 64 * 1024 * 1024;
const maxWaitMs = 30_000;

export function createStreamBuffer(): StreamBuffer {
  const bytesByWriter = new Map<FrameWriter, number>();
  const bytesByRun = new Map<string, number>();
  let total = 0;
  let waiting: { readonly writer: FrameWriter; readonly go: () => void }[] = [];

  function hasSlot(writer: FrameWriter): boolean {
    return total <= maxProcessBytes && (bytesByRun.get(writer.identity.run.runId) ?? 0) <= maxRunBytes;
  }

  return {
    account(writer, bytes) {
      const runId = writer.identity.run.runId;
      const change = bytes - (bytesByWriter.get(writer) ?? 0);
      if (bytes > 0) bytesByWriter.set(writer, bytes);
      else bytesByWriter.delete(writer);
      const ofRun = (bytesByRun.get(runId) ?? 0) + change;
      if (ofRun > 0) bytesByRun.set(runId, ofRun);
      else bytesByRun.delete(runId);
      total += change;

      if (change >= 0 || waiting.length === 0) return;
      const free = waiting.filter((entry) => hasSlot(entry.writer));
      waiting = waiting.filter((entry) => !free.includes(entry));
      for (const entry of free) entry.go();
    },
    wait(writer) {
      if (hasSlot(writer)) return null;
      return new Promise((resolve, reject) => {
        const entry = { writer, go: () => (clearTimeout(timer), resolve()) };
        const timer = setTimeout(() => {
          waiting = waiting.filter((other) => other !== entry);
          reject(fail('service_unavailable', { detail: 'Frames could not be written for 30 s.' }));
        }, maxWaitMs);
        waiting.push(entry);
      });
    },
  };
}
