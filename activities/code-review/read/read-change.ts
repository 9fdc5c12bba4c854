import type { ReviewRun } from '../../../db/code-review/pulls/review-run.ts';
import { hashesOf } from '../../../ports/diff/hunk-hash.ts';
import type { HashedPatch } from '../../../ports/diff/patch-work.ts';
import { parseHunks } from '../../../ports/diff/patch.ts';
import type { ReviewWork } from '../../../ports/diff/review-work.ts';
import { GitError } from '../../../ports/git/git-error.ts';
import type { Mirror } from '../../../ports/git/mirrors.ts';
import { fetchPull } from '../../../ports/git/pull.ts';
import { changedFiles, diffBytes, readBlob } from '../../../ports/git/read.ts';
import type { RepositoryClient } from '../../../ports/github/client.ts';
import type { ActivityDeps } from '../../deps.ts';
import { onHost } from '../host/host-failure.ts';
import { textsOfHost } from '../host/host-texts.ts';
import { openMirror } from './open-repository.ts';
import type { HostPull } from './read-pull.ts';
import { readTexts } from './read-texts.ts';

/** What a pull request changes. */
export interface Change {
  readonly headSha: string;
  readonly baseSha: string | null;
  readonly mergeBaseSha: string | null;
  readonly files: readonly HashedPatch[];
  /** Paths whose patch is too large to read. */
  readonly tooLarge: readonly string[];
  /** Returns a file of a commit as text; null: it does not exist, or is not text. Undefined: it can't be read here. */
  readonly readText: (sha: string, path: string, maxBytes: number) => Promise<string | null | undefined>;
  /** Reads several files at once; omits those for which `readText` has no text. */
  readonly readTexts: (sha: string, paths: readonly string[], maxBytes: number) => Promise<ReadonlyMap<string, string>>;
}

export interface ChangeSource {
  readonly run: ReviewRun;
  readonly client: RepositoryClient;
  readonly pull: HostPull;
  readonly work: ReviewWork;
  readonly signal: AbortSignal;
}

const maxDiffBytes = 24 * 1024 * 1024;
const maxFileLines = 20_000;
const maxAllLines = 300_000;

/** Reads a change with git; when git is refused, or the repository is larger than its binding allows, from the host's list of files. */
export async function readChange(deps: ActivityDeps, source: ChangeSource): Promise<Change> {
  try {
    return await readByGit(await openMirror(deps, source.run.binding, source.client), source);
  } catch (error) {
    if (error instanceof GitError && (error.kind === 'too_large' || error.kind === 'refused')) return readByHost(source);
    return onHost(() => Promise.reject(error));
  }
}

async function readByGit(mirror: Mirror, { run, pull, work, signal }: ChangeSource): Promise<Change> {
  const { clone } = run.binding.workspaceConfig;
  const { headSha, baseSha, mergeBaseSha } = await fetchPull(
    mirror,
    { pullNumber: run.pull.pullNumber, baseRef: pull.baseRef, clone },
    signal,
  );
  const range = { from: mergeBaseSha ?? baseSha, to: headSha };
  const whole = await diffBytes(mirror, { ...range, maxBytes: maxDiffBytes }, signal);
  const taken = whole.isTruncated ? await smallerFiles(mirror, range, signal) : null;
  const { bytes } = taken === null ? whole : await diffBytes(mirror, { ...range, paths: taken.paths, maxBytes: maxDiffBytes }, signal);
  return {
    headSha,
    baseSha,
    mergeBaseSha,
    files: await work.readPatch(bytes),
    tooLarge: taken?.left ?? [],
    async readText(sha, path, maxBytes) {
      const blob = await readBlob(mirror, { sha, path, maxBytes }, signal);
      return blob === null || blob.isTruncated || blob.bytes.includes(0) ? null : blob.bytes.toString();
    },
    readTexts: (sha, paths, maxBytes) => readTexts(mirror, { sha, paths, maxBytes }, signal),
  };
}

/** For a change that is too large as a whole, returns the files that fit, smallest first. */
async function smallerFiles(
  mirror: Mirror,
  range: { readonly from: string; readonly to: string },
  signal: AbortSignal,
): Promise<{ readonly paths: readonly string[]; readonly left: readonly string[] }> {
  const files = await changedFiles(mirror, range, signal);
  const sized = files.map(({ path, previousPath, added, removed }) => ({ path, previousPath, lines: (added ?? 0) + (removed ?? 0) }));
  const paths: string[] = [];
  const left: string[] = [];
  let lines = 0;
  for (const file of sized.toSorted((a, b) => a.lines - b.lines)) {
    lines += file.lines;
    if (file.lines > maxFileLines || lines > maxAllLines) left.push(file.path);
    // Both names, so that git still detects a rename.
    else paths.push(file.path, ...(file.previousPath === null ? [] : [file.previousPath]));
  }
  return { paths, left };
}

const filesOfPage = 100;
const maxPages = 30;

/** The host returns at most 3,000 files, and no patch of a large or binary one. */
async function readByHost({ run, client, pull, signal }: ChangeSource): Promise<Change> {
  const files: HashedPatch[] = [];
  const tooLarge: string[] = [];
  for (let page = 1; page <= maxPages; page += 1) {
    const { data } = await onHost(() =>
      client.rest(
        'GET /repos/{owner}/{repo}/pulls/{pull_number}/files',
        { pull_number: run.pull.pullNumber, per_page: filesOfPage, page },
        { signal },
      ),
    );
    for (const file of data) {
      if (file.patch === undefined && file.changes > 0) tooLarge.push(file.filename);
      else files.push(fileOf(file));
    }
    if (data.length < filesOfPage) break;
  }
  const { data: compared } = await onHost(() =>
    client.rest('GET /repos/{owner}/{repo}/compare/{basehead}', { basehead: `${pull.baseRef}...${pull.headSha}`, per_page: 1 }, { signal }),
  );
  return {
    headSha: pull.headSha,
    baseSha: compared.base_commit.sha,
    mergeBaseSha: compared.merge_base_commit.sha,
    files,
    tooLarge,
    ...textsOfHost(client, signal),
  };
}

interface HostFile {
  readonly filename: string;
  readonly previous_filename?: string;
  readonly status: 'added' | 'removed' | 'modified' | 'renamed' | 'copied' | 'changed' | 'unchanged';
  readonly patch?: string;
}

function fileOf({ filename, previous_filename: before, status, patch }: HostFile): HashedPatch {
  const read = {
    path: filename,
    previousPath: status === 'renamed' || status === 'copied' ? (before ?? null) : null,
    status: status === 'changed' || status === 'unchanged' ? 'modified' : status,
    binary: false,
    oldMode: null,
    newMode: null,
    hunks: patch === undefined ? [] : parseHunks(patch.endsWith('\n') ? patch : `${patch}\n`),
  } as const;
  return { ...read, hashes: hashesOf(read) };
}
