import type { ParseJob } from './parse.ts';

/** Where a page of a document begins in its text. */
export interface PageStart {
  /** From 1. */
  readonly page: number;
  /** Number of code points before it in the content. */
  readonly start: number;
}

/** What a file yields: one item of a base. */
export interface ParsedPart {
  /** Stays the same for the same place in the file at the next sync; unique in the file, at most 120 characters. */
  readonly key: string;
  /** At most 300 characters. */
  readonly title: string | null;
  /** Markdown, 1 to 200,000 characters, without U+0000 and lone surrogates. */
  readonly content: string;
  readonly pages?: readonly PageStart[];
  /** What the file states about the part besides its text: sheet, rows, sender. Scalars. */
  readonly metadata?: Readonly<Record<string, string | number | boolean>>;
  /** The location of a JSON element in its file, as the beginning of a sentence: its line or number, and the character at which it begins. */
  readonly place?: string;
  /** Members of a JSON element besides its content, as they were sent: the code that stores them must validate them. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Set when the text instructs a model, or hides from people; null or absent: nothing of the kind was found. */
  readonly suspect?: InjectionSuspect | null;
}

/** Text that reads like an instruction to a model. */
export interface InjectionSuspect {
  /** The rule that found it. */
  readonly rule: 'override' | 'role_marker' | 'tool_order' | 'exfiltration' | 'hidden_text' | 'invisible_characters';
  /** At most 200 characters of the text. */
  readonly excerpt: string;
}

/** A place in a file that was not taken as it is; the rest of the file was. */
export interface ParseWarning {
  /** `nul_dropped`, `lone_surrogate`, `bad_bytes`, `charset_guessed`, `type_mismatch`, `bad_line`, `bad_row`, `bad_element`, `duplicate_id`, `pages_without_text`, `hidden_text`, `shortened`, `left_out`. */
  readonly code: string;
  /** One sentence with the offset, line or page. */
  readonly detail: string;
}

/** Why a file yields nothing. */
export const parseFailureCodes = [
  'payload_too_large',
  'unsupported_media_type',
  'encrypted',
  'malformed',
  'empty',
  'no_text',
  'parser_timeout',
  'parser_out_of_memory',
  'parser_crashed',
] as const;
export type ParseFailureCode = (typeof parseFailureCodes)[number];

/** The file itself can't be read; another try has the same result. The message is for the people who sent it. */
export class ParseFailure extends Error {
  override readonly name = 'ParseFailure';
  readonly code: ParseFailureCode;
  readonly stage = 'parsing';

  constructor(code: ParseFailureCode, detail: string) {
    super(detail);
    this.code = code;
  }
}

/** Formats that have a parser. */
export const fileFormats = ['text', 'markdown', 'html', 'docx', 'pdf', 'pptx', 'xlsx', 'csv', 'tsv', 'json', 'jsonl', 'eml'] as const;
export type FileFormat = (typeof fileFormats)[number];

/** A file as a parser gets it. */
export interface ParseInput {
  readonly path: string;
  readonly sizeBytes: number;
  /** Its name as users know it; titles are made from it. */
  readonly filename: string;
  readonly warn: (code: string, detail: string) => void;
}

/** Yields the parts of a file in order, one after the other, so that a long file is never in memory as a whole. Throws ParseFailure. */
export type FileParser = (input: ParseInput) => AsyncGenerator<ParsedPart>;

/** Limits of a file's content. */
export const parseLimits = {
  bytes: 25 * 1024 * 1024,
  /** For formats that are read as a stream. */
  streamedBytes: 100 * 1024 * 1024,
  unpackedBytes: 300 * 1024 * 1024,
  pages: 5_000,
  parts: 200_000,
  contentChars: 200_000,
  /** A document up to this length is one part; longer ones are split at their sections. */
  sectionChars: 20_000,
  rowsPerPart: 500,
  titleChars: 300,
} as const;

/** What the parent sends: the file, then `more` for each batch that it has received. */
export type ParentMessage = { readonly kind: 'start'; readonly job: ParseJob } | { readonly kind: 'more' };

/** What the child sends. After a batch it waits for `more` before it makes the next. */
export type ChildMessage =
  | { readonly kind: 'batch'; readonly parts: readonly ParsedPart[]; readonly warnings: readonly ParseWarning[] }
  | { readonly kind: 'end'; readonly warnings: readonly ParseWarning[] }
  | { readonly kind: 'failed'; readonly code: ParseFailureCode; readonly detail: string; readonly warnings: readonly ParseWarning[] };
