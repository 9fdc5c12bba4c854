import { creatorOf } from '../../db/actor-ref.ts';
import { Agent, type avatarPresets } from '../../db/agents/agent.entity.ts';
import type { PersonaDraft } from '../../db/agents/personas/persona-document.ts';
import type { RevisionDocument, RevisionDraft } from '../../db/agents/revisions/revision-document.ts';
import { insertPersonas, type NewPersona } from '../../db/agents/personas/write-personas.ts';
import { newId } from '../../db/ids.ts';
import type { RowScope } from '../../db/new-row-scope.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import { refuseInvalid, type RevisionProblem } from './revision-problems.ts';
import { addFirstRevision, insertRevision } from './revisions.ts';
import { validatePersona } from './validate-persona.ts';
import { validateRevision, type RevisionChecks } from './validate-revision.ts';

/** The fields of a new agent, under the names of the wire. */
export interface AgentFields {
  readonly slug: string;
  readonly name: string;
  readonly description?: string | null;
  readonly avatar_preset?: (typeof avatarPresets)[number] | null;
  readonly image_url?: string | null;
  readonly is_active?: boolean;
  readonly attributes?: Record<string, unknown>;
}

/** A new agent, and its row scope. */
export interface NewAgent {
  readonly rowScope: RowScope;
  readonly fields: AgentFields;
  readonly createdByUserId: string | null;
}

export interface PersonaToStore {
  readonly draft: PersonaDraft;
  readonly isDefault: boolean;
  readonly isActive: boolean;
}

/** What an imported or cloned agent has beside its row. */
export interface WholeAgent {
  readonly draft: RevisionDraft | RevisionDocument | null;
  readonly personas: readonly PersonaToStore[];
  /** Pointer of the revision in the body. */
  readonly at: string;
  readonly personasAt: string;
}

/** Creates an agent without a revision, and returns it. */
export async function insertAgent(tx: TenantTransaction, agent: NewAgent): Promise<Agent> {
  const made = newAgent(tx, agent);
  await tx.em.persist(made).flush();
  return made;
}

/** Creates an agent, with its first revision if one is sent: active only if requested. Returns its id. Throws 422, and 409 `revision_not_activatable`. */
export async function createAgent(
  tx: TenantTransaction,
  agent: NewAgent,
  first: { readonly draft: RevisionDraft; readonly activate: boolean } | null,
  checks: RevisionChecks,
): Promise<string> {
  const made = await insertAgent(tx, agent);
  if (first) await addFirstRevision(tx, made, first, checks);
  return made.id;
}

/** Creates an agent with its first revision, which stays inactive, and its personas, or nothing: throws 422 with all problems at once. Returns its id. */
export async function createWholeAgent(
  tx: TenantTransaction,
  agent: NewAgent,
  { draft, personas, at, personasAt }: WholeAgent,
  checks: RevisionChecks,
): Promise<string> {
  const made = newAgent(tx, agent);
  refuseUnclear(personas);
  const problems: RevisionProblem[] = [];
  const revision = draft === null ? null : await validateRevision(tx, { rowScope: made, draft }, checks);
  problems.push(...under(at, revision?.problems ?? []));
  const stored: NewPersona[] = [];
  for (const [index, { draft: persona, isDefault, isActive }] of personas.entries()) {
    const checked = await validatePersona(tx, { rowScope: made, draft: persona }, checks);
    problems.push(...under(`${personasAt}/${index}`, checked.problems));
    stored.push({ document: checked.document, isDefault, isActive });
  }
  refuseInvalid(problems, '');

  await tx.em.persist(made).flush();
  if (revision) await insertRevision(tx, { agent: made, document: revision.document, note: null, baseRevisionId: null });
  await insertPersonas(tx, { agent: made, personas: stored, createdBy: creatorOf(tx.actor) });
  return made.id;
}

function under(prefix: string, problems: readonly RevisionProblem[]): RevisionProblem[] {
  return problems.map((problem) => ({ ...problem, pointer: prefix + problem.pointer }));
}

/** Refuses two personas of one slug, or two defaults, which could not both be stored. */
function refuseUnclear(personas: readonly PersonaToStore[]): void {
  const slugs = personas.map(({ draft }) => draft.slug);
  const twice = slugs.findIndex((slug, index) => slugs.indexOf(slug) < index);
  if (twice >= 0) throw invalid(`/personas/${twice}/slug`, 'uniqueItems', 'Another persona already has this slug.');
  const second = personas.flatMap(({ isDefault }, index) => (isDefault ? [index] : []))[1];
  if (second !== undefined) throw invalid(`/personas/${second}/is_default`, 'uniqueItems', 'An agent can have only one default persona.');
}

/** An agent that is not stored yet: it is persisted once everything about it has been checked. */
function newAgent(tx: TenantTransaction, { rowScope, fields, createdByUserId }: NewAgent): Agent {
  return tx.em.create(
    Agent,
    {
      id: newId(),
      ...rowScope,
      slug: fields.slug,
      name: fields.name,
      description: fields.description ?? null,
      avatarPreset: fields.avatar_preset ?? null,
      imageUrl: fields.image_url ?? null,
      isActive: fields.is_active ?? true,
      attributes: fields.attributes ?? {},
      activeRevisionId: null,
      createdByUserId,
      deletedAt: null,
    },
    { persist: false },
  );
}
