import { isDeepStrictEqual } from 'node:util';
import { creatorOf } from '../../db/actor-ref.ts';
import type { Agent } from '../../db/agents/agent.entity.ts';
import type { PersonaDocument, PersonaDraft } from '../../db/agents/personas/persona-document.ts';
import type { Persona } from '../../db/agents/personas/persona.entity.ts';
import { countPersonas } from '../../db/agents/personas/personas.ts';
import { clearDefault, insertPersonas, insertVersions, keepPersonaRefs } from '../../db/agents/personas/write-personas.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { refuseInvalid } from './revision-problems.ts';
import { validatePersona } from './validate-persona.ts';
import type { RevisionChecks } from './validate-revision.ts';

/** The most personas of an agent, so that every export can be imported. */
export const maxPersonas = 50;

/** A persona as its author sends it; an omitted field of its row stays as it is, or is false and true for a new persona. */
export interface AskedPersona {
  readonly draft: PersonaDraft;
  readonly isDefault: boolean | undefined;
  readonly isActive: boolean | undefined;
}

/**
 * Adds a persona to a locked agent; a new default replaces the old one. Returns its id. Throws 422 with all problems, 409 `limit_reached` when the agent has as
 * many as an import may contain.
 */
export async function addPersona(
  tx: TenantTransaction,
  agent: Agent,
  { draft, isDefault = false, isActive = true }: AskedPersona,
  checks: RevisionChecks,
): Promise<string> {
  const document = await checked(tx, agent, draft, checks);
  await refuseFull(tx, agent.id);
  if (isDefault) await clearDefault(tx, agent.id, null);
  const personas = [{ document, isDefault, isActive }];
  const [id = ''] = await insertPersonas(tx, { agent, personas, createdBy: creatorOf(tx.actor) });
  return id;
}

/** Changes a persona, which the caller has locked with its agent; a changed document is a new version. Throws 422 with all problems. */
export async function changePersona(
  tx: TenantTransaction,
  { agent, persona, before }: { readonly agent: Agent; readonly persona: Persona; readonly before: PersonaDocument },
  { draft, isDefault, isActive }: AskedPersona,
  checks: RevisionChecks,
): Promise<void> {
  const document = await checked(tx, agent, draft, checks);
  if (isDefault === true) await clearDefault(tx, agent.id, persona.id);
  const isAnew = !isDeepStrictEqual(document, before);
  if (isAnew) Object.assign(persona, { document, version: persona.version + 1 });
  if (isDefault !== undefined) persona.isDefault = isDefault;
  if (isActive !== undefined) persona.isActive = isActive;
  await tx.em.flush();
  if (!isAnew) return;
  await insertVersions(tx, { agent, versions: [{ id: persona.id, version: persona.version }], createdBy: creatorOf(tx.actor) });
  await keepPersonaRefs(tx, [persona.id]);
}

/** Deletes a persona, which the caller has locked with its agent, as of `at`: runs in flight keep it. */
export async function deletePersona(tx: TenantTransaction, persona: Persona, at: Date): Promise<void> {
  persona.deletedAt = at;
  persona.isDefault = false;
  await tx.em.flush();
  await keepPersonaRefs(tx, [persona.id]);
}

/** Returns the document of a valid draft. Throws 422 with all problems. */
async function checked(tx: TenantTransaction, agent: Agent, draft: PersonaDraft, checks: RevisionChecks): Promise<PersonaDocument> {
  const { document, problems } = await validatePersona(tx, { rowScope: agent, draft }, checks);
  refuseInvalid(problems, '');
  return document;
}

/** Throws 409 `limit_reached` when an agent has as many personas as an import may contain. The caller has locked the agent. */
async function refuseFull(tx: TenantTransaction, agentId: string): Promise<void> {
  if ((await countPersonas(tx, agentId)) < maxPersonas) return;
  throw fail('state_conflict', { reason: 'limit_reached', detail: `An agent can have at most ${maxPersonas} personas.` });
}
