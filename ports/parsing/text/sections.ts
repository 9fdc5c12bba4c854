import type { Nodes } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { titleOf } from './clean.ts';
import { KeyMaker } from './keys.ts';
import { cutParagraphs } from './paragraphs.ts';
import { parseLimits, type ParsedPart } from '../parsed.ts';

interface Heading {
  readonly depth: number;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

interface Section {
  /** Headings, outermost first, this section's last. */
  readonly path: readonly string[];
  readonly depth: number;
  readonly start: number;
  /** Where its own text ends and its first subsection begins. */
  readonly headEnd: number;
  readonly bodyEnd: number;
  readonly end: number;
  readonly children: readonly Section[];
}

export interface SectionOptions {
  /** Title of the document. */
  readonly title: string | null;
  readonly metadata?: ParsedPart['metadata'];
  /** False: a `#` at the start of a line is no heading. */
  readonly hasHeadings?: boolean;
  /** Makes the keys; one for all texts of a file. */
  readonly keys?: KeyMaker;
}

/**
 * Splits Markdown at its headings (CommonMark, ATX and Setext). A text of at most 20,000 characters stays whole; in a longer one each largest section that is
 * short enough becomes a part, so that a change of one section leaves the others unchanged. Sections that are themselves too long are split between paragraphs;
 * a table that is split repeats its header.
 */
export function* cutSections(text: string, options: SectionOptions): Generator<ParsedPart> {
  const { title, metadata, keys = new KeyMaker() } = options;
  const base = metadata ? { metadata } : {};
  if (text.length <= parseLimits.sectionChars) {
    if (text.trim() !== '') yield { ...base, key: keys.keyOf(), title, content: text.trim() };
    return;
  }
  const headings = options.hasHeadings === false ? [] : headingsOf(text);
  for (const { path, start, end } of largest(sectionsOf(text, headings))) {
    for (const content of cutParagraphs(text.slice(start, end))) {
      const partTitle = titleOf((path[0] === title ? path : [title, ...path]).filter(Boolean).join(' › '));
      yield { ...base, key: keys.keyOf(...path), title: partTitle, content };
    }
  }
}

/** Returns the title that a document gives itself: its first heading, when that is a first-level one. */
export function firstHeading(text: string): string | null {
  const [heading] = headingsOf(text.slice(0, 4_000));
  return heading?.depth === 1 ? titleOf(heading.text) : null;
}

function headingsOf(text: string): Heading[] {
  return fromMarkdown(text).children.flatMap((node) => {
    const start = node.position?.start.offset;
    const end = node.position?.end.offset;
    if (node.type !== 'heading' || start === undefined || end === undefined) return [];
    return [{ depth: node.depth, text: textOf(node), start, end }];
  });
}

function sectionsOf(text: string, headings: readonly Heading[]): Section[] {
  const first = headings[0]?.start ?? text.length;
  const preamble = { path: [], depth: 0, start: 0, headEnd: 0, bodyEnd: first, end: first, children: [] };
  const named = nested(headings, { from: 0, to: headings.length, end: text.length, path: [] });
  return text.slice(0, first).trim() === '' ? named : [preamble, ...named];
}

interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly end: number;
  readonly path: readonly string[];
}

function nested(headings: readonly Heading[], { from, to, end, path }: Stretch): Section[] {
  const sections: Section[] = [];
  for (let index = from; index < to;) {
    const heading = headings[index];
    if (!heading) break;
    let next = index + 1;
    while (next < to && (headings[next]?.depth ?? 0) > heading.depth) next += 1;
    const ownEnd = next < to ? (headings[next]?.start ?? end) : end;
    const ownPath = [...path, heading.text];
    const children = nested(headings, { from: index + 1, to: next, end: ownEnd, path: ownPath });
    const bodyEnd = children[0]?.start ?? ownEnd;
    sections.push({ path: ownPath, depth: heading.depth, start: heading.start, headEnd: heading.end, bodyEnd, end: ownEnd, children });
    index = next;
  }
  return sections;
}

function* largest(sections: readonly Section[]): Generator<{ path: readonly string[]; start: number; end: number }> {
  for (const section of sections) {
    const { path, start, headEnd, bodyEnd, end, children } = section;
    if (end - start <= parseLimits.sectionChars || children.length === 0) {
      yield { path, start, end };
      continue;
    }
    // A heading alone carries nothing: the titles of its subsections contain it.
    if (bodyEnd > headEnd + 2) yield { path, start, end: bodyEnd };
    yield* largest(children);
  }
}

/** Returns what a reader sees of a node: its text without markup; images by their alternative text. */
function textOf(node: Nodes): string {
  if ('value' in node) return node.value;
  if ('alt' in node && node.alt) return node.alt;
  return 'children' in node ? node.children.map((child) => textOf(child)).join('') : '';
}
