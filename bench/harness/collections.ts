import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Judgements } from './retrieval-metrics.ts';

/** A text of a collection. */
export interface CollectionDocument {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

/** Documents, queries and which documents answer them. */
export interface Collection {
  readonly name: string;
  readonly documents: readonly CollectionDocument[];
  /** Text by query id. */
  readonly queries: ReadonlyMap<string, string>;
  /** Judged queries alone. */
  readonly judged: ReadonlyMap<string, Judgements>;
}

/** The collections in the folders of a folder: those of BEIR (`corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`) and of SMART (`*.all*`, `*.qry`, `*qrel*`). */
export function readCollections(folder: string): Collection[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(folder, name))
    .flatMap((path) =>
      existsSync(join(path, 'corpus.jsonl')) ? [readBeir(path)] : readdirSync(path).some(isQueryFile) ? [readSmart(path)] : [],
    )
    .toSorted((left, right) => left.name.localeCompare(right.name));
}

const isQueryFile = (name: string) => name.endsWith('.qry');

/** https://github.com/beir-cellar/beir/wiki/Load-your-custom-dataset */
function readBeir(path: string): Collection {
  const lines = (name: string) => readFileSync(join(path, name), 'utf8').split('\n').filter(Boolean);
  const objects = (name: string) => lines(name).map((line): Record<string, unknown> => Object(JSON.parse(line)));
  const judged = new Map<string, Map<string, number>>();
  for (const line of lines('qrels/test.tsv').slice(1)) {
    const [query = '', document = '', gain = '0'] = line.split('\t');
    judge(judged, query, { document, gain: Number(gain) });
  }
  return {
    name: basename(path),
    documents: objects('corpus.jsonl').map((one) => ({
      id: String(one['_id']),
      title: String(one['title'] ?? ''),
      text: String(one['text']),
    })),
    queries: new Map(objects('queries.jsonl').map((one) => [String(one['_id']), String(one['text'])])),
    judged,
  };
}

/**
 * Salton's SMART form. Judgements of Cranfield number the queries by their place in the file, not by `.I`; all documents that they list are relevant
 * (grades are those of Cleverdon, 1 the best), so each counts the same.
 */
function readSmart(path: string): Collection {
  const fileOf = (fits: (name: string) => boolean) => readFileSync(join(path, readdirSync(path).find(fits) ?? ''), 'utf8');
  const documents = smartRecords(fileOf((name) => name.includes('.all')));
  const queries = smartRecords(fileOf(isQueryFile));
  const judged = new Map<string, Map<string, number>>();
  for (const line of fileOf((name) => name.includes('qrel') && !name.includes('readme')).split('\n')) {
    const [query, document] = line.trim().split(/\s+/v);
    if (query && document) judge(judged, query, { document, gain: 1 });
  }
  return {
    name: basename(path),
    documents: documents.map(({ id, fields }) => ({ id, title: fields.get('T') ?? '', text: fields.get('W') ?? '' })),
    queries: new Map(queries.map(({ fields }, at) => [String(at + 1), fields.get('W') ?? ''])),
    judged,
  };
}

function smartRecords(text: string): { readonly id: string; readonly fields: ReadonlyMap<string, string> }[] {
  return text
    .split(/^\.I /mv)
    .slice(1)
    .map((record) => {
      const [id = '', ...lines] = record.split('\n');
      const fields = new Map<string, string>();
      let name = '';
      for (const line of lines) {
        const [, tag] = /^\.([A-Z])\s*$/v.exec(line) ?? [];
        if (tag) name = tag;
        else fields.set(name, `${fields.get(name) ?? ''}${line}\n`);
      }
      return { id: String(Number(id)), fields };
    });
}

function judge(judged: Map<string, Map<string, number>>, query: string, { document, gain }: { document: string; gain: number }): void {
  judged.set(query, (judged.get(query) ?? new Map<string, number>()).set(document, gain));
}
