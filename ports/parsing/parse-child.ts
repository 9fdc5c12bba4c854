// The script of a child process that parses one file and exits.
import { watchParent } from '../untrusted/lower-priority.ts';
import { type ChildMessage, type ParentMessage, ParseFailure, type ParsedPart, type ParseWarning } from './parsed.ts';
import { parse, type ParseJob } from './parse.ts';

const batchParts = 64;
const batchChars = 256 * 1024;
/** A file full of errors yields as many warnings as a source shows, less the one that counts the others. */
const maxWarnings = 19;

const [, , ending = ''] = process.argv;
let takeMore: () => void = () => undefined;
let parts: ParsedPart[] = [];
let chars = 0;
let warnings: ParseWarning[] = [];
let warned = 0;

// The parent has exited: no part can reach it.
process.on('disconnect', () => process.exit());
// An error that a library throws outside its promise fails the file.
process.on('uncaughtException', (error) => void fail(error));
process.on('message', (message: ParentMessage) => (message.kind === 'start' ? void run(message.job) : takeMore()));
if (ending === 'by-itself') watchParent();

async function run(job: ParseJob): Promise<void> {
  try {
    for await (const part of parse(job, warn)) {
      parts.push(part);
      chars += part.content.length;
      if (parts.length >= batchParts || chars >= batchChars) await flush();
    }
    if (parts.length > 0) await flush();
    await send({ kind: 'end', warnings: lastWarnings() });
  } catch (error) {
    await fail(error);
  }
}

function warn(code: string, detail: string): void {
  warned += 1;
  if (warned <= maxWarnings) warnings.push({ code, detail: detail.slice(0, 500).toWellFormed() });
}

function lastWarnings(): readonly ParseWarning[] {
  const more = warned - maxWarnings;
  return more > 0 ? [...warnings, { code: 'more_warnings', detail: `${more} more warnings are not listed.` }] : warnings;
}

async function flush(): Promise<void> {
  const taken = new Promise<void>((resolve) => (takeMore = resolve));
  await send({ kind: 'batch', parts, warnings });
  parts = [];
  warnings = [];
  chars = 0;
  await taken;
}

async function fail(error: unknown): Promise<void> {
  const known = error instanceof ParseFailure ? error : new ParseFailure('malformed', `The file cannot be read: ${messageOf(error)}`);
  await send({ kind: 'failed', code: known.code, detail: known.message, warnings: lastWarnings() });
  process.exit();
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 200).toWellFormed();
}

function send(message: ChildMessage): Promise<void> {
  return new Promise((resolve) => process.send?.(message, () => resolve()));
}
