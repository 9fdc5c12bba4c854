/** Detects, while a text streams, whether it is JSON, and strips the code fence that models like to put around it. Lives as long as one block. */
export class JsonDeltas {
  readonly #begins: RegExp;
  #kind: 'json' | 'text' | null = null;
  #isFenced = false;
  #waiting = '';

  /** `isCertain`: the model answers only in JSON, so a bare number or string is JSON too; otherwise only text that looks like an object or a list is. */
  constructor(isCertain: boolean) {
    this.#begins = isCertain ? /^(?:[{["\d-]|true|false|null)/ : /^[{[]/;
  }

  /** Null until the first character has decided it. */
  get kind(): 'json' | 'text' | null {
    return this.#kind;
  }

  /** Returns what can be emitted now, possibly nothing. */
  push(delta: string): string {
    const text = this.#waiting + delta;
    this.#waiting = '';
    return this.#kind === null ? this.#start(text) : this.#go(text);
  }

  /** Returns what was still held back when the block ended. */
  end(): string {
    const rest = this.#waiting;
    this.#waiting = '';
    if (this.#kind !== null) return this.#isFenced ? rest.replace(/\s*`{0,3}\s*$/, '') : rest;
    this.#kind = 'text';
    return rest;
  }

  #start(text: string): string {
    const trimmed = text.trimStart();
    const fence = /^```(?:json)?[ \t]*\n/.exec(trimmed)?.[0];
    if (trimmed === '' || (fence === undefined && isBegunFence(trimmed))) {
      this.#waiting = text;
      return '';
    }
    this.#isFenced = fence !== undefined;
    this.#kind = this.#isFenced || this.#begins.test(trimmed) ? 'json' : 'text';
    return this.#kind === 'text' ? text : this.#go(trimmed.slice(fence?.length ?? 0));
  }

  /** What may be the closing fence is held back until it turns out not to be. */
  #go(text: string): string {
    const held = this.#isFenced ? (/\s*`{0,3}\s*$/.exec(text)?.[0].length ?? 0) : 0;
    this.#waiting = held === 0 ? '' : text.slice(-held);
    return held === 0 ? text : text.slice(0, -held);
  }
}

function isBegunFence(text: string): boolean {
  return ['```json\n', '```\n'].some((fence) => fence.startsWith(text.replaceAll(/[ \t]+$/g, '')));
}
