import { isNamedByBinding } from '../../db/code-review/playbooks/playbook-use.ts';
import { findRevision, readDefaultTemplates } from '../../db/code-review/playbooks/playbooks.ts';
import { ReviewPlaybook } from '../../db/code-review/playbooks/review-playbook.entity.ts';
import { dropDefault, insertPlaybookRevision } from '../../db/code-review/playbooks/write-revisions.ts';
import { newId } from '../../db/ids.ts';
import type { RowScope } from '../../db/new-row-scope.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { Templates } from '../../ports/templates/templates.ts';
import type { ReviewTemplates } from '../../workflows/contracts/review/code-review.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { completeTemplates, hashOfTemplates, refuseTemplates, type TemplatesDraft } from './templates.ts';

/** What the rules of playbooks need from the deployment: the template renderer of the playbook's organization. */
export interface PlaybookDeps {
  readonly templates: Pick<Templates, 'renderEach'>;
}

/** The values of a new playbook. */
export interface NewPlaybook {
  readonly rowScope: RowScope;
  readonly slug: string;
  readonly name: string;
  readonly description: string | null;
  readonly isDefault: boolean;
  readonly isActive: boolean;
  readonly createdByUserId: string | null;
  /** Complete and judged already; or those of a cloned playbook. */
  readonly templates: ReviewTemplates;
  readonly note: string | null;
}

/** Returns the templates of a body, completed. Throws 422 for templates that can't be used. */
export async function readTemplates(tx: TenantTransaction, { templates }: PlaybookDeps, draft: TemplatesDraft): Promise<ReviewTemplates> {
  const complete = completeTemplates(draft, await readDefaultTemplates(tx));
  await refuseTemplates(templates, complete);
  return complete;
}

/**
 * Creates a playbook whose revision 1 is active at once; returns its id. Throws `already_exists` for a slug that is taken, 422 for a default that is not
 * active.
 */
export async function makePlaybook(tx: TenantTransaction, { rowScope, templates, note, ...made }: NewPlaybook): Promise<string> {
  const { createdByUserId, ...fields } = made;
  refuseIdleDefault(fields);
  const id = newId();
  if (fields.isDefault) await dropDefault(tx, { id, ...rowScope });
  const playbook = tx.em.create(ReviewPlaybook, { id, ...rowScope, ...fields, activeRevisionId: null, deletedAt: null });
  await tx.em.flush();
  playbook.activeRevisionId = await addRevision(tx, playbook, { templates, note, createdByUserId });
  await tx.em.flush();
  return id;
}

/** The changes of a playbook; an absent field stays as it is. */
export interface PlaybookChange {
  readonly name?: string;
  readonly description?: string | null;
  readonly isDefault?: boolean;
  readonly isActive?: boolean;
  readonly activeRevisionId?: string;
}

/**
 * Changes a locked playbook. Reviews at work keep the revision with which they began. Throws 422 for a revision of another playbook, 409 `in_use` when a
 * playbook that a binding names or that is a default would be switched off.
 */
export async function changePlaybook(tx: TenantTransaction, playbook: ReviewPlaybook, change: PlaybookChange): Promise<void> {
  const next = { isDefault: playbook.isDefault, isActive: playbook.isActive, ...change };
  if (playbook.isActive && !next.isActive) await refuseInUse(tx, { ...playbook, isDefault: playbook.isDefault });
  refuseIdleDefault(next);
  if (change.activeRevisionId !== undefined) await refuseForeignRevision(tx, playbook.id, change.activeRevisionId);
  if (next.isDefault && !playbook.isDefault) await dropDefault(tx, playbook);
  if (playbook.isDefault && !next.isDefault && playbook.scope === 'platform')
    throw fail('state_conflict', {
      reason: 'in_use',
      detail: 'The deployment must have a default playbook. Make another playbook the default instead.',
    });
  Object.assign(playbook, change);
  await tx.em.flush();
}

/** Deletes a locked playbook as of `at`. Throws 409 `in_use` for one that a binding names or that is a default. */
export async function deletePlaybook(tx: TenantTransaction, playbook: ReviewPlaybook, at: Date): Promise<void> {
  await refuseInUse(tx, playbook);
  playbook.deletedAt = at;
  await tx.em.flush();
}

/** Adds a revision to a locked playbook, active at once if requested; returns its id. */
export async function addPlaybookRevision(
  tx: TenantTransaction,
  playbook: ReviewPlaybook,
  { activate, ...revision }: Revision & { readonly activate: boolean },
): Promise<string> {
  const id = await addRevision(tx, playbook, revision);
  if (activate) playbook.activeRevisionId = id;
  await tx.em.flush();
  return id;
}

interface Revision {
  readonly templates: ReviewTemplates;
  readonly note: string | null;
  readonly createdByUserId: string | null;
}

function addRevision(tx: TenantTransaction, playbook: ReviewPlaybook, revision: Revision): Promise<string> {
  return insertPlaybookRevision(tx, playbook, { ...revision, sha256: hashOfTemplates(revision.templates) });
}

function refuseIdleDefault({ isDefault, isActive }: { readonly isDefault: boolean; readonly isActive: boolean }): void {
  if (isDefault && !isActive) throw invalid('/is_default', 'const', 'must be false while is_active is false');
}

async function refuseInUse(tx: TenantTransaction, { id, isDefault }: Pick<ReviewPlaybook, 'id' | 'isDefault'>): Promise<void> {
  if (isDefault) throw fail('state_conflict', { reason: 'in_use', detail: 'The playbook is the default of its scope.' });
  if (await isNamedByBinding(tx, id)) throw fail('state_conflict', { reason: 'in_use', detail: 'A repository binding uses the playbook.' });
}

async function refuseForeignRevision(tx: TenantTransaction, playbookId: string, revisionId: string): Promise<void> {
  if ((await findRevision(tx, { playbookId, revisionId })) === null)
    throw invalid('/active_revision_id', 'reference', 'The playbook has no such revision.', { kind: 'review_playbook_revision' });
}
