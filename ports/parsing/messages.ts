import type { ParsedPart, ParseFailureCode, ParseWarning } from './parsed.ts';
import type { ParseJob } from './parse.ts';

/** What the parent sends: the file, then `more` for each batch that it has received. */
export type ParentMessage = { readonly kind: 'start'; readonly job: ParseJob } | { readonly kind: 'more' };

/** What the child sends. After a batch it waits for `more` before it makes the next. */
export type ChildMessage =
  | { readonly kind: 'batch'; readonly parts: readonly ParsedPart[]; readonly warnings: readonly ParseWarning[] }
  | { readonly kind: 'end'; readonly warnings: readonly ParseWarning[] }
  | { readonly kind: 'failed'; readonly code: ParseFailureCode; readonly detail: string; readonly warnings: readonly ParseWarning[] };
