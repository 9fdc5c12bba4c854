import { stat } from 'node:fs/promises';
import { cleanPart } from './text/clean.ts';
import { detectFormat } from './detect.ts';
import { findInjection } from './text/injection.ts';
import { parseLimits, ParseFailure, type FileFormat, type FileParser, type ParsedPart, type ParseInput } from './parsed.ts';

/** Loaded when a file of the format arrives: a process parses one file. */
const parsers: Readonly<Record<FileFormat, () => Promise<FileParser>>> = {
  text: async () => (await import('./formats/parse-text.ts')).parsePlain,
  markdown: async () => (await import('./formats/parse-text.ts')).parseMarkdown,
  html: async () => (await import('./formats/parse-html.ts')).parseHtml,
  docx: async () => (await import('./formats/parse-docx.ts')).parseDocx,
  pdf: async () => (await import('./formats/parse-pdf.ts')).parsePdf,
  pptx: async () => (await import('./formats/parse-pptx.ts')).parsePptx,
  xlsx: async () => (await import('./formats/parse-xlsx.ts')).parseXlsx,
  csv: async () => (await import('./formats/parse-csv.ts')).parseCsv,
  tsv: async () => (await import('./formats/parse-csv.ts')).parseTsv,
  json: async () => (await import('./formats/parse-json.ts')).parseJson,
  jsonl: async () => (await import('./formats/parse-json.ts')).parseJsonl,
  eml: async () => (await import('./formats/parse-eml.ts')).parseEml,
};

const streamed: readonly FileFormat[] = ['text', 'markdown', 'csv', 'tsv', 'jsonl'];

/** A file to parse: its location, and what is declared about it. */
export interface ParseJob {
  readonly path: string;
  readonly filename: string;
  /** As declared; decides only where bytes and name don't. */
  readonly mediaType: string;
}

/**
 * Yields the parts of a file, cleaned and checked for instructions to a model. Runs in a child process: any of the libraries below may take unbounded time and
 * memory.
 * @throws ParseFailure
 */
export async function* parse(job: ParseJob, warn: ParseInput['warn']): AsyncGenerator<ParsedPart> {
  const { size: sizeBytes } = await stat(job.path);
  const input: ParseInput = { path: job.path, filename: job.filename, sizeBytes, warn };
  if (sizeBytes > parseLimits.streamedBytes) throw tooLarge(parseLimits.streamedBytes);
  const format = await detectFormat(input, job.mediaType);
  if (sizeBytes > parseLimits.bytes && !streamed.includes(format)) throw tooLarge(parseLimits.bytes);

  const parser = await parsers[format]();
  let count = 0;
  for await (const part of parser(input)) {
    const clean = cleanPart(part, warn);
    if (!clean) continue;
    count += 1;
    if (count > parseLimits.parts) throw new ParseFailure('payload_too_large', `The file contains more than ${parseLimits.parts} items.`);
    const suspect = clean.suspect ?? findInjection(`${clean.title ?? ''}\n${clean.content}`);
    yield { ...clean, suspect };
  }
  if (count === 0) throw new ParseFailure('empty', 'The file contains no text.');
}

function tooLarge(maxBytes: number): ParseFailure {
  return new ParseFailure('payload_too_large', `Files of this kind can have at most ${maxBytes / 1024 / 1024} MiB.`);
}
