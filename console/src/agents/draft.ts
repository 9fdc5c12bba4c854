import type { Views } from '../app/api.ts';

export type RevisionDocument = Views['RevisionDocument'];

/** A revision that is being written, as it is kept in the tab. */
export interface RevisionDraft {
  /** The revision that it began with, and must still be the newest when it is saved; null: the agent had none. */
  readonly base: string | null;
  /** The document as it is typed; may be no JSON for a moment. */
  readonly text: string;
  readonly note: string;
}

/** Reads a kept draft; null where there is none, or none that can be read. */
export function decodeDraft(text: string): RevisionDraft | null {
  if (text === '') return null;
  try {
    const { base, text: document, note } = JSON.parse(text) as Partial<Record<keyof RevisionDraft, unknown>>; // told by its members
    if (typeof document !== 'string' || typeof note !== 'string' || (base !== null && typeof base !== 'string')) return null;
    return { base, text: document, note };
  } catch {
    return null;
  }
}

/** The document of a typed text; a word says why there is none. */
export function documentOf(text: string): RevisionDocument | 'invalid' | 'no object' {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as RevisionDocument) : 'no object'; // the server checks its members
  } catch {
    return 'invalid';
  }
}
