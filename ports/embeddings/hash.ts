/** Dimensions of `hash-v1`. */
export const hashDim = 1_024;

const gramLength = 4;
/** The kind of a feature: its tag separates a word, a pair of words and a stretch of characters that are spelled alike. */
const tags = { word: 1, pair: 2, gram: 3 } as const;

/** Scripts without spaces between words: each character counts as a word, so that pairs of them become features. */
const words =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|[\p{L}\p{M}\p{N}]+/gu;

/**
 * Returns the vector of a text by feature hashing (Weinberger et al., 2009), of length 1: words, pairs of neighbouring words and stretches of four characters,
 * each counted as the square root of its frequency in the bucket and with the sign of its FNV-1a hash. Pure and the same on every machine; texts are near where
 * they share words or parts of them, nothing more. Never the zero vector, whose cosine is undefined.
 */
export function hashVector(text: string): Float32Array {
  const vector = new Float32Array(hashDim);
  for (const [hash, frequency] of featuresOf(text)) {
    const bucket = (hash ^ (hash >>> 15)) & (hashDim - 1);
    vector[bucket] = (vector[bucket] ?? 0) + (hash & 0x4000_0000 ? -1 : 1) * Math.sqrt(frequency);
  }
  return toUnitLength(vector);
}

/** Divides a vector by its length, in place; one without a length becomes the first unit vector. */
export function toUnitLength(vector: Float32Array): Float32Array {
  let sum = 0;
  for (const value of vector) sum += value * value;
  const length = Math.sqrt(sum);
  if (length === 0 || !Number.isFinite(length)) vector.fill(0)[0] = 1;
  else for (let at = 0; at < vector.length; at++) vector[at] = (vector[at] ?? 0) / length;
  return vector;
}

/** Returns the frequency of each feature, by its hash: a signed integer of 32 bits, which the engine stores without a box. */
function featuresOf(text: string): Map<number, number> {
  const found = new Map<number, number>();
  const add = (hash: number) => found.set(hash, (found.get(hash) ?? 0) + 1);

  let before: Word | null = null;
  for (const [match] of text.normalize('NFKC').toLowerCase().matchAll(words)) {
    const word = wordOf(match);
    if (before !== null) add(fnv1a(before.pairStart, match, 0, match.length));
    for (const hash of word.features) add(hash);
    before = word;
  }
  if (found.size === 0) add(fnv1a(start(tags.gram), text.trim(), 0, text.trim().length)); // only symbols: equal ones yield equal vectors
  return found;
}

/** The features of a word that do not depend on its neighbours. */
interface Word {
  /** Hashes of the word itself and of its stretches of characters. */
  readonly features: readonly number[];
  /** Hash from which the hash of a pair with this first word continues. */
  readonly pairStart: number;
}

/** A cache: texts use the same words again and again. */
const knownWords = new Map<string, Word>();
const maxKnownWords = 20_000;
const maxKnownChars = 32;

function wordOf(text: string): Word {
  const known = knownWords.get(text);
  if (known !== undefined) return known;

  const padded = ` ${text} `;
  const features = [fnv1a(start(tags.word), text, 0, text.length)];
  for (let at = 0; at + gramLength <= padded.length; at++) features.push(fnv1a(start(tags.gram), padded, at, at + gramLength));
  const word = { features, pairStart: fnv1a(start(tags.pair), text, 0, text.length) };
  if (text.length > maxKnownChars) return word;
  if (knownWords.size >= maxKnownWords) knownWords.clear();
  // A match is a slice of its document's text and would keep all of it in memory.
  knownWords.set(Buffer.from(text).toString(), word);
  return word;
}

function start(tag: number): number {
  return step(0x811c_9dc5, tag);
}

/** FNV-1a of 32 bits over the UTF-16 code units of a stretch, low byte first (Fowler, Noll, Vo; RFC 9923), continuing from a hash. */
function fnv1a(from: number, text: string, begin: number, end: number): number {
  let hash = step(from, 0xff); // separates the stretch from what precedes it
  for (let at = begin; at < end; at++) {
    const unit = text.charCodeAt(at);
    hash = step(step(hash, unit & 0xff), unit >>> 8);
  }
  return hash | 0;
}

function step(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, 0x0100_0193);
}
