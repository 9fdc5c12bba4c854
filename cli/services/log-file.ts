import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, readdirSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The approximate maximum size of a log file and of its predecessor (`.1`), each. */
export const maxLogBytes = 10_000_000;
const pollEveryMs = 500;

/** Opens a log file for a child, which appends to it for as long as it lives, even if its launcher dies. */
export function openLog(logFile: string): number {
  mkdirSync(dirname(logFile), { recursive: true, mode: 0o700 });
  boundLog(logFile);
  return openSync(logFile, 'a', 0o600);
}

/** Keeps the log files of a folder bounded while others write to them; returns a function that stops this. A file can exceed its limit for half a second. */
export function keepLogsBounded(folder: string): () => void {
  const poll = () => {
    try {
      for (const name of readdirSync(folder)) if (name.endsWith('.log')) boundLog(join(folder, name));
    } catch {
      // A disk error, or no log yet: the next check may succeed, and the supervisor continues.
    }
  };
  const timer = setInterval(poll, pollEveryMs).unref();
  return () => clearInterval(timer);
}

/**
 * Moves the newest content of a file over its limit to `<file>.1`, in whole lines, and empties the file. The file is not renamed, because its writer
 * has it open. As with logrotate's `copytruncate`, a line written between the two steps can be lost. If there is no space for a
 * copy, the file is emptied all the same.
 */
function boundLog(logFile: string): void {
  let file: number;
  try {
    file = openSync(logFile, 'r+');
  } catch {
    return; // not there yet
  }
  try {
    if (fstatSync(file).size <= maxLogBytes) return;
    keepNewest(file, `${logFile}.1`);
    ftruncateSync(file);
  } finally {
    closeSync(file);
  }
}

function keepNewest(file: number, copy: string): void {
  const newest = Buffer.alloc(maxLogBytes);
  const from = fstatSync(file).size - maxLogBytes;
  const length = readSync(file, newest, 0, maxLogBytes, from);
  try {
    rmSync(copy, { force: true });
    writeFileSync(copy, newest.subarray(newest.indexOf('\n') + 1, length), { mode: 0o600 });
  } catch {
    rmSync(copy, { force: true });
  }
}
