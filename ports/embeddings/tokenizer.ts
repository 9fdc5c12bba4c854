import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers';

/** A model's tokenizer, defined by its `tokenizer.json`. */
export interface Tokenizer {
  /** Returns token ids with the model's start and end tokens; for a text that is too long, those of its beginning, with both. */
  encode(text: string, maxTokens: number): number[];
  /** Counts the tokens of the text alone, without start and end tokens. */
  count(text: string): number;
}

/** Reads the text of a `tokenizer.json` (Hugging Face tokenizers). Its own truncation and padding are ignored: both are up to the caller. */
export function openTokenizer(json: string): Tokenizer {
  const tokenizer = new HuggingFaceTokenizer(JSON.parse(json), {});

  return {
    encode(text, maxTokens) {
      const { ids } = tokenizer.encode(text);
      return ids.length <= maxTokens ? ids : [...ids.slice(0, maxTokens - 1), ...ids.slice(-1)];
    },
    count: (text) => tokenizer.encode(text, { add_special_tokens: false }).ids.length,
  };
}
