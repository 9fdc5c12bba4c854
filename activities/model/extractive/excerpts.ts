import { stemsOf, synonymsOf, wordsOf } from './words.ts';

/** A text that was read, and where it came from. */
export interface Source {
  readonly title: string | null;
  readonly url: string | null;
  readonly text: string;
  /** The item of a knowledge base that contains it. */
  readonly itemId?: string;
}

/** A sentence or line of a source, without markup. `share` is the fraction of the question's words that it contains, 0–1. */
export interface Excerpt {
  readonly text: string;
  readonly source: Source;
  readonly score: number;
  readonly share: number;
}

interface Passage {
  readonly text: string;
  readonly source: Source;
  readonly isLine: boolean;
  readonly stems: ReadonlySet<string>;
  readonly headingStems: ReadonlySet<string>;
}

// These texts come from strangers: every length is bounded, and no pattern below takes more than linear time.
const maxPassages = 20_000;
const maxTerms = 60;
const maxLine = 4_000;
const maxExcerpt = 600;
const longLineParts = new RegExp(`.{1,${maxLine}}(?=\\s|$)|.{1,${maxLine}}`, 'g');

/** Returns the one to three passages that share most words with the question, best first; the first ones when the question has no words to look for. */
export function bestExcerpts(request: string, sources: readonly Source[]): Excerpt[] {
  const question = questionOf(request);
  const passages = sources.flatMap(passagesOf).slice(0, maxPassages);
  if (question.terms.size === 0) return passages.slice(0, 3).map((passage) => excerptOf(passage, { score: 0, share: 0 }));

  const rarity = rarityOf(passages, [...question.terms.keys()]);
  const ranked = passages
    .map((passage) => excerptOf(passage, rate(passage, question.terms, rarity)))
    .filter((excerpt) => excerpt.score > 0)
    .toSorted((a, b) => b.score - a.score);

  const best = ranked[0];
  if (!best) return [];
  const isOneLine = question.asksForOne && passages.some((passage) => passage.isLine && excerptText(passage) === best.text);
  return distinct(ranked.filter((excerpt) => excerpt.score >= best.score * 0.75)).slice(0, isOneLine ? 1 : 3);
}

interface Question {
  /** Stem → weight. */
  readonly terms: ReadonlyMap<string, number>;
  /** "Which …", "who …": the question wants one answer. */
  readonly asksForOne: boolean;
}

/** Returns everything there is to quote, when it is so short that it is its own answer: the time, a single value. */
export function wholeIfShort(sources: readonly Source[]): Excerpt[] {
  if (sources.reduce((length, source) => length + source.text.length, 0) > 400) return [];

  return sources
    .flatMap(passagesOf)
    .slice(0, 6)
    .map((passage) => excerptOf(passage, { score: 0, share: 0 }));
}

/** Returns the sentences that ask, if any do; otherwise everything except addresses and phrases of asking. */
export function questionOf(request: string): Question {
  const withoutUrls = request.slice(0, 20_000).replaceAll(/https?:\/\/\S+/g, ' ');
  const sentences = withoutUrls.split(/(?<=[.!?\n。！？:])/);
  const asking = sentences.filter((sentence) => /[?？]$/.test(sentence)).join(' ');
  const text =
    asking === ''
      ? withoutUrls.replaceAll(
          /\b(answer|question|read|open|look|tell|find|explain|describe|summari[sz]e|say|page|url|link|document|according|about|using|use|want|need|know)\b/gi,
          ' ',
        )
      : asking;
  const category = /\b(?:which|what)\s+([\p{L}]+)/iu.exec(text)?.[1];
  const categoryStem = category ? (stemsOf(category)[0] ?? null) : null;

  const terms = new Map(
    stemsOf(text)
      .slice(0, maxTerms)
      .map((term) => [term, term === categoryStem ? 0.5 : 1]),
  );
  return { terms, asksForOne: /\b(which|who|when|where)\b/i.test(text) };
}

/** 0 for a word that occurs in every passage, 1 for one that occurs in almost none. */
function rarityOf(passages: readonly Passage[], terms: readonly string[]): Map<string, number> {
  const scale = Math.log(1 + passages.length) || 1;

  return new Map(
    terms.map((term) => {
      const holders = passages.reduce((count, passage) => count + Number(passage.stems.has(term)), 0);
      return [term, Math.log(1 + passages.length / (1 + holders)) / scale];
    }),
  );
}

function rate(passage: Passage, terms: ReadonlyMap<string, number>, rarity: ReadonlyMap<string, number>): { score: number; share: number } {
  let score = 0;
  let matched = 0;
  for (const [term, weight] of terms) {
    const match = matchOf(passage, term);
    score += match * weight * (0.5 + (rarity.get(term) ?? 0));
    matched += match >= 0.6 ? 1 : 0;
  }

  const surplus = Math.max(0, passage.stems.size - matched);
  return { score: matched === 0 ? 0 : score * (1 - 0.2 * Math.min(1, surplus / 20)), share: matched / terms.size };
}

function matchOf(passage: Passage, term: string): number {
  if (passage.stems.has(term)) return 1;
  if (synonymsOf(term).some((synonym) => passage.stems.has(synonym))) return 0.7;
  return passage.headingStems.has(term) ? 0.4 : 0;
}

function passagesOf(source: Source): Passage[] {
  let headingStems: ReadonlySet<string> = new Set();
  const passages: Passage[] = [];
  const add = (text: string, isLine: boolean) => {
    if (wordsOf(text).length > 0) passages.push({ text, source, isLine, stems: new Set(stemsOf(text)), headingStems });
  };

  for (const block of blocksOf(source.text)) {
    if (block.kind === 'heading') headingStems = new Set(stemsOf(block.text));
    else if (block.kind !== 'prose') add(block.text, true);
    else for (const sentence of block.text.split(/(?<=[.!?。！？]["')\]]?)\s+(?=[\p{Lu}\p{N}"'“([])/u)) add(sentence.trim(), false);
  }

  return passages;
}

interface Block {
  readonly kind: 'heading' | 'item' | 'line' | 'prose';
  readonly text: string;
}

/** Keeps headings, list items and single lines as they are, and joins wrapped prose again, up to the maximum line length. */
function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let isOpen = false;

  for (const raw of linesOf(text)) {
    const line = raw.trim();
    const plain = stripMarkup(line);
    const last = blocks.at(-1);
    if (plain === '' || /^(```|~~~|[-=_*|: ]+$)/.test(line)) {
      isOpen = false;
    } else if (/^#{1,6}\s/.test(line)) {
      blocks.push({ kind: 'heading', text: plain });
      isOpen = false;
    } else if (isOpen && last && !isItem(line) && isContinued(last.text, plain)) {
      blocks[blocks.length - 1] = { kind: last.kind === 'item' ? 'item' : 'prose', text: `${last.text} ${plain}` };
    } else {
      blocks.push({ kind: kindOf(line, plain), text: plain });
      isOpen = true;
    }
  }

  return blocks;
}

/** Keeps lines as they are; splits one that is too long between words. */
function linesOf(text: string): string[] {
  return text.split('\n').flatMap((line) => (line.length <= maxLine ? [line] : (line.match(longLineParts) ?? [])));
}

function kindOf(line: string, plain: string): Block['kind'] {
  if (isItem(line)) return 'item';

  return isSentence(plain) ? 'prose' : 'line';
}

function isItem(line: string): boolean {
  return /^([-*+•]|\d{1,3}[.)]|\|)\s/.test(line) || /^(GET|POST|PUT|PATCH|DELETE|HEAD)\s+\//.test(line);
}

function isContinued(before: string, next: string): boolean {
  const isUnfinished = before.length >= 40 && before.length < maxLine && !/[.!?:;。！？]$/.test(before.slice(-1));
  return isUnfinished && /^[\p{Ll}\p{N}(]/u.test(next);
}

function isSentence(text: string): boolean {
  return /[.!?。！？]["')\]]?$/.test(text) || text.length > 120;
}

/** Returns one line without Markdown and HTML markup; names like `run_id` keep their underscores. */
export function stripMarkup(line: string): string {
  return line
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replaceAll(/!?\[([^\][]{1,300})\]\([^()]{0,1000}\)/g, '$1')
    .replaceAll(/<\/?[a-z][^<>]{0,300}>/gi, ' ')
    .replace(/^(#{1,6} |> ?|[-*+•] (\[[ x]\] )?|\d{1,3}[.)] )/i, '')
    .replaceAll(/\*\*|__|~~|`/g, '')
    .replaceAll(/(^| )[*_](?=\S)|(?<=\S)[*_](?= |$|[.,;:!?)])/g, '$1')
    .replaceAll(/^\| ?| ?\|$/g, '')
    .replaceAll(/ ?\| ?/g, ' · ')
    .replaceAll(/ +/g, ' ')
    .trim();
}

function excerptOf(passage: Passage, rating: { score: number; share: number }): Excerpt {
  return { text: excerptText(passage), source: passage.source, ...rating };
}

function excerptText(passage: Passage): string {
  if (passage.text.length <= maxExcerpt) return passage.text;

  return `${passage.text.slice(0, maxExcerpt).replace(/\s+\S*$/, '')}…`;
}

/** Drops excerpts that say nearly the same as a better one. */
function distinct(excerpts: readonly Excerpt[]): Excerpt[] {
  const kept: { excerpt: Excerpt; stems: Set<string> }[] = [];
  for (const excerpt of excerpts.slice(0, 20)) {
    const stems = new Set(stemsOf(excerpt.text));
    const isEcho = kept.some((other) => likeness(stems, other.stems) > 0.8);
    if (!isEcho) kept.push({ excerpt, stems });
  }

  return kept.map(({ excerpt }) => excerpt);
}

/** Common words as a fraction of all words (Jaccard). */
function likeness(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  const common = [...left].filter((word) => right.has(word)).length;

  return common / Math.max(1, left.size + right.size - common);
}
