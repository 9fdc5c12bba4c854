import { baseAccess, basesOfRun, namedBases, usableBases, type RunPrincipal } from '../../../db/knowledge/bases/access.ts';
import { Condition } from '../../../db/condition.ts';
import type { KnowledgeRun } from '../../../db/knowledge/runs/run-bindings.ts';
import { listSearchedBases, type SearchedBase } from '../../../db/knowledge/search/search-bases.ts';
import { knownSources } from '../../../db/knowledge/sources/sources.ts';
import type { Scoped } from '../../../db/scope.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { fail, invalid, type Violation } from '../../../workflows/contracts/failure.ts';

/** The most bases of one search. */
export const maxSearchedBases = 200;
const always = new Condition('true');

/**
 * Returns the one base that a caller wants to search, whether or not it has been superseded.
 * @throws 404 when the caller may not know of it, 403 when the caller may not read it, 409 `reembed_in_progress` while it is being built.
 */
export async function searchableBase(ctx: Scoped, kbId: string): Promise<SearchedBase> {
  const { visible, canRead } = baseAccess(ctx, 'b');
  const [base] = await listSearchedBases(ctx, { visible, canRead, kbIds: [kbId], limit: 1 });
  if (!base) throw fail('not_found');
  if (!base.isReadable)
    throw fail('resource_forbidden', {
      reason: 'grant_required',
      detail: 'The knowledge base is private; reading its content requires a grant.',
    });
  if (base.activatedAt === null)
    throw fail('state_conflict', { reason: 'reembed_in_progress', detail: 'The knowledge base is still being built.' });
  return base;
}

/**
 * Returns the bases that a caller searches at once: those named, or all that the caller may read. Superseded bases and those being built are not among them.
 * @throws 422 `reference` for each named base that can't be searched this way, 422 `too_many_bases` when the caller may read more than 200 and names none.
 */
export async function searchableBases(ctx: Scoped, kbIds?: readonly string[]): Promise<SearchedBase[]> {
  const visible = usableBases(ctx, 'b');
  const bases = await listSearchedBases(ctx, { visible, canRead: always, kbIds, limit: maxSearchedBases + 1 });
  if (bases.length > maxSearchedBases)
    throw fail('validation_failed', {
      reason: 'too_many_bases',
      errors: [
        {
          in: 'body',
          pointer: '/kb_ids',
          name: null,
          rule: 'too_many_bases',
          message: `You can read more than ${maxSearchedBases} knowledge bases; name the ones to search.`,
        },
      ],
    });
  if (kbIds !== undefined) refuseUnknown(kbIds, bases);
  return bases;
}

/** Returns the bases that a run may read now. Throws 422 `reference` for a base named in a call that is not among them. */
export async function searchableBasesOfRun(
  tx: Pick<TenantTransaction, 'em'>,
  run: RunPrincipal,
  kbIds?: readonly string[],
): Promise<SearchedBase[]> {
  const visible = basesOfRun(run, 'b');
  const bases = await listSearchedBases(tx, { visible, canRead: always, kbIds, limit: maxSearchedBases });
  if (kbIds !== undefined) refuseUnknown(kbIds, bases);
  return bases;
}

/** Returns the bases that a run may read now whose passages are injected into its prompt without a search call. */
export async function basesToInject(tx: Pick<TenantTransaction, 'em'>, { principal, pins }: KnowledgeRun): Promise<SearchedBase[]> {
  const ids = pins.filter(({ mode }) => mode !== 'tool').map(({ id }) => id);
  if (ids.length === 0) return [];
  const [own, named] = [basesOfRun(principal, 'b'), namedBases('b', ids)];
  const visible = new Condition(`(${own.sql} and ${named.sql})`, [...own.params, ...named.params]);
  return listSearchedBases(tx, { visible, canRead: always, limit: maxSearchedBases });
}

/** Refuses sources in the filters of a search that lie in none of the searched bases: 422 `reference`. Sends no query when none is named. */
export async function refuseUnknownSources(
  tx: Pick<TenantTransaction, 'em'>,
  bases: readonly Pick<SearchedBase, 'id'>[],
  sourceIds: readonly string[] = [],
): Promise<void> {
  if (sourceIds.length === 0) return;
  const found = await knownSources(tx, { ids: sourceIds, kbIds: bases.map(({ id }) => id) });
  refuseMissing(sourceIds, found, {
    pointer: '/filters/source_ids',
    kind: 'KnowledgeSource',
    message: 'The source does not exist in the knowledge bases that are searched.',
  });
}

function refuseUnknown(kbIds: readonly string[], bases: readonly SearchedBase[]): void {
  refuseMissing(kbIds, new Set(bases.map(({ id }) => id)), {
    pointer: '/kb_ids',
    kind: 'KnowledgeBase',
    message: 'The knowledge base does not exist or cannot be searched.',
  });
}

function refuseMissing(
  ids: readonly string[],
  found: ReadonlySet<string>,
  { pointer, kind, message }: { readonly pointer: string; readonly kind: string; readonly message: string },
): void {
  const errors = ids.flatMap((id, at): Violation[] =>
    found.has(id) ? [] : [...invalid(`${pointer}/${at}`, 'reference', message, { kind }).errors],
  );
  if (errors.length > 0) throw fail('validation_failed', { errors });
}
