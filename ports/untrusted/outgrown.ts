import { createHash } from 'node:crypto';

/** What a job works on: a schema, a template, a document. Called only where it must be hashed. */
export type Subject = () => string | Uint8Array;

/** The organization and sort of a job, and its subject. */
export interface WorkTenant {
  readonly organization: string;
  readonly sort: string;
  readonly subject: Subject;
}

/** Remembers what outgrew its limits, by organization, sort and SHA-256: it is refused at once for ten minutes, with the message of the first time. */
export class Outgrown {
  /** The oldest first. */
  readonly #entries = new Map<string, { readonly told: string; readonly until: number }>();
  /** Until when an organization counts as one whose work has outgrown its limits; the oldest first. */
  readonly #organizations = new Map<string, number>();
  readonly #keepMs: number;

  constructor(keepMs = 600_000) {
    this.#keepMs = keepMs;
  }

  /** Returns the message of the first time; null for unknown work. Costs nothing while nothing is remembered. */
  find(work: WorkTenant): string | null {
    this.#forgetOld();
    return this.#entries.size === 0 ? null : (this.#entries.get(keyOf(work))?.told ?? null);
  }

  remember(work: WorkTenant, told: string): void {
    const key = keyOf(work);
    this.#entries.delete(key);
    this.#entries.set(key, { told, until: Date.now() + this.#keepMs });
    if (this.#entries.size > maxEntries) this.#entries.delete(this.#entries.keys().next().value ?? '');
  }

  /** Records that work of the organization has outgrown its limits, whether its subject is remembered or not. */
  blame(organization: string): void {
    this.#organizations.delete(organization);
    this.#organizations.set(organization, Date.now() + this.#keepMs);
  }

  /** Whether work of the organization has outgrown its limits in the last ten minutes. */
  isBlamed(organization: string): boolean {
    for (const [name, until] of this.#organizations) {
      if (until > Date.now()) break;
      this.#organizations.delete(name);
    }
    return this.#organizations.has(organization);
  }

  #forgetOld(): void {
    for (const [key, { until }] of this.#entries) {
      if (until > Date.now()) return;
      this.#entries.delete(key);
    }
  }
}

/** Four children that each end one job every half second fill this in ten minutes. */
const maxEntries = 5_000;

function keyOf({ organization, sort, subject }: WorkTenant): string {
  return `${organization} ${sort} ${createHash('sha256').update(subject()).digest('base64')}`;
}
