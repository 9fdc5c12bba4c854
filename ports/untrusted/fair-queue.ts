/** A queued job: its organization and how many bytes it holds. */
export interface Waiting {
  readonly organization: string;
  readonly bytes: number;
}

/** How much may be queued: per organization, and in total. */
export interface WaitingLimits {
  readonly jobs: number;
  readonly bytes: number;
  readonly allBytes: number;
}

/** A queue in which organizations take turns and each keeps its own order. */
export class FairQueue<W extends Waiting> {
  /** In the order of turns: an organization that was served moves to the end. */
  readonly #lines = new Map<string, W[]>();
  readonly #limits: WaitingLimits;
  #bytes = 0;

  constructor(limits: WaitingLimits) {
    this.#limits = limits;
  }

  /** Returns false when the organization, or all together, have too much queued already. */
  add(entry: W): boolean {
    const line = this.#lines.get(entry.organization) ?? [];
    const bytes = line.reduce((sum, waiting) => sum + waiting.bytes, entry.bytes);
    if (line.length >= this.#limits.jobs || bytes > this.#limits.bytes || this.#bytes + entry.bytes > this.#limits.allBytes) return false;
    this.#put(entry, [...line, entry]);
    return true;
  }

  /** Returns the next job of the first organization that may begin one; null when none may. */
  next(mayBegin: (organization: string) => boolean): W | null {
    for (const [organization, line] of this.#lines) {
      const [entry, ...rest] = line;
      if (!entry || !mayBegin(organization)) continue;
      this.#bytes -= entry.bytes;
      this.#lines.delete(organization);
      if (rest.length > 0) this.#lines.set(organization, rest);
      return entry;
    }
    return null;
  }

  /** Removes a job from the queue; false when it isn't in it. */
  remove(entry: W): boolean {
    const line = this.#lines.get(entry.organization) ?? [];
    const rest = line.filter((waiting) => waiting !== entry);
    if (rest.length === line.length) return false;
    this.#bytes -= entry.bytes;
    if (rest.length > 0) this.#lines.set(entry.organization, rest);
    else this.#lines.delete(entry.organization);
    return true;
  }

  /** Empties the queue. */
  takeAll(): W[] {
    const all = [...this.#lines.values()].flat();
    this.#lines.clear();
    this.#bytes = 0;
    return all;
  }

  #put(entry: W, line: W[]): void {
    this.#lines.set(entry.organization, line);
    this.#bytes += entry.bytes;
  }
}
