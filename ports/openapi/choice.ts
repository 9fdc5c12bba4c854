import { truncateText } from '../../workflows/contracts/truncate-text.ts';
import { isObject, isStorable, step, textOf, Unusable, type Document, type Json } from './document.ts';
import type { PlacedOperation } from './parameters.ts';
import type { DocumentProblem, OpenApiOperation, OpenApiReading, ReadOpenApi } from './reader.ts';

/** An operation of a document, with its location. */
export interface FoundOperation extends PlacedOperation {
  /** Its id, or a name made of method and path; unique among the operations. */
  readonly name: string;
  readonly method: OpenApiOperation['method'];
  readonly tags: readonly string[];
}

/** An operation of a document that cannot become a tool. */
export interface Unsent {
  readonly name: string;
  readonly tags: readonly string[];
  readonly problem: DocumentProblem;
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
/** Methods that a document may describe (`query` since 3.2) and that no tool has. */
const otherMethods: readonly string[] = ['options', 'trace', 'query'];

/** Returns all operations of a document in order, and those that can't be tools. */
export function findOperations(document: Document): { readonly found: FoundOperation[]; readonly unsent: Unsent[] } {
  const found: FoundOperation[] = [];
  const unsent: Unsent[] = [];
  const names = new Set<string>();
  const { paths } = document.root;
  for (const [path, declared] of Object.entries(isObject(paths) ? paths : {})) {
    const pointer = `/paths${step(path)}`;
    if (path.startsWith('x-')) continue;
    const item = path.startsWith('/') ? itemAt(document, declared, pointer) : new Unusable(pointer, 'pattern', 'its path begins without /');
    if (item instanceof Unusable) {
      unsent.push({ name: truncateText(storableName(path) ?? 'path', 128), tags: [], problem: item.problem });
      continue;
    }
    for (const [key, node] of Object.entries(item.node)) {
      if (!isObject(node)) continue;
      const operation = { node, pointer: `${item.pointer}/${key}` };
      const tags = Array.isArray(node['tags']) ? node['tags'].filter((tag) => typeof tag === 'string') : [];
      const method = methods.find((known) => known.toLowerCase() === key);
      if (method === undefined && !otherMethods.includes(key)) continue;
      const name = [textOf(node['operationId']), madeName(key, path)]
        .map((wanted) => truncateText(storableName(wanted) ?? '', 128))
        .find((wanted) => wanted !== '' && !names.has(wanted));
      if (name !== undefined) names.add(name);
      if (name !== undefined && method !== undefined) found.push({ name, method, path, tags, item, operation });
      else unsent.push({ name: name ?? madeName(key, 'path'), tags, problem: problemOf(operation.pointer, method === undefined) });
    }
  }
  return { found, unsent };
}

/** Returns what `include` and `exclude` leave: a name selects by id and by tag, and `exclude` takes precedence. */
export function chooseFrom<O extends { readonly name: string; readonly tags: readonly string[] }>(
  operations: readonly O[],
  { include, exclude }: Pick<ReadOpenApi, 'include' | 'exclude'>,
): O[] {
  const included = include === null ? null : new Set(include);
  const excluded = new Set(exclude);
  const isNamed = (names: ReadonlySet<string>, { name, tags }: O) => names.has(name) || tags.some((tag) => names.has(tag));
  return operations.filter((one) => (included === null || isNamed(included, one)) && !isNamed(excluded, one));
}

/** Names that select nothing are typing errors: an operation that was meant to be excluded would stay. */
export function unknownNames(
  operations: readonly { readonly name: string; readonly tags: readonly string[] }[],
  { include, exclude }: Pick<ReadOpenApi, 'include' | 'exclude'>,
): OpenApiReading['unknown'] {
  const known = new Set(operations.flatMap(({ name, tags }) => [name, ...tags]));
  const unknownOf = (list: 'include' | 'exclude', names: readonly string[]) =>
    names.flatMap((name, position) => (known.has(name) ? [] : [{ list, position }]));
  return [...unknownOf('include', include ?? []), ...unknownOf('exclude', exclude)];
}

function itemAt(document: Document, declared: unknown, pointer: string): { node: Json; pointer: string } | Unusable {
  try {
    return document.resolve(declared, pointer);
  } catch (error) {
    if (error instanceof Unusable) return error;
    throw error;
  }
}

function madeName(method: string, path: string): string {
  return `${method}_${path.replaceAll(/\W+/g, '_').replaceAll(/^_+|_+$/g, '')}`;
}

function storableName(name: string | null): string | null {
  return name !== null && isStorable(name) ? name : null;
}

function problemOf(pointer: string, isOfMethod: boolean): DocumentProblem {
  return isOfMethod
    ? { pointer, rule: 'unsupported', message: 'no tool has its method' }
    : { pointer: `${pointer}/operationId`, rule: 'uniqueItems', message: 'another operation has the same id' };
}
