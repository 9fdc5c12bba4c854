import { Resolver } from 'node:dns/promises';

/** The keys of signatures as name servers return them. */
export interface DkimKeys {
  /** TXT records by name, each complete; null: there are none. */
  readonly records: Readonly<Record<string, readonly string[] | null>>;
  /** A name server did not answer: some of them are unknown. */
  readonly isPartial: boolean;
}

const timeoutMs = 2_000;
const tries = 2;
/** Errors of c-ares that mean that there is no such record. */
const absent: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME', 'EFORMERR']);
const maxRecords = 10;
const maxChars = 8_192;

/** Looks up the keys of signatures (RFC 6376 §3.6.2), at the given name servers or those of the system. Never throws. */
export async function findDkimKeys(names: readonly string[], servers: readonly string[]): Promise<DkimKeys> {
  const resolver = new Resolver({ timeout: timeoutMs, tries });
  if (servers.length > 0) resolver.setServers(servers);
  const found = await Promise.all(
    [...new Set(names)].map(async (name) => {
      try {
        const records = await resolver.resolveTxt(name);
        return { name, records: records.map((strings) => strings.join('').slice(0, maxChars)).slice(0, maxRecords), isKnown: true };
      } catch (error) {
        const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
        return { name, records: null, isKnown: typeof code === 'string' && absent.has(code) };
      }
    }),
  );
  return {
    records: Object.fromEntries(found.map(({ name, records }) => [name, records])),
    isPartial: found.some(({ isKnown }) => !isKnown),
  };
}
