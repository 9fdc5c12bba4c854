import { isPlainPath } from '../../../ports/diff/plain-path.ts';
import type { TextEdit } from './answer.ts';

/** Lines of a file at the head that an edit replaces, and their replacement: the content of a suggestion. */
export interface LineReplacement {
  readonly path: string;
  /** First and last line, from 1; both 0 for a new file. */
  readonly startLine: number;
  readonly line: number;
  /** Complete lines, without the line end of the last one. */
  readonly text: string;
}

/** The result of edits: the new files, or what is wrong with the edits, worded for the model that made them. */
export type Applied =
  | { readonly kind: 'applied'; readonly files: ReadonlyMap<string, string>; readonly replacements: readonly LineReplacement[] }
  | { readonly kind: 'wrong'; readonly problems: readonly string[] };

/** A located edit in the text of a file at the head. */
interface Located {
  readonly edit: TextEdit;
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/**
 * Applies edits to files as they are at the head (null: there is no such text file). Each text to find must occur there exactly once, edits of one file must
 * not overlap, and all of them refer to the head, not to each other's results. Line ends are the file's own.
 */
export function applyEdits(head: ReadonlyMap<string, string | null>, edits: readonly TextEdit[]): Applied {
  const problems: string[] = [];
  const files = new Map<string, string>();
  const replacements: LineReplacement[] = [];
  for (const [path, group] of Map.groupBy(edits, (edit) => edit.path)) {
    const text = head.get(path) ?? null;
    if (!isPlainPath(path)) problems.push(`${path}: not the path of a file`);
    else if (text === null) problems.push(...addFile(path, group, { files, replacements }));
    else problems.push(...changeFile({ path, text, group }, { files, replacements }));
  }
  return problems.length > 0 ? { kind: 'wrong', problems } : { kind: 'applied', files, replacements };
}

interface Outcome {
  readonly files: Map<string, string>;
  readonly replacements: LineReplacement[];
}

function addFile(path: string, [first, ...others]: readonly TextEdit[], { files, replacements }: Outcome): string[] {
  if (first === undefined || first.find !== '') return [`${path}: there is no such text file; to make one, leave find empty`];
  if (others.length > 0) return [`${path}: a new file is made by one edit`];
  files.set(path, first.replace);
  replacements.push({ path, startLine: 0, line: 0, text: first.replace });
  return [];
}

function changeFile(
  { path, text, group }: { readonly path: string; readonly text: string; readonly group: readonly TextEdit[] },
  { files, replacements }: Outcome,
): string[] {
  const located = group.map((edit) => locate(text, edit));
  const problems = located.flatMap((each) => (typeof each === 'string' ? [`${path}: ${each}`] : []));
  if (problems.length > 0) return problems;
  const ordered = located.filter((each) => typeof each !== 'string').toSorted((a, b) => a.from - b.from);
  if (ordered.some((each, at) => at > 0 && each.from < (ordered[at - 1]?.to ?? 0))) return [`${path}: two edits overlap`];
  const changed = ordered.toReversed().reduce((rest, { from, to, text: into }) => rest.slice(0, from) + into + rest.slice(to), text);
  if (changed === text) return [`${path}: the edits change nothing`];
  files.set(path, changed);
  replacements.push(...joined(text, ordered).map((each) => ({ path, ...each })));
  return [];
}

function locate(text: string, edit: TextEdit): Located | string {
  if (edit.find === '') return 'the file exists; find must not be empty';
  const isCrlf = /\r\n/u.test(text) && !/[^\r]\n/u.test(text);
  const own = (part: string) => (isCrlf ? part.replaceAll(/\r?\n/gu, '\r\n') : part);
  const find = own(edit.find);
  const from = text.indexOf(find);
  if (from === -1) return `the text to find does not stand there: ${JSON.stringify(edit.find.slice(0, 80))}`;
  if (text.includes(find, from + 1)) return `the text to find stands there more than once: ${JSON.stringify(edit.find.slice(0, 80))}`;
  return { edit, from, to: from + find.length, text: own(edit.replace) };
}

/** The replaced lines, complete; edits that share a line become one replacement. */
function joined(text: string, ordered: readonly Located[]): Omit<LineReplacement, 'path'>[] {
  const groups: { start: number; end: number; edits: Located[] }[] = [];
  for (const each of ordered) {
    const start = text.lastIndexOf('\n', each.from - 1) + 1;
    const end = lineEnd(text, each);
    const last = groups.at(-1);
    if (last !== undefined && start < last.end + 1) {
      last.end = Math.max(last.end, end);
      last.edits.push(each);
    } else groups.push({ start, end, edits: [each] });
  }
  return groups.map(({ start, end, edits }) => {
    const into = edits
      .toReversed()
      .reduce((rest, { from, to, text: by }) => rest.slice(0, from - start) + by + rest.slice(to - start), text.slice(start, end));
    const startLine = countLines(text.slice(0, start));
    return {
      startLine,
      line: startLine + countLines(text.slice(start, end).replace(/\r?\n$/u, '')) - 1,
      text: into.replaceAll('\r\n', '\n').replace(/[\r\n]$/u, ''),
    };
  });
}

/** Where the last line that an edit touches ends: after its line feed when the edit includes that, before it otherwise. */
function lineEnd(text: string, { from, to }: Located): number {
  if (to > from && text[to - 1] === '\n') return to;
  const next = text.indexOf('\n', to);
  return next === -1 ? text.length : next;
}

function countLines(text: string): number {
  return text.split('\n').length;
}
