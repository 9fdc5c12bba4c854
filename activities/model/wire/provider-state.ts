import { cleanText } from './plain-text.ts';
import type { ProviderState, ProviderStatePart } from '../prompt/prompt.ts';
import type { ProviderOptions } from './providers.ts';

/** Collects, in order, the parts of an answer that its provider may want back. */
export class StateParts {
  readonly parts: ProviderStatePart[] = [];
  readonly #reasoning = new Map<string, { type: 'reasoning'; text: string; options: ProviderOptions }>();

  addText(): void {
    this.parts.push({ type: 'text', options: null });
  }

  addCall(id: string, options: ProviderOptions | undefined): void {
    this.parts.push({ type: 'call', id, options: withoutItemIds(options) });
  }

  openReasoning(id: string): void {
    const part = { type: 'reasoning' as const, text: '', options: {} };
    this.#reasoning.set(id, part);
    this.parts.push(part);
  }

  /** Signatures come with any part of a block, usually its last. */
  addReasoning(id: string, text: string, options: ProviderOptions | undefined): void {
    const part = this.#reasoning.get(id);
    if (!part) return;
    part.text += text;
    for (const [provider, values] of Object.entries(options ?? {})) part.options[provider] = { ...part.options[provider], ...values };
  }
}

/** Item ids are useless at a provider that stores nothing. */
function withoutItemIds(options: ProviderOptions | undefined): ProviderOptions | null {
  const kept = Object.entries(options ?? {}).flatMap(([provider, { itemId: _itemId, ...values }]) =>
    Object.keys(values).length > 0 ? [[provider, values] as const] : [],
  );

  return kept.length > 0 ? Object.fromEntries(kept) : null;
}

/** Returns null unless the turn goes on with calls and there is something that belongs before them. */
export function stateOf(model: string, parts: readonly ProviderStatePart[], hasCalls: boolean): ProviderState | null {
  const plain = parts.map(storable);
  const isWorthKeeping = plain.some((part) => part.options !== null || (part.type === 'reasoning' && part.text !== ''));

  return hasCalls && isWorthKeeping ? { model, parts: plain } : null;
}

function storable(part: ProviderStatePart): ProviderStatePart {
  const options = part.options !== null && Object.keys(part.options).length === 0 ? null : part.options;

  return part.type === 'reasoning' ? { ...part, text: cleanText(part.text), options } : { ...part, options };
}
