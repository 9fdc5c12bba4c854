import { titleLine } from '../../../domain/code-review/pipeline/comment-text.ts';
import type { LineCommentText } from '../../../domain/code-review/posting/batches.ts';
import { commentable } from '../../../ports/diff/anchors.ts';
import { parseHunks } from '../../../ports/diff/patch.ts';
import type { RepositoryClient } from '../../../ports/github/client.ts';

const pageSize = 100;
const maxPages = 30;

/** Comments that the host accepts at their lines, and those that it does not. */
export interface SplitComments {
  readonly taken: readonly LineCommentText[];
  readonly refused: readonly LineCommentText[];
}

/** Splits comments by the host's own diff, after the host has refused a review: its diff may have other hunks than git's. Throws HostError. */
export async function splitByHost(
  client: RepositoryClient,
  { pullNumber, comments }: { readonly pullNumber: number; readonly comments: readonly LineCommentText[] },
  signal: AbortSignal,
): Promise<SplitComments> {
  const paths = new Set(comments.map(({ path }) => path));
  const patches = new Map<string, string>();
  for (let page = 1; page <= maxPages; page += 1) {
    const parameters = { pull_number: pullNumber, per_page: pageSize, page };
    const { data } = await client.rest('GET /repos/{owner}/{repo}/pulls/{pull_number}/files', parameters, { signal });
    for (const { filename, patch } of data) if (patch !== undefined && paths.has(filename)) patches.set(filename, patch);
    if (data.length < pageSize) break;
  }
  const isTaken = (comment: LineCommentText) => takes(patches.get(comment.path), comment);
  return { taken: comments.filter(isTaken), refused: comments.filter((comment) => !isTaken(comment)) };
}

function takes(patch: string | undefined, { path, side, lines }: LineCommentText): boolean {
  if (patch === undefined) return false;
  const hunks = parseHunks(patch.endsWith('\n') ? patch : `${patch}\n`);
  const file = { path, previousPath: null, status: 'modified', binary: false, oldMode: null, newMode: null, hunks } as const;
  return commentable(file).hunkOf({ side, ...lines }) !== null;
}

/** Returns the review's text about comments that have no place in the host's diff. */
export function refusedText(refused: readonly LineCommentText[]): string {
  const lines = refused.map(({ path, lines: { line }, body }) => `- ${titleLine(body)} (\`${path.replaceAll('`', "'")}\` line ${line})`);
  return `Without a place in the diff:\n${lines.join('\n')}`;
}
