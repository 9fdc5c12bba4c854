import { createHash } from 'node:crypto';
import { nameOf, titleOf } from '../text/clean.ts';
import { KeyMaker } from '../text/keys.ts';
import { ParseFailure, parseLimits, type FileParser, type ParsedPart, type ParseInput } from '../parsed.ts';
import { readLines, readWholeText } from '../text/read-text.ts';
import { cutParagraphs } from '../text/paragraphs.ts';

/** JSON: one item for each element of an array, otherwise one for the whole value. */
export const parseJson: FileParser = async function* (input) {
  const text = await readWholeText(input);
  if (text.trim() === '') return;
  const value = jsonOf(text);
  const file = { input, keys: new KeyMaker(), ids: new Set<string>() };
  const elements: readonly unknown[] = Array.isArray(value) ? value : [value];
  const offsets = Array.isArray(value) ? offsetsOf(text) : [0].values();
  for (const [index, element] of elements.entries()) {
    const number = index + 1;
    const place = `Element ${number} at character ${offsets.next().value ?? 0}`;
    yield* partsOf(element, { ...file, number, of: elements.length, place });
  }
};

/** Yields the offset in the text at which each element of an array begins. */
function* offsetsOf(text: string): Generator<number> {
  let depth = 0;
  let isAwaited = false;
  // A string, an opening, closing or separating character, or the characters of a number or a name.
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},]|[^\s"[\]{},:]+/gs)) {
    if (isAwaited && token !== ']') yield index;
    if (token === ']' || token === '}') depth -= 1;
    const isFirst = token === '[' && depth === 0;
    if (token === '[' || token === '{') depth += 1;
    isAwaited = isFirst || (token === ',' && depth === 1);
  }
}

/** JSON Lines: one item per line. A line that is not JSON is left out with a warning; a file without any valid line is refused. */
export const parseJsonl: FileParser = async function* (input) {
  const file = { input, keys: new KeyMaker(), ids: new Set<string>() };
  let number = 0;
  let good = 0;
  for await (const { line, offset } of readLines(input)) {
    number += 1;
    if (line.trim() === '') continue;
    let element: unknown;
    try {
      element = JSON.parse(line);
    } catch (error) {
      input.warn('bad_line', `Line ${number} at character ${offset} is not JSON: ${messageOf(error)}`);
      continue;
    }
    good += 1;
    yield* partsOf(element, { ...file, number, of: 2, place: `Line ${number} at character ${offset}` });
  }
  if (number > 0 && good === 0) throw new ParseFailure('malformed', 'No line of the file is JSON.');
};

interface Place {
  readonly input: ParseInput;
  readonly keys: KeyMaker;
  /** Ids that earlier elements have. */
  readonly ids: Set<string>;
  /** From 1. */
  readonly number: number;
  readonly of: number;
  readonly place: string;
}

/** An object with a text `content` has the fields of an item; any other value becomes the text itself. */
function* partsOf(element: unknown, { input, keys, ids, number, of, place }: Place): Generator<ParsedPart> {
  const { content, title, ...members } = isItem(element) ? element : { content: textOf(element), title: null };
  if (content.trim() === '') return;
  const name =
    titleOf(typeof title === 'string' ? title : null) ??
    titleOf([nameOf(input.filename), of > 1 ? `${number}` : ''].filter(Boolean).join(' '));
  const { external_id: id, ...others } = members;
  const isOwn = typeof id === 'string' && id !== '' && !ids.has(id);
  if (typeof id === 'string' && ids.has(id))
    input.warn('duplicate_id', `${place} has the same external_id as an earlier element; its external_id was omitted.`);
  if (isOwn) ids.add(id);
  const stretches = content.length > parseLimits.contentChars ? cutParagraphs(content) : [content];
  let isFirst = true;
  for (const text of stretches) {
    // By its own id, otherwise by its text: an element that moves keeps its key.
    const key = isOwn ? keys.keyOf('id', id) : keys.keyOf('element', hashOf(text));
    // An id that is not text is reported as an error of the element.
    const ownId = (isOwn && isFirst) || (id !== undefined && typeof id !== 'string') ? { external_id: id } : {};
    yield { key, title: name, content: text, place, fields: { ...others, ...ownId } };
    isFirst = false;
  }
}

function isItem(element: unknown): element is Readonly<Record<string, unknown>> & { readonly content: string; readonly title?: unknown } {
  return typeof element === 'object' && element !== null && 'content' in element && typeof element.content === 'string';
}

function textOf(element: unknown): string {
  return typeof element === 'string' ? element : JSON.stringify(element, null, 2);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ParseFailure('malformed', `The file is not JSON: ${messageOf(error)}`);
  }
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 160).toWellFormed();
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
