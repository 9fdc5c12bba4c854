import { createWriteStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { cancellationSignal, Context } from '@temporalio/activity';
import type { KnowledgeRun } from '../../db/knowledge/runs/knowledge-run.entity.ts';
import type { IndexedBase } from '../../db/knowledge/items/pending-items.ts';
import { readSourceBytes } from '../../db/knowledge/sources/sources.ts';
import { readIngestBase } from '../../domain/knowledge/sources/embed-staged.ts';
import type { Published } from '../../domain/knowledge/sources/ingest.ts';
import { dropStagedItems, endFailed, lockIngest, setStage } from '../../domain/knowledge/sources/ingest-run.ts';
import { createStager } from '../../domain/knowledge/sources/stage-parts.ts';
import type { StagedSource } from '../../domain/knowledge/sources/staged-row.ts';
import { parseFile } from '../../ports/parsing/index.ts';
import { askForParser, type Parser } from '../../ports/parsing/text/line.ts';
import { ParseFailure, type ParseWarning } from '../../ports/parsing/parsed.ts';
import type { IngestInput, IngestOutcome, ParseInput, ParseSourceOutcome } from '../../workflows/contracts/knowledge/ingest.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsSystem } from '../support/as-system.ts';

/** A killed reader does not count against its file, at first. */
const maxCrashes = 3;
const maxWarnings = 20;

interface ParsedFile {
  readonly filename: string;
  readonly mediaType: string;
  readonly storageKey: string | null;
  readonly text: string;
}

/**
 * Turns the bytes of a source into staged items. An error in the bytes ends the run with its reason. Of the files that find no free parser, one waits here and
 * the others are told their number: if all of them waited, a few long files would take this worker's slots from all other work.
 */
export async function parseSource(deps: ActivityDeps, input: ParseInput): Promise<ParseSourceOutcome> {
  if (!input.callsAgain) return parse(deps, input, undefined);
  const parser = await askForParser(input.runId, cancellationSignal());
  if ('waiting' in parser) return parser;
  try {
    return await parse(deps, input, parser);
  } finally {
    parser.release();
  }
}

async function parse(deps: ActivityDeps, input: IngestInput, parser: Parser | undefined): Promise<IngestOutcome> {
  const begun = await begin(deps, input);
  if (begun === null) return 'ended';
  await dropStagedItems((work) => transactAsSystem(deps, work), input.runId);
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-source-'));
  try {
    const path = join(folder, 'file');
    await download(deps, begun.file, path);
    const known = await stageFile(deps, input, { ...begun, path, parser });
    await transactAsSystem(deps, async (tx) => {
      const found = await lockIngest(tx, input);
      if (found) found.run.params = { ...found.run.params, ...known, mediaType: begun.file.mediaType };
    });
    return 'go_on';
  } catch (error) {
    if (!(error instanceof ParseFailure) || (error.code === 'parser_crashed' && Context.current().info.attempt < maxCrashes)) throw error;
    await refuse(deps, input, error);
    return 'ended';
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface BegunIngest {
  readonly base: IndexedBase;
  readonly source: StagedSource;
  readonly file: ParsedFile;
}

async function begin(deps: ActivityDeps, input: IngestInput): Promise<BegunIngest | null> {
  return transactAsSystem(deps, async (tx) => {
    const found = await lockIngest(tx, input);
    if (!found) return null;
    const base = await readIngestBase(tx, found.source.kbId);
    const attachmentId = found.run.attachmentId;
    const bytes = attachmentId === null ? null : await readSourceBytes(tx, attachmentId);
    const { id, kind, itemKind, text, title, tags, metadata, createdBy, lastSyncedAt } = found.source;
    if (base === null || (kind !== 'text' && bytes === null)) {
      await endFailed(tx, found, { code: 'not_found', stage: 'parsing', detail: 'The file or the base no longer exists.' });
      return null;
    }
    setStage(tx, found, 'parsing');
    const ofText = { filename: `${title ?? ''}.md`, mediaType: 'text/markdown', storageKey: null };
    const source = { id, kind, itemKind, title, tags, metadata, createdBy, lastSyncedAt };
    return { base, source, file: { ...(bytes ?? ofText), text: text ?? '' } };
  });
}

async function download(deps: ActivityDeps, { storageKey, text }: ParsedFile, path: string): Promise<void> {
  const signal = cancellationSignal();
  if (storageKey === null) await writeFile(path, text, { signal });
  else await pipeline(await deps.storage.open(storageKey), createWriteStream(path), { signal });
}

async function stageFile(
  deps: ActivityDeps,
  input: IngestInput,
  { base, source, file, path, parser }: BegunIngest & { readonly path: string; readonly parser: Parser | undefined },
): Promise<{ readonly warnings: readonly ParseWarning[]; readonly title: string | null }> {
  const signal = cancellationSignal();
  const warnings = new Warnings();
  const onFault = (detail: string) => warnings.add({ code: 'bad_element', detail: detail.slice(0, 500) });
  const stager = createStager((work) => transactAsSystem(deps, work), { base, source, input, embedder: deps.embedder, signal, onFault });
  let staged = 0;
  let title: string | null = null;
  try {
    const options = { filename: file.filename, mediaType: file.mediaType, signal, ...(parser && { parser }) };
    for await (const event of parseFile(path, options)) {
      if (event.kind === 'warning') warnings.add(event.warning);
      else {
        title ??= event.part.title;
        await stager.add(event.part);
      }
    }
    staged = await stager.finish();
  } finally {
    // Nothing is staged after the next try has begun, which first drops everything that is staged.
    await stager.settle();
  }
  const [first] = warnings.list;
  if (staged === 0) throw new ParseFailure('malformed', `Nothing in the file could be imported. ${first?.detail ?? ''}`.trim());
  return { warnings: warnings.list, title };
}

/** The warnings that a source shows: the first ones, and the number of others. */
class Warnings {
  readonly #first: ParseWarning[] = [];
  #more = 0;

  add(warning: ParseWarning): void {
    if (this.#first.length < maxWarnings) this.#first.push(warning);
    else this.#more += 1;
  }

  get list(): readonly ParseWarning[] {
    if (this.#more === 0) return this.#first;
    return [...this.#first.slice(0, maxWarnings - 1), { code: 'more_warnings', detail: `${this.#more + 1} more warnings are not listed.` }];
  }
}

async function refuse(deps: ActivityDeps, input: IngestInput, { code, stage, message }: ParseFailure): Promise<void> {
  await transactAsSystem(deps, async (tx) => {
    const found = await lockIngest(tx, input);
    if (found) await endFailed(tx, found, { code, stage, detail: message });
  });
  await dropStagedItems((work) => transactAsSystem(deps, work), input.runId);
}

/** Returns what earlier activities of a sync have stored in its run. */
export function facts({ params }: KnowledgeRun): Published {
  const { hash, mediaType, title, warnings } = params;
  return {
    contentHash: typeof hash === 'string' ? hash : '',
    mediaType: typeof mediaType === 'string' ? mediaType : null,
    title: typeof title === 'string' ? title : null,
    warnings: Array.isArray(warnings) ? (warnings as ParseWarning[]) : [], // as parseSource wrote them
  };
}
