import { readBundle, type SkillBundle } from './bundle.ts';
import { readSkillMarkdown } from './markdown.ts';

/** A bundle or a SKILL.md, and the pointer into the request for its errors. */
export type SkillJob =
  | { readonly kind: 'bundle'; readonly bytes: Uint8Array; readonly pointer: string }
  | { readonly kind: 'markdown'; readonly source: string; readonly pointer: string };

/** Runs in a child of the pool. 422 at the pointer for anything that is no skill. */
export async function work(job: SkillJob): Promise<SkillBundle> {
  if (job.kind === 'markdown') return { ...readSkillMarkdown(job.source, job.pointer), documents: [], files: [] };
  return readBundle(Buffer.from(job.bytes), job.pointer);
}
