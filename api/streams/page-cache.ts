import type { Databases } from '../../db/databases.ts';
import { readFrameRange } from '../../db/streams/archive.ts';
import { streamFrame, type StreamFrame } from './stream-frame.ts';

/** A part of an archive: its frames in order, and the seq up to which nothing is missing. */
export interface ArchivePage {
  readonly frames: readonly StreamFrame[];
  readonly coveredTo: number;
  /** Whether the page ends, or may end, before the requested range because its frames are long. */
  readonly isTruncated: boolean;
}

export interface PageCache {
  /**
   * Returns the frames from `from` on, at most to the end of its block; `upTo` is a seq that the archive is known to hold. Up to the page's `coveredTo`,
   * nothing is missing. One query reads the blocks of the next 500 frames; all connections that need the same share it.
   */
  read(runId: string, from: number, upTo: number): Promise<ArchivePage>;
  /** Evicts pages that have not been requested for a while; called every second. */
  tick(now: number): void;
}

interface Entry {
  readonly upTo: number;
  readonly promise: Promise<ArchivePage>;
  page: ArchivePage | null;
  bytes: number;
  usedAt: number;
}

const blockFrames = 500;
const keepMs = 5_000;
const maxBytes = 32 * 1024 * 1024;

/** Caches pages of archives, aligned to blocks of 500 frames, so that clients that resume at different positions read the same ones. */
export function createPageCache(db: Databases): PageCache {
  const entries = new Map<string, Entry>();
  let bytes = 0;

  async function load(runId: string, from: number, to: number, upTo: number): Promise<ArchivePage> {
    const { texts, isTruncated } = await readFrameRange(db, runId, from, to);
    const frames = texts.map(streamFrame);
    const newest = frames.at(-1)?.seq ?? 0;
    return { frames, coveredTo: isTruncated ? newest : Math.max(newest, Math.min(upTo, to)), isTruncated };
  }

  function loadBlocks(runId: string, first: number, last: number, upTo: number): Promise<ArchivePage> {
    const all = load(runId, firstOf(first), lastOf(last), upTo);
    for (let block = first; block <= last; block++)
      void remember(
        keyOf(runId, block),
        upTo,
        all.then((page) => partOf(page, block)),
      );
    return all.then((page) => partOf(page, first));
  }

  function remember(key: string, upTo: number, promise: Promise<ArchivePage>): Promise<ArchivePage> {
    const entry: Entry = { upTo, promise, page: null, bytes: 0, usedAt: performance.now() };
    forget(key);
    entries.set(key, entry);
    promise.then(
      (page) => {
        entry.page = page;
        if (entries.get(key) !== entry) return;
        entry.bytes = page.frames.reduce((sum, frame) => sum + 2 * frame.bytes, 0);
        bytes += entry.bytes;
        shrink();
      },
      () => entries.get(key) === entry && forget(key),
    );
    return promise;
  }

  function known(key: string, needed: number): Promise<ArchivePage> | null {
    const entry = entries.get(key);
    const isEnough = entry && (entry.page ? entry.page.isTruncated || entry.page.coveredTo >= needed : entry.upTo >= needed);
    if (!isEnough) return null;

    entry.usedAt = performance.now();
    entries.delete(key);
    entries.set(key, entry);
    return entry.promise;
  }

  function forget(key: string): void {
    bytes -= entries.get(key)?.bytes ?? 0;
    entries.delete(key);
  }

  /** Evicts the least recently used first. */
  function shrink(): void {
    for (const key of entries.keys()) {
      if (bytes <= maxBytes) return;
      forget(key);
    }
  }

  return {
    async read(runId, from, upTo) {
      const first = blockOf(from);
      const last = Math.min(blockOf(Math.min(upTo, from + blockFrames - 1)), first + 1);
      const needed = Math.min(upTo, lastOf(first));
      const page = await (known(keyOf(runId, first), needed) ?? loadBlocks(runId, first, last, upTo));

      if (!page.isTruncated || page.coveredTo >= from) return { ...page, frames: page.frames.filter((frame) => frame.seq >= from) };
      // Stored by its first seq: all connections that read through the block arrive at the same boundaries.
      const key = `${runId} from ${from}`;
      return known(key, needed) ?? remember(key, upTo, load(runId, from, lastOf(first), upTo));
    },
    tick(now) {
      for (const [key, entry] of entries) if (now - entry.usedAt > keepMs) forget(key);
    },
  };
}

function keyOf(runId: string, block: number): string {
  return `${runId} ${block}`;
}

function blockOf(seq: number): number {
  return Math.floor((seq - 1) / blockFrames);
}

function firstOf(block: number): number {
  return block * blockFrames + 1;
}

function lastOf(block: number): number {
  return (block + 1) * blockFrames;
}

function partOf(page: ArchivePage, block: number): ArchivePage {
  const frames = page.frames.filter((frame) => blockOf(frame.seq) === block);
  // Blocks after the end of a truncated page are empty: connections that need them read on from their position.
  return { frames, coveredTo: Math.min(page.coveredTo, lastOf(block)), isTruncated: page.isTruncated && page.coveredTo < lastOf(block) };
}
