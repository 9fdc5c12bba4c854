import type { FakePull, FakeRepository } from './state.ts';
import { gitIn } from './repositories.ts';

/** A file of a pull request as the host lists it. */
export interface HostFile {
  readonly sha: string;
  readonly filename: string;
  readonly previous_filename?: string;
  readonly status: 'added' | 'removed' | 'modified' | 'renamed' | 'changed';
  readonly additions: number;
  readonly deletions: number;
  readonly changes: number;
  /** Absent for binary files, and for patches that are too long. */
  readonly patch?: string;
}

interface HostHunk {
  readonly left: ReadonlySet<number>;
  readonly right: ReadonlySet<number>;
}

const maxPatchBytes = 1024 * 1024;

/** Where head and base of a pull request parted. */
export function mergeBaseOf({ folder }: FakeRepository, { headSha, baseRef }: FakePull): string {
  return gitIn(folder, 'merge-base', `refs/heads/${baseRef}`, headSha);
}

export function filesOf(repository: FakeRepository, pull: FakePull): HostFile[] {
  const from = mergeBaseOf(repository, pull);
  const raw = gitIn(repository.folder, 'diff', '--raw', '-z', '-M', '--full-index', from, pull.headSha).split('\0');
  const files: HostFile[] = [];
  for (let at = 0; at < raw.length; at += 1) {
    const [, , , , sha = '', letter = ''] = /^:(\d+) (\d+) (\w+) (\w+) (\w)/.exec(raw[at] ?? '') ?? [];
    if (letter === '') continue;
    const isRename = letter === 'R' || letter === 'C';
    const previous = isRename ? raw[(at += 1)] : undefined;
    const filename = raw[(at += 1)] ?? '';
    files.push({
      sha,
      filename,
      ...(previous === undefined ? {} : { previous_filename: previous }),
      status: statusOf(letter),
      ...countsOf(repository, from, pull, [previous, filename]),
    });
  }
  return files;
}

function statusOf(letter: string): HostFile['status'] {
  switch (letter) {
    case 'A':
      return 'added';
    case 'D':
      return 'removed';
    case 'R':
      return 'renamed';
    case 'T':
      return 'changed';
    default:
      return 'modified';
  }
}

function countsOf({ folder }: FakeRepository, from: string, { headSha }: FakePull, names: readonly (string | undefined)[]) {
  const paths = names.filter((name) => name !== undefined);
  const text = gitIn(folder, '--literal-pathspecs', 'diff', '-M', '--no-color', from, headSha, '--', ...paths);
  const start = text.indexOf('\n@@ ');
  const patch = start === -1 ? null : text.slice(start + 1);
  const lines = (patch ?? '').split('\n');
  const additions = lines.filter((line) => line.startsWith('+')).length;
  const deletions = lines.filter((line) => line.startsWith('-')).length;
  const counts = { additions, deletions, changes: additions + deletions };
  return patch === null || patch.length > maxPatchBytes ? counts : { ...counts, patch };
}

/** Lines of a file's hunks that take a comment, by the host's own reading; apart from the reader under test. */
export function hunksOf({ folder }: FakeRepository, from: string, headSha: string, path: string): HostHunk[] {
  const text = gitIn(folder, '--literal-pathspecs', 'diff', '-M', '--no-color', from, headSha);
  const hunks: { left: Set<number>; right: Set<number> }[] = [];
  let isWanted = false;
  const next = { left: 0, right: 0, leftToGo: 0, rightToGo: 0 };
  for (const line of text.split('\n')) {
    if (next.leftToGo > 0 || next.rightToGo > 0) {
      step(next, line[0] ?? ' ', isWanted ? hunks.at(-1) : undefined);
      continue;
    }
    if (line.startsWith('diff --git ')) isWanted = false;
    // A name with a space in it ends in a tab.
    if (line === `+++ b/${path}` || line === `--- a/${path}` || line === `+++ b/${path}\t` || line === `--- a/${path}\t`) isWanted = true;
    if (line === `+++ ${quotedName(`b/${path}`)}` || line === `--- ${quotedName(`a/${path}`)}`) isWanted = true;
    const head = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (!head) continue;
    Object.assign(next, { left: Number(head[1]), leftToGo: Number(head[2] ?? 1), right: Number(head[3]), rightToGo: Number(head[4] ?? 1) });
    if (isWanted) hunks.push({ left: new Set(), right: new Set() });
  }
  return hunks;
}

/** Takes one line of a hunk; a backslash opens a remark on the line before it. */
function step(
  next: { left: number; right: number; leftToGo: number; rightToGo: number },
  sign: string,
  hunk: { readonly left: Set<number>; readonly right: Set<number> } | undefined,
): void {
  if (sign === '\\') return;
  if (sign !== '+') {
    // The left side takes comments on what is removed alone.
    if (sign === '-') hunk?.left.add(next.left);
    next.left += 1;
    next.leftToGo -= 1;
  }
  if (sign !== '-') {
    hunk?.right.add(next.right++);
    next.rightToGo -= 1;
  }
}

/** A name as git quotes it where it holds more than plain ASCII. */
function quotedName(name: string): string {
  const bytes = [...Buffer.from(name)].map((byte) => {
    if (byte === 0x22 || byte === 0x5c) return `\\${String.fromCharCode(byte)}`;
    return byte < 0x20 || byte > 0x7e ? `\\${byte.toString(8).padStart(3, '0')}` : String.fromCharCode(byte);
  });
  return `"${bytes.join('')}"`;
}

export interface Anchor {
  readonly path: string;
  readonly line: number;
  readonly side: 'LEFT' | 'RIGHT';
  readonly startLine: number | null;
  readonly startSide: 'LEFT' | 'RIGHT' | null;
}

/** What the host has against an anchor; null: it takes it. */
export function anchorFault(hunks: readonly HostHunk[], { line, side, startLine, startSide }: Anchor): string | null {
  const lines = (hunk: HostHunk, of: 'LEFT' | 'RIGHT') => (of === 'LEFT' ? hunk.left : hunk.right);
  const holding = hunks.find((hunk) => lines(hunk, side).has(line));
  if (!holding) return 'pull_request_review_thread.line must be part of the diff';
  if (startLine === null) return null;
  if (startLine >= line && (startSide ?? side) === side) return 'pull_request_review_thread.start_line must precede the end line.';
  return lines(holding, startSide ?? side).has(startLine)
    ? null
    : 'pull_request_review_thread.start_line must be part of the same hunk as the line.';
}
