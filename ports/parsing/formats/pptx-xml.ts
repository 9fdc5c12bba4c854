import { SaxesParser } from 'saxes';
import { ParseFailure } from '../parsed.ts';
import { headerOf, lineOf } from './table.ts';

/** The text of a slide or of its page of notes. */
export interface SlideText {
  readonly title: string;
  /** Markdown: paragraphs, list items, tables. */
  readonly body: string;
  /** For a page of notes: what the speaker wrote. */
  readonly notes: string;
  readonly id: string | null;
}

interface XmlHandlers {
  /** Element names come without their prefix; attributes with it. */
  readonly open?: (name: string, attributes: Readonly<Record<string, string>>) => unknown;
  readonly close?: (name: string) => unknown;
  readonly text?: (text: string) => unknown;
}

/**
 * Reads XML of a document, in UTF-8 or UTF-16. Entities other than those of XML itself are an error, so that none can expand without bound.
 * @throws ParseFailure `malformed`
 */
export function readXml(bytes: Uint8Array, { open, close, text }: XmlHandlers): void {
  const parser = new SaxesParser({ xmlns: false });
  const local = (name: string) => name.slice(name.indexOf(':') + 1);
  parser.on('opentag', ({ name, attributes }) => void open?.(local(name), attributes));
  parser.on('closetag', ({ name }) => void close?.(local(name)));
  parser.on('text', (value) => void text?.(value));
  parser.on('cdata', (value) => void text?.(value));
  parser.on('error', (error) => {
    throw new ParseFailure('malformed', `A part of the file is not XML: ${error.message.slice(0, 160)}`);
  });
  const isWide = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  const charset = isWide ? (bytes[0] === 0xff ? 'utf-16le' : 'utf-16be') : 'utf-8';
  parser.write(new TextDecoder(charset).decode(bytes)).close();
}

/** Placeholders that repeat on every slide and say nothing about it. */
const furniture: readonly string[] = ['dt', 'ftr', 'sldNum', 'hdr', 'sldImg'];
const titles: readonly string[] = ['title', 'ctrTitle'];

/** Reads paragraphs of DrawingML (ECMA-376 part 1, §21.1) by the placeholder of their shape. */
export function readSlide(xml: Uint8Array): SlideText {
  const reader = new SlideReader();
  readXml(xml, reader);
  return reader.result();
}

class SlideReader implements XmlHandlers {
  #title = '';
  #body: string[] = [];
  #notes: string[] = [];
  #id: string | null = null;
  /** Placeholder of the open shape; empty: none. */
  #placeholder = '';
  #paragraph: string | null = null;
  #level = 0;
  #isInText = false;
  #rows: string[][] | null = null;

  readonly open = (name: string, attributes: Readonly<Record<string, string>>): void => {
    if (name === 'sp' || name === 'graphicFrame') this.#placeholder = '';
    else if (name === 'ph') this.#placeholder = attributes.type ?? 'body';
    else if (name === 'creationId') this.#id ??= attributes.val ?? null;
    else if (name === 'tbl') this.#rows = [];
    else if (name === 'tr') this.#rows?.push([]);
    else if (name === 'tc') this.#rows?.at(-1)?.push('');
    else if (name === 'p') this.#paragraph = '';
    else if (name === 'pPr') this.#level = Number(attributes.lvl ?? 0) || 0;
    else if (name === 't') this.#isInText = true;
    else if (name === 'br' && this.#paragraph !== null) this.#paragraph += ' ';
  };

  readonly text = (value: string): void => {
    if (this.#isInText && this.#paragraph !== null) this.#paragraph += value;
  };

  readonly close = (name: string): void => {
    if (name === 't') this.#isInText = false;
    else if (name === 'p') this.#endParagraph();
    else if (name === 'tbl') this.#endTable();
    else if (name === 'sp') this.#placeholder = '';
  };

  result(): SlideText {
    return { title: this.#title.trim(), body: this.#body.join('\n').trim(), notes: this.#notes.join('\n').trim(), id: this.#id };
  }

  #endParagraph(): void {
    const text = (this.#paragraph ?? '').replaceAll(/\s+/g, ' ').trim();
    const level = Math.min(this.#level, 8);
    this.#paragraph = null;
    this.#level = 0;
    if (text === '') return;
    const row = this.#rows?.at(-1);
    if (row) row[row.length - 1] = [row.at(-1), text].filter(Boolean).join(' ');
    else if (titles.includes(this.#placeholder)) this.#title = `${this.#title} ${text}`;
    else if (!furniture.includes(this.#placeholder)) {
      const line = level > 0 ? `${'  '.repeat(level - 1)}- ${text}` : text;
      this.#body.push(level > 0 ? line : `${line}\n`);
      if (this.#placeholder === 'body') this.#notes.push(text);
    }
  }

  #endTable(): void {
    const [first, ...rest] = this.#rows ?? [];
    this.#rows = null;
    if (first) this.#body.push(`\n${headerOf(first) || `${lineOf(first)}\n`}${rest.map(lineOf).join('\n')}\n`);
  }
}
