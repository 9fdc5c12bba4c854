import { pathOfHeader, readHeaderPaths, unquotePath } from './patch-paths.ts';

/** One line of a hunk. `text` is without its sign and its line feed (a carriage return stays); a number is null on the side that lacks the line. */
export interface PatchLine {
  readonly kind: 'context' | 'added' | 'removed';
  readonly text: string;
  readonly oldLine: number | null;
  readonly newLine: number | null;
  /** The file ends here, without a line feed. */
  readonly noNewline?: true;
}

/**
 * A section of a file's patch: changed lines, with their neighbours. Line numbers begin at 1; a side without lines has the start 0 or that of the preceding
 * line.
 */
export interface Hunk {
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  /** What git shows after the second `@@`: usually the head of the function. */
  readonly section: string;
  readonly lines: readonly PatchLine[];
}

/** How a file changed; `type_changed`: a file became a symbolic link, or the like. */
export type FileStatus = 'added' | 'removed' | 'modified' | 'renamed' | 'copied' | 'type_changed';

/** One file of a patch. Binary files, pure renames and pure changes of mode have no hunks. */
export interface FilePatch {
  readonly path: string;
  readonly previousPath: string | null;
  readonly status: FileStatus;
  readonly binary: boolean;
  /** Octal, as git writes them: 100644, 100755, 120000 (symbolic link), 160000 (submodule). Null where git does not state it. */
  readonly oldMode: string | null;
  readonly newMode: string | null;
  readonly hunks: readonly Hunk[];
}

/** The text is no patch of git, or is truncated. */
export class PatchError extends Error {
  override readonly name = 'PatchError';
}

/**
 * Reads the output of `git diff --no-color --no-ext-diff -M` between two trees, with git's own prefixes `a/` and `b/`. A hunk's header states its number of
 * lines, so that a removed line `-- a/x` is not taken for the header of a file.
 *
 * @throws PatchError for a text that is no such patch, or is truncated.
 */
export function parsePatch(text: string): FilePatch[] {
  const reader: Reader = { text, at: 0 };
  const files: FilePatch[] = [];

  while (reader.at < text.length) {
    const file = readFile(reader);
    const before = files.at(-1);
    if (before !== undefined && isTypeChange(before, file)) files[files.length - 1] = joinTypeChange(before, file);
    else files.push(file);
  }
  return files;
}

/**
 * Reads hunks without file headers: the `patch` of a file as GitHub's files API returns it.
 *
 * @throws PatchError as above.
 */
export function parseHunks(text: string): Hunk[] {
  const reader: Reader = { text, at: 0 };
  const hunks = readHunks(reader);
  if (reader.at < text.length) throw new PatchError(`no hunk at ${reader.at}`);
  return hunks;
}

interface Reader {
  readonly text: string;
  at: number;
}

interface FileHead {
  header: string;
  from: string | null;
  to: string | null;
  before: string | null | undefined;
  after: string | null | undefined;
  oldMode: string | null;
  newMode: string | null;
  status: FileStatus;
  binary: boolean;
}

function readFile(reader: Reader): FilePatch {
  const header = takeLine(reader);
  if (!header.startsWith('diff --git ')) throw new PatchError(`no head of a file: ${header.slice(0, 80)}`);

  const head: FileHead = {
    header: header.slice(11),
    from: null,
    to: null,
    before: undefined,
    after: undefined,
    oldMode: null,
    newMode: null,
    status: 'modified',
    binary: false,
  };
  while (reader.at < reader.text.length && !startsAt(reader, '@@ ') && !startsAt(reader, 'diff --git ')) {
    takeHeadLine(reader, head);
  }
  return fileOf(head, readHunks(reader));
}

function takeHeadLine(reader: Reader, head: FileHead): void {
  const line = takeLine(reader);
  const [, name, value] = headLine.exec(line) ?? [];
  switch (name) {
    case 'old mode':
    case 'deleted file mode':
      head.oldMode = value ?? null;
      if (name.startsWith('deleted')) head.status = 'removed';
      return;
    case 'new mode':
    case 'new file mode':
      head.newMode = value ?? null;
      if (name.includes('file')) head.status = 'added';
      return;
    case 'rename from':
    case 'copy from':
      head.status = name.startsWith('rename') ? 'renamed' : 'copied';
      head.from = unquotePath(value ?? '');
      return;
    case 'rename to':
    case 'copy to':
      head.to = unquotePath(value ?? '');
      return;
    case 'index':
      takeModeOfIndex(head, value ?? '');
      return;
    case '---':
      head.before = pathOfHeader(value ?? '');
      return;
    case '+++':
      head.after = pathOfHeader(value ?? '');
      return;
    case 'Binary files':
      head.binary = true;
      return;
    default:
      if (line === 'GIT binary patch') skipBinary(reader, head);
  }
}

/** `index 1234567..89abcde 100644`: the mode is present when both sides have the same. */
function takeModeOfIndex(head: FileHead, value: string): void {
  const mode = value.split(' ')[1];
  if (mode === undefined) return;
  head.oldMode ??= mode;
  head.newMode ??= mode;
}

function skipBinary(reader: Reader, head: FileHead): void {
  head.binary = true;
  while (reader.at < reader.text.length && !startsAt(reader, 'diff --git ')) takeLine(reader);
}

function fileOf(head: FileHead, hunks: readonly Hunk[]): FilePatch {
  const [left, right] = readHeaderPaths(head.header);
  const before = head.from ?? head.before ?? left;
  const after = head.to ?? head.after ?? right;
  const path = head.status === 'removed' ? before : after;
  if (path === null) throw new PatchError(`no path: ${head.header.slice(0, 80)}`);

  return {
    path,
    previousPath: head.status === 'renamed' || head.status === 'copied' ? before : null,
    status: head.status,
    binary: head.binary,
    oldMode: head.status === 'added' ? null : head.oldMode,
    newMode: head.status === 'removed' ? null : head.newMode,
    hunks,
  };
}

/** Git prints a file that became a link as one file removed and one added, with the same path. */
function isTypeChange(before: FilePatch, after: FilePatch): boolean {
  return before.status === 'removed' && after.status === 'added' && before.path === after.path;
}

function joinTypeChange(before: FilePatch, after: FilePatch): FilePatch {
  return {
    ...after,
    status: 'type_changed',
    binary: before.binary || after.binary,
    oldMode: before.oldMode,
    hunks: [...before.hunks, ...after.hunks],
  };
}

function readHunks(reader: Reader): Hunk[] {
  const hunks: Hunk[] = [];
  while (startsAt(reader, '@@ ')) hunks.push(readHunk(reader));
  return hunks;
}

function readHunk(reader: Reader): Hunk {
  const head = takeLine(reader);
  const [, oldStart, oldLines = '1', newStart, newLines = '1', section = ''] = hunkHead.exec(head) ?? [];
  if (oldStart === undefined || newStart === undefined) throw new PatchError(`no head of a hunk: ${head.slice(0, 80)}`);

  const counts = { oldStart: Number(oldStart), oldLines: Number(oldLines), newStart: Number(newStart), newLines: Number(newLines) };
  return { ...counts, section, lines: readLines(reader, counts) };
}

function readLines(reader: Reader, counts: Omit<Hunk, 'section' | 'lines'>): PatchLine[] {
  const lines: PatchLine[] = [];
  let oldLine = counts.oldStart;
  let newLine = counts.newStart;
  const oldEnd = oldLine + counts.oldLines;
  const newEnd = newLine + counts.newLines;

  while (oldLine < oldEnd || newLine < newEnd) {
    if (reader.at >= reader.text.length) throw new PatchError('the patch ends in the middle of a hunk');
    const sign = reader.text[reader.at];
    const text = takeLine(reader).slice(1);
    const noNewline = takeNoNewline(reader);
    if (sign === '-') lines.push({ kind: 'removed', text, oldLine: oldLine++, newLine: null, ...noNewline });
    else if (sign === '+') lines.push({ kind: 'added', text, oldLine: null, newLine: newLine++, ...noNewline });
    // An empty context line may have lost its leading blank in transit.
    else if (sign === ' ' || sign === '\n') {
      lines.push({ kind: 'context', text, oldLine: oldLine++, newLine: newLine++, ...noNewline });
    } else throw new PatchError(`no line of a hunk at ${reader.at}`);
  }
  if (oldLine !== oldEnd || newLine !== newEnd) throw new PatchError('a hunk has other lines than its head says');
  return lines;
}

/** `\ No newline at end of file`, in whatever language git speaks. */
function takeNoNewline(reader: Reader): { noNewline: true } | undefined {
  if (reader.text[reader.at] !== '\\') return undefined;
  takeLine(reader);
  return { noNewline: true };
}

function startsAt(reader: Reader, start: string): boolean {
  return reader.text.startsWith(start, reader.at);
}

function takeLine(reader: Reader): string {
  const end = reader.text.indexOf('\n', reader.at);
  const line = reader.text.slice(reader.at, end === -1 ? undefined : end);
  reader.at = end === -1 ? reader.text.length : end + 1;
  return line;
}

const hunkHead = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/su;
const headLine =
  /^(old mode|new mode|deleted file mode|new file mode|rename from|rename to|copy from|copy to|index|---|\+\+\+|Binary files) (.*)$/su;
