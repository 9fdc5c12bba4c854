import type { ReviewRun } from '../../../db/code-review/pulls/review-run.ts';
import { followUp, type FollowUp } from '../../../domain/code-review/pipeline/follow-up.ts';
import { batchesOf, linesAround, type MaterialFile, type ReviewMaterial } from '../../../domain/code-review/pipeline/material.ts';
import { selectFiles, type FileToRead, type UnreadReason } from '../../../domain/code-review/pipeline/select-files.ts';
import { surfaceOf, type LastReview, type Surface } from '../../../domain/code-review/pipeline/surface.ts';
import type { PathReading } from '../../../ports/diff/paths-work.ts';
import type { ReviewWork } from '../../../ports/diff/review-work.ts';
import type { SkipReason } from '../../../workflows/contracts/review/code-review.ts';
import type { Change } from './read-change.ts';
import type { HostPull } from './read-pull.ts';

/** The sources of a review's material. */
export interface MaterialSource {
  readonly run: ReviewRun;
  readonly pull: HostPull;
  readonly change: Change;
  readonly work: ReviewWork;
  readonly ledger: ReviewMaterial['ledger'];
  /** By path, the hunk hashes that the last review judged. */
  readonly hashes: ReadonlyMap<string, readonly string[]>;
  readonly isSummaryOnly: boolean;
}

const maxText = 2 * 1024 * 1024;
/** Maximum files whose surroundings a second look shows. */
const maxShown = 150;
/** Characters of code per token: exact counts take a second per megabyte. */
const charsOfToken = 3;
const estimateTokens = (text: string): number => Math.ceil(text.length / charsOfToken);

/** Returns the material of a pull request that is not reviewed: its identity, and its findings in the ledger. */
export function materialOfSkipped(
  run: ReviewRun,
  { pull, ledger, skipReason }: { readonly pull: HostPull; readonly ledger: ReviewMaterial['ledger']; readonly skipReason: SkipReason },
): ReviewMaterial {
  return { ...emptyMaterial(run, pull), headSha: pull.headSha, changedFiles: pull.changedFiles, mode: 'no_change', skipReason, ledger };
}

/** Selects what is judged of a change, and gathers what the models see of it. */
export async function gatherMaterial(source: MaterialSource): Promise<ReviewMaterial> {
  const { run, pull, change, isSummaryOnly } = source;
  const surface = surfaceOf(
    {
      files: change.files,
      mergeBaseSha: change.mergeBaseSha ?? '',
      baseRef: pull.baseRef,
      playbookRevisionId: run.playbookRevisionId,
      isFull: isFull(run),
    },
    lastReviewOf(source),
  );
  const readings = await readPaths(source);
  const { read, unread: unfit } = selectFiles(filesToRead(source, { surface, readings }), {
    ...run.templates,
    maxFiles: run.templates.limits.max_files,
    maxPatchTokens: run.templates.limits.max_patch_tokens,
    isTaken: (path) => readings.get(path)?.taken.slice(0, ownLists).every(Boolean) !== false,
    countTokens: estimateTokens,
  });
  const own = run.review.kind === 'ask' ? '' : run.text;
  const isRead = !isSummaryOnly && surface.mode !== 'no_change';
  // Without a budget for them they stay unread, and are judged next time.
  const unread = [...unfit, ...(isSummaryOnly ? read.map(({ patch }) => ({ path: patch.path, reason: 'budget' as const })) : [])];
  const files = isRead ? await materialFiles(source, read) : [];
  return {
    ...emptyMaterial(run, pull),
    headSha: change.headSha,
    baseSha: change.baseSha,
    mergeBaseSha: change.mergeBaseSha,
    mode: surface.mode,
    isSummaryOnly,
    instructions: [await readInstructions(run, change.baseSha, change.readText), own].filter((part) => part.trim() !== '').join('\n\n'),
    files,
    batches: batchesOf(files, run.templates.review.passes.length),
    changedFiles: change.files.length + change.tooLarge.length,
    unread: [...unread, ...change.tooLarge.map((path) => ({ path, reason: 'limit' as const }))],
    ...judgedHashes(source, { readings, unread }),
    ledger: source.ledger,
    followUps: surface.mode === 'no_change' ? {} : await followUps(source),
  };
}

function emptyMaterial(run: ReviewRun, pull: HostPull): ReviewMaterial {
  const isAsk = run.review.kind === 'ask';
  return {
    repoFullName: run.binding.repoFullName,
    pull: {
      number: run.pull.pullNumber,
      author: pull.author,
      headRef: pull.headRef,
      baseRef: pull.baseRef,
      isFork: pull.isFork,
      title: pull.title,
      description: pull.description,
    },
    headSha: pull.headSha,
    baseSha: null,
    mergeBaseSha: null,
    mode: 'full',
    skipReason: null,
    isSummaryOnly: false,
    instructions: '',
    question: isAsk ? run.text : '',
    thread: '',
    files: [],
    batches: [],
    changedFiles: 0,
    unread: [],
    hashes: {},
    hashesBefore: {},
    ledger: [],
    followUps: {},
  };
}

/** A question reads everything, whatever was judged before. */
function isFull({ review, binding }: ReviewRun): boolean {
  return review.full || review.kind === 'ask' || !binding.reviewConfig.incremental;
}

function lastReviewOf({ run, hashes }: MaterialSource): LastReview | null {
  const { lastHeadSha, lastMergeBaseSha, lastBaseRef, lastPlaybookRevisionId } = run.pull;
  if (lastHeadSha === null || lastMergeBaseSha === null || lastBaseRef === null || lastPlaybookRevisionId === null) return null;
  return { mergeBaseSha: lastMergeBaseSha, baseRef: lastBaseRef, playbookRevisionId: lastPlaybookRevisionId, hashes };
}

/** The path lists of playbook and binding come first, then those of the passes, then those of the rules. */
const ownLists = 2;

async function readPaths({ run, change, work }: MaterialSource): Promise<Map<string, PathReading>> {
  const { templates, binding } = run;
  const lists = [
    templates.path_filters,
    binding.reviewConfig.filters.paths,
    ...templates.review.passes.map(({ paths }) => paths ?? []),
    ...templates.path_rules.map(({ paths }) => paths),
  ];
  const paths = change.files.map(({ path }) => path);
  const readings = await work.readPaths(paths, lists);
  return new Map(paths.flatMap((path, at) => (readings[at] === undefined ? [] : [[path, readings[at]]])));
}

const unknownPath: PathReading = { taken: [], languages: [], kind: 'unknown' };

/** Returns the files with hunks on the surface; in a full review also those without hunks, which are named as unread. */
function filesToRead(
  { change }: MaterialSource,
  { surface, readings }: { readonly surface: Surface; readonly readings: ReadonlyMap<string, PathReading> },
): FileToRead[] {
  return change.files.flatMap((patch) => {
    const hunks = surface.hunks.get(patch.path) ?? [];
    if (hunks.length === 0 && (surface.mode !== 'full' || !patch.binary)) return [];
    return [{ patch, hunks, reading: readings.get(patch.path) ?? unknownPath }];
  });
}

async function materialFiles(source: MaterialSource, read: readonly FileToRead[]): Promise<MaterialFile[]> {
  const { change } = source;
  const paths = read.slice(0, maxShown).flatMap(({ patch }) => (patch.status === 'removed' ? [] : [patch.path]));
  const texts = await change.readTexts(change.headSha, paths, maxText);
  return read.map((file) => materialFile(source, { file, text: texts.get(file.patch.path) ?? null }));
}

function materialFile({ run }: MaterialSource, { file, text }: { readonly file: FileToRead; readonly text: string | null }): MaterialFile {
  const { passes } = run.templates.review;
  const { path_rules: pathRules, language_rules: languageRules } = run.templates;
  const { taken, languages } = file.reading;
  const ofPasses = taken.slice(ownLists, ownLists + passes.length);
  const ofRules = taken.slice(ownLists + passes.length);
  return {
    ...file,
    passes: passes.flatMap((_pass, at) => (ofPasses[at] === false ? [] : [at])),
    pathRules: pathRules.filter((_rule, at) => ofRules[at] === true),
    languageRules: languages.flatMap((language) => languageRules[language] ?? []),
    around: text === null ? [] : linesAround(text, file.hunks),
  };
}

function judgedHashes(
  { change, hashes }: MaterialSource,
  {
    readings,
    unread,
  }: {
    readonly readings: ReadonlyMap<string, PathReading>;
    readonly unread: readonly { readonly path: string; readonly reason: UnreadReason }[];
  },
): Pick<ReviewMaterial, 'hashes' | 'hashesBefore'> {
  const limited = new Set(unread.filter(({ reason }) => reason === 'limit' || reason === 'budget').map(({ path }) => path));
  const kept = change.files.filter(({ path }) => readings.get(path)?.taken.slice(0, ownLists).every(Boolean) !== false);
  const before = (path: string, own: readonly string[]) => (hashes.get(path) ?? []).filter((hash) => own.includes(hash));
  return {
    hashes: Object.fromEntries(kept.map(({ path, hashes: own }) => [path, limited.has(path) ? before(path, own) : own])),
    hashesBefore: Object.fromEntries(kept.map(({ path, hashes: own }) => [path, before(path, own)])),
  };
}

async function followUps({ ledger, change }: MaterialSource): Promise<Record<string, FollowUp>> {
  const patches = new Map(change.files.map((file) => [file.path, file]));
  const open = ledger.filter(({ state }) => state === 'open');
  const texts = new Map<string, string | null | undefined>();
  for (const { path } of open) {
    const now = patches.has(path) ? path : (change.files.find(({ previousPath }) => previousPath === path)?.path ?? path);
    if (!texts.has(now)) texts.set(now, await change.readText(change.headSha, now, maxText));
  }
  return Object.fromEntries(open.map((finding) => [finding.id, followUp(finding, { patches, textOf: (path) => texts.get(path) })]));
}

const instructionsPath = '.longhaul/review.md';
const maxInstructions = 64 * 1024;

/**
 * Returns the repository's instructions for reviews and repairs; empty: it has none, or its binding turns them off. They come from the base branch, so nothing
 * in the pull request decides how it is judged.
 */
export async function readInstructions(
  { binding }: Pick<ReviewRun, 'binding'>,
  baseSha: string | null,
  readText: Change['readText'],
): Promise<string> {
  if (!binding.reviewConfig.repo_instructions || baseSha === null) return '';
  return (await readText(baseSha, instructionsPath, maxInstructions)) ?? '';
}
