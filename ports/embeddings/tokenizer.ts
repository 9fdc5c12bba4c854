import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers';

/** A tokenizer of a model, as its `tokenizer.json` says. */
export interface Tokenizer {
  /** Token ids with the model's marks of beginning and end; of a text that is too long its beginning, with both marks. */
  encode(text: string, maxTokens: number): number[];
  /** Tokens of the text alone, without marks. */
  count(text: string): number;
}

/** Reads the text of a `tokenizer.json` (Hugging Face tokenizers). Its own truncation and padding don't count: both are the caller's business. */
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
