import picomatch from 'picomatch';
import type { EditorConfig } from '../../../workflows/contracts/review/pull-requests.ts';

/** Why an editor does not push, or does nothing at all. */
export type EditRefusal =
  | 'off'
  | 'closed'
  | 'nothing_open'
  | 'max_rounds'
  | 'fork'
  | 'protected_path'
  | 'tests_failed'
  | 'no_sandbox'
  | 'moved'
  | 'push_refused'
  | 'no_repair'
  | 'budget';

/** The facts of a pull request on which an editor's rights depend. */
export interface EditFacts {
  readonly isOpen: boolean;
  readonly isFork: boolean;
  /** Whether the author lets maintainers of the base repository push to the head. */
  readonly maintainersMayEdit: boolean;
  /** The editor's pushes to this pull request so far. */
  readonly rounds: number;
  readonly openFindings: number;
}

/** What an editor may do: nothing, suggest in comments, or push. `refusal` says why that is less than its mode. */
export interface EditRights {
  readonly may: 'nothing' | 'suggest' | 'push' | 'branch';
  readonly refusal: EditRefusal | null;
}

/** What an editor may do with a pull request, decided before reading any of it. */
export function editRights(config: EditorConfig, facts: EditFacts): EditRights {
  if (config.mode === 'off') return { may: 'nothing', refusal: 'off' };
  if (!facts.isOpen) return { may: 'nothing', refusal: 'closed' };
  if (facts.openFindings === 0) return { may: 'nothing', refusal: 'nothing_open' };
  if (config.mode === 'suggest') return { may: 'suggest', refusal: null };
  const isForeign = facts.isFork && !(config.allow_forks && facts.maintainersMayEdit);
  // A fork's code is not run, so the commands that must pass before a push can't be run.
  if (isForeign || (facts.isFork && config.test_commands.length > 0)) return { may: 'suggest', refusal: 'fork' };
  if (facts.rounds >= config.max_rounds) return { may: 'suggest', refusal: 'max_rounds' };
  // In mode `branch`, the editor's branch would have to lie in the fork.
  if (facts.isFork && config.mode === 'branch') return { may: 'suggest', refusal: 'fork' };
  return { may: config.mode, refusal: null };
}

/** The paths that an editor must not touch. */
export function protectedOf(paths: readonly string[], { protected_paths: globs }: Pick<EditorConfig, 'protected_paths'>): string[] {
  const isProtected = picomatch([...globs], { dot: true, nocase: true });
  // CODEOWNERS and the like are protected in every folder.
  const isNamed = picomatch(
    globs.filter((glob) => !glob.includes('/')),
    { dot: true, nocase: true, basename: true },
  );
  return paths.filter((path) => isProtected(path) || isNamed(path));
}

/** Name of the editor's own branch. */
export function branchOf({ branch_prefix: prefix }: Pick<EditorConfig, 'branch_prefix'>, pullNumber: number, headSha: string): string {
  return `${prefix}${pullNumber}-${headSha.slice(0, 7)}`;
}

/** The message of an editor's commit; its trailer identifies a repeated push. */
export function commitMessage({
  titles,
  note,
  runId,
}: {
  readonly titles: readonly string[];
  readonly note: string;
  readonly runId: string;
}): string {
  const subject = titles.length === 1 ? `Repair: ${oneLine(titles[0] ?? '')}` : `Repair ${titles.length} review findings`;
  const list = titles.length > 1 ? `\n\n${titles.map((title) => `- ${oneLine(title)}`).join('\n')}` : '';
  const why = note.trim() === '' ? '' : `\n\n${note.trim().replaceAll(/^([A-Za-z-]+):/gm, '$1 -')}`;
  return `${subject.slice(0, 72)}${list}${why}\n\nLonghaul-Run: ${runId}`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/gu, ' ').trim();
}
