import type { ReviewRun } from '../../../db/code-review/pulls/review-run.ts';
import type { Change } from './read-change.ts';

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
