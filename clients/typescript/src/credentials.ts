import { ConnectionError, isCode } from './errors.ts';
import type { LonghaulOptions } from './options.ts';
import { delay } from './timing.ts';

/** The tokens of a session. */
export interface Tokens {
  readonly access: string;
  /** Valid for one renewal. Null: kept elsewhere, as in a cookie. */
  readonly refresh: string | null;
}

const readsOfStore = 6;

/** Who the client is. Private fields keep the secrets out of whatever prints the client. */
export class Credentials {
  readonly #serviceKey: string | null;
  readonly #options: Pick<LonghaulOptions, 'onTokens' | 'loadTokens' | 'renewTokens'>;
  readonly #refresh: (refreshToken: string) => Promise<Tokens>;
  #tokens: Tokens | null;
  #renewing: Promise<void> | null = null;

  /** @param refresh asks the deployment for new tokens */
  constructor(options: LonghaulOptions, refresh: (refreshToken: string) => Promise<Tokens>) {
    this.#serviceKey = options.serviceKey ?? null;
    this.#tokens = options.session ?? null;
    this.#options = options;
    this.#refresh = refresh;
  }

  /** What to send as bearer; null: nothing. */
  async current(): Promise<string | null> {
    await this.#renewing?.catch(() => undefined); // who asked for it is told
    return this.#serviceKey ?? this.#tokens?.access ?? null;
  }

  get canRenew(): boolean {
    return this.#serviceKey === null && this.#tokens !== null && (this.#tokens.refresh !== null || this.#options.renewTokens !== undefined);
  }

  /** Renews the session, once for all calls that found the same token to be over. */
  async renew(stale: string): Promise<void> {
    if (this.#tokens?.access !== stale) return;
    this.#renewing ??= this.#replace(this.#tokens).finally(() => {
      this.#renewing = null;
    });
    await this.#renewing;
  }

  async #replace(old: Tokens): Promise<void> {
    const found = await this.#ask(old).catch((error: unknown) => this.#afterLostRace(old, error));
    try {
      await this.#options.onTokens?.(found);
    } finally {
      // The old ones are used up, also where the new ones could not be stored.
      this.#tokens = found;
    }
  }

  #ask(old: Tokens): Promise<Tokens> {
    return this.#options.renewTokens ? this.#options.renewTokens() : this.#refresh(old.refresh ?? '');
  }

  /** Another process was faster, or the reply with the new tokens was lost: they are where the winner has stored them, maybe a moment later. */
  async #afterLostRace(old: Tokens, error: unknown): Promise<Tokens> {
    if (!this.#options.loadTokens || !(isCode(error, 'refresh_superseded') || error instanceof ConnectionError)) throw error;
    for (let reads = 0; reads < readsOfStore; reads++) {
      if (reads > 0) await delay(100 * 2 ** reads);
      const stored = await this.#options.loadTokens();
      if (stored && stored.access !== old.access) return stored;
    }
    throw error;
  }
}
