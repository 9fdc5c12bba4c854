import type { ParsedPart, ParseFailureCode, ParseWarning } from './parsed.ts';
import type { ParseJob } from './parse.ts';

/** What the parent sends: the file, then `more` for each batch that it has taken. */
export type ParentMessage = { readonly kind: 'start'; readonly job: ParseJob } | { readonly kind: 'more' };

/** What the child sends. A batch waits for `more` before the next is made. */
export type ChildMessage =
  | { readonly kind: 'batch'; readonly parts: readonly ParsedPart[]; readonly warnings: readonly ParseWarning[] }
  | { readonly kind: 'end'; readonly warnings: readonly ParseWarning[] }
  | { readonly kind: 'failed'; readonly code: ParseFailureCode; readonly detail: string; readonly warnings: readonly ParseWarning[] };
