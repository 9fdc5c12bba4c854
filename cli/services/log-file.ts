import { appendFileSync, closeSync, fstatSync, openSync, renameSync } from 'node:fs';

/** A log file and its one predecessor (`.1`) hold so much each at most. */
export const maxLogBytes = 10_000_000;

/** A line that is longer is written in pieces. */
const maxLineBytes = 1_000_000;

/** A log file that never outgrows its limit: before it would, it takes the place of its predecessor, and a new one begins. */
export interface LogFile {
  /** Whole lines. */
  append(lines: Buffer): void;
}

/** The file is appended to. What can't be written, on a full disk say, is lost: nobody who logs may be held up by it. */
export function openLogFile(path: string): LogFile {
  let file: number | null = null;

  const roomFor = (bytes: number): number => {
    const current = (file ??= openSync(path, 'a', 0o600));
    const { size } = fstatSync(current);
    if (size === 0 || size + bytes <= maxLogBytes) return current;
    renameSync(path, `${path}.1`);
    file = null;
    closeSync(current);
    return roomFor(bytes);
  };
  return {
    append(lines) {
      try {
        appendFileSync(roomFor(lines.length), lines);
      } catch {
        // Said above: it is lost.
      }
    },
  };
}

/** Puts pieces of output together to whole lines. */
export interface LineJoin {
  take(piece: Buffer): void;
  /** Lets out what has no end of line. */
  end(): void;
}

/** `put` gets whole lines, as many at once as have come. */
export function joinLines(put: (lines: Buffer) => void): LineJoin {
  let rest: Buffer[] = [];
  let restBytes = 0;

  const letOut = (last: Buffer) => {
    const lines = Buffer.concat([...rest, last]);
    rest = [];
    restBytes = 0;
    if (lines.length > 0) put(lines);
  };
  return {
    take(piece) {
      const end = piece.lastIndexOf('\n') + 1;
      if (end > 0) letOut(piece.subarray(0, end));
      if (end < piece.length) rest.push(piece.subarray(end));
      restBytes += piece.length - end;
      if (restBytes > maxLineBytes) letOut(Buffer.alloc(0));
    },
    end: () => letOut(Buffer.alloc(0)),
  };
}
