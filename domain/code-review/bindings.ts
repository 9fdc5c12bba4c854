import { isUsableSandbox, usableAgents, type BindingPlace } from '../../db/code-review/bindings/bindings.ts';
import { isUsablePlaybook } from '../../db/code-review/playbooks/playbook-use.ts';
import { RepoBinding } from '../../db/code-review/bindings/repo-binding.entity.ts';
import { newId } from '../../db/ids.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { ReviewConfig } from '../../workflows/contracts/review/code-review.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import type { AppKind, EditorConfig, ReviewBudgetConfig, ReviewWorkspaceConfig } from '../../workflows/contracts/review/pull-requests.ts';
import { wakeBinding } from '../../db/code-review/bindings/wake.ts';

/** The settings of a binding; configs are complete. */
export interface BindingFields {
  readonly reviewerAgentId: string | null;
  readonly editorAgentId: string | null;
  readonly enabledEvents: string[];
  readonly reviewConfig: ReviewConfig;
  readonly editorConfig: EditorConfig;
  readonly budgetConfig: ReviewBudgetConfig;
  readonly workspaceConfig: ReviewWorkspaceConfig;
  readonly isActive: boolean;
}

/** A repository whose owner has proven that an installation opens it. */
export interface ProvenRepository {
  readonly installationId: number;
  readonly appKind: AppKind;
  readonly repoId: number;
  /** As the host spells it. */
  readonly repoFullName: string;
}

/** What the rules of bindings need from the deployment. */
export interface BindingDeps {
  readonly codeExec: { readonly hasStrict: () => Promise<boolean> };
  /** Whether a regular expression can be applied in linear time. */
  readonly isPattern: (pattern: string) => Promise<boolean>;
}

/**
 * Creates a binding and returns its id. Throws 422 for agents, a playbook or a tool that do not exist for the workspace, patterns that can't be parsed and
 * tests without a sandbox, and `already_exists` for a repository that the workspace has already bound, in whatever spelling.
 */
export async function makeBinding(
  tx: TenantTransaction,
  deps: BindingDeps,
  made: BindingFields & ProvenRepository & BindingPlace,
): Promise<string> {
  await refuseFields(tx, deps, { fields: made, place: made });
  const id = newId();
  tx.em.create(RepoBinding, { id, ...made, repoKey: keyOf(made.repoFullName), installationState: 'ok', deletedAt: null });
  await tx.em.flush();
  return id;
}

/** Changes a locked binding; an omitted field stays as it is. Switching it off stops its pull requests. Throws 422 as `makeBinding` does. */
export async function changeBinding(
  tx: TenantTransaction,
  deps: BindingDeps,
  {
    binding,
    change,
    proven,
  }: { readonly binding: RepoBinding; readonly change: Partial<BindingFields>; readonly proven: ProvenRepository | null },
): Promise<void> {
  const next = { ...fieldsOf(binding), ...change };
  await refuseFields(tx, deps, { fields: next, place: binding, known: binding });
  const wasActive = binding.isActive;
  Object.assign(binding, change);
  if (proven) {
    const { installationId, appKind, repoId, repoFullName } = proven;
    Object.assign(binding, { installationId, appKind, repoId, repoFullName, repoKey: keyOf(repoFullName), installationState: 'ok' });
  }
  await tx.em.flush();
  if (wasActive && !next.isActive) await wakeBinding(tx, binding, `stop:${newId()}`);
}

/** Deletes a locked binding as of `at`: nothing is reviewed after the commit, runs at work end, and the repository may be bound again. */
export async function deleteBinding(tx: TenantTransaction, binding: RepoBinding, at: Date): Promise<void> {
  binding.deletedAt = at;
  await tx.em.flush();
  await wakeBinding(tx, binding, 'deleted');
}

/** The key by which names of repositories are compared. */
export function keyOf(repoFullName: string): string {
  return repoFullName.toLowerCase();
}

interface Judged {
  readonly fields: BindingFields;
  readonly place: BindingPlace;
  /** The current binding: what it already names was judged before. */
  readonly known?: RepoBinding;
}

async function refuseFields(tx: TenantTransaction, deps: BindingDeps, { fields, place, known }: Judged): Promise<void> {
  await refuseAgents(tx, fields, { place, known });
  const { playbook_id: playbookId } = fields.reviewConfig;
  const isNewPlaybook = playbookId !== null && playbookId !== known?.reviewConfig.playbook_id;
  if (isNewPlaybook && !(await isUsablePlaybook(tx, playbookId, place)))
    throw invalid('/review_config/playbook_id', 'reference', 'The playbook does not exist in this workspace or is not active.', {
      kind: 'review_playbook',
    });
  await refusePatterns(deps, fields.reviewConfig);
  await refuseTests(tx, deps, { fields, place });
}

async function refuseAgents(
  tx: TenantTransaction,
  { reviewerAgentId, editorAgentId }: BindingFields,
  { place, known }: Pick<Judged, 'place' | 'known'>,
): Promise<void> {
  const named = [
    { pointer: '/reviewer_agent_id', id: reviewerAgentId, before: known?.reviewerAgentId },
    { pointer: '/editor_agent_id', id: editorAgentId, before: known?.editorAgentId },
  ].flatMap(({ pointer, id, before }) => (id === null || id === before ? [] : [{ pointer, id }]));
  const usable = await usableAgents(
    tx,
    named.map(({ id }) => id),
    place,
  );
  for (const { pointer, id } of named)
    if (!usable.has(id))
      throw invalid(pointer, 'reference', 'The agent does not exist in this workspace or is not active.', { kind: 'agent' });
}

async function refusePatterns({ isPattern }: BindingDeps, { filters }: ReviewConfig): Promise<void> {
  for (const side of ['include', 'exclude'] as const)
    for (const [at, pattern] of filters.titles[side].entries())
      if (!(await isPattern(pattern)))
        throw invalid(
          `/review_config/filters/titles/${side}/${at}`,
          'pattern',
          'is not a valid RE2 regular expression; look-around and back-references are not supported',
        );
}

async function refuseTests(
  tx: TenantTransaction,
  { codeExec }: BindingDeps,
  { fields: { editorConfig, workspaceConfig }, place }: Pick<Judged, 'fields' | 'place'>,
): Promise<void> {
  const { sandbox_tool_id: toolId } = workspaceConfig;
  if (toolId !== null && !(await isUsableSandbox(tx, toolId, place)))
    throw invalid('/workspace_config/sandbox_tool_id', 'reference', 'does not refer to a tool of this workspace that runs code', {
      kind: 'tool',
    });
  if (editorConfig.test_commands.length === 0) return;
  if (toolId === null)
    throw invalid('/editor_config/test_commands', 'requires', 'require workspace_config.sandbox_tool_id: tests only run in its sandbox');
  if (!(await codeExec.hasStrict()))
    throw invalid('/editor_config/test_commands', 'unmet', 'require strict isolation of code, which this deployment does not support');
}

function fieldsOf(binding: RepoBinding): BindingFields {
  const { reviewerAgentId, editorAgentId, enabledEvents, reviewConfig, editorConfig, budgetConfig, workspaceConfig, isActive } = binding;
  return { reviewerAgentId, editorAgentId, enabledEvents, reviewConfig, editorConfig, budgetConfig, workspaceConfig, isActive };
}
