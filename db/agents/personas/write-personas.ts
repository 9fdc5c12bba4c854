import { sql } from 'kysely';
import type { ActorRef } from '../../actor-ref.ts';
import { anyId, now } from '../../expressions.ts';
import { newId } from '../../ids.ts';
import { insertFrom } from '../../insert-from.ts';
import { jsonb, jsonText, recordset, type JsonText } from '../../json-text.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { PersonaDocument } from './persona-document.ts';
import type { AgentScope } from '../revisions/revisions.ts';

/** A persona to be stored. */
export interface NewPersona {
  readonly document: PersonaDocument;
  readonly isDefault: boolean;
  readonly isActive: boolean;
}

interface PersonaRecord {
  readonly id: string;
  readonly document: PersonaDocument;
  readonly is_default: boolean;
  readonly is_active: boolean;
}

interface NewPersonas {
  readonly agentId: string;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
  readonly records: JsonText<readonly PersonaRecord[]>;
}

const newPersonas = prepared((p: ParametersOf<NewPersonas>) => {
  const records = recordset(p.records, 'n', { id: 'uuid', document: 'jsonb', is_default: 'boolean', is_active: 'boolean' });
  return insertFrom('personas', query.selectFrom(records), ({ ref }) => ({
    id: ref('n.id'),
    agentId: p.agentId,
    organizationId: p.organizationId,
    workspaceId: p.workspaceId,
    slug: sql<string>`n.document ->> 'slug'`,
    isDefault: ref('n.is_default'),
    isActive: ref('n.is_active'),
    version: sql.lit(1),
    document: ref('n.document'),
    rowVersion: sql.lit(1),
    createdAt: now,
    updatedAt: now,
  }));
});

/**
 * Writes personas of an agent with their first versions, in a constant number of statements. The caller holds the agent's lock and has cleared the previous
 * default. Returns their ids in order.
 */
export async function insertPersonas(
  tx: TenantTransaction,
  { agent, personas, createdBy }: { readonly agent: AgentScope; readonly personas: readonly NewPersona[]; readonly createdBy: ActorRef },
): Promise<string[]> {
  if (personas.length === 0) return [];
  const records = personas.map(({ document, isDefault, isActive }) => ({
    id: newId(),
    document,
    is_default: isDefault,
    is_active: isActive,
  }));
  const { id: agentId, organizationId, workspaceId } = agent;
  await change(tx.em, newPersonas({ agentId, organizationId, workspaceId, records: jsonText(records) }));
  const ids = records.map(({ id }) => id);
  await insertVersions(tx, { agent, versions: ids.map((id) => ({ id, version: 1 })), createdBy });
  if (records.some(({ document }) => document.knowledge.length > 0)) await keepPersonaRefs(tx, ids);
  return ids;
}

interface NewVersions {
  readonly agentId: string;
  readonly createdBy: JsonText<ActorRef>;
  readonly ids: readonly string[];
  readonly personaIds: readonly string[];
  readonly versions: readonly number[];
}

const newVersions = prepared((p: ParametersOf<NewVersions>) => {
  const versions = sql<{
    id: string;
    personaId: string;
    version: number;
  }>`unnest(${p.ids}::uuid[], ${p.personaIds}::uuid[], ${p.versions}::int[])`;
  const source = query
    .selectFrom(versions.as<'n'>(sql`n (id, persona_id, version)`))
    .innerJoin('personas as p', (join) => join.onRef('p.id', '=', 'n.personaId').on('p.agentId', '=', p.agentId));
  return insertFrom('persona_versions', source, ({ ref }) => ({
    id: ref('n.id'),
    personaId: ref('p.id'),
    organizationId: ref('p.organizationId'),
    workspaceId: ref('p.workspaceId'),
    version: ref('n.version'),
    document: ref('p.document'),
    createdBy: jsonb(p.createdBy),
    createdAt: now,
  }));
});

/** Stores the current documents of personas as versions. */
export async function insertVersions(
  tx: TenantTransaction,
  {
    agent,
    versions,
    createdBy,
  }: { readonly agent: AgentScope; readonly versions: readonly { id: string; version: number }[]; readonly createdBy: ActorRef },
): Promise<void> {
  await change(
    tx.em,
    newVersions({
      agentId: agent.id,
      createdBy: jsonText(createdBy),
      ids: versions.map(() => newId()),
      personaIds: versions.map(({ id }) => id),
      versions: versions.map(({ version }) => version),
    }),
  );
}

const withoutDefault = prepared(({ agentId, exceptId }: ParametersOf<{ readonly agentId: string; readonly exceptId: string | null }>) =>
  query
    .updateTable('personas')
    .set(({ eb }) => ({ isDefault: false, rowVersion: eb('rowVersion', '+', 1), updatedAt: now }))
    .where('agentId', '=', agentId)
    .where('isDefault', '=', sql.lit(true))
    .where('deletedAt', 'is', null)
    .where('id', 'is distinct from', sql<string | null>`${exceptId}::uuid`),
);

/** Clears the default flag of an agent's personas, except for one. The caller holds the agent's lock. */
export async function clearDefault(tx: TenantTransaction, agentId: string, exceptId: string | null): Promise<void> {
  await change(tx.em, withoutDefault({ agentId, exceptId }));
}

const keptRefs = prepared(({ personaIds }: ParametersOf<{ readonly personaIds: readonly string[] }>) =>
  query
    .with('named', (of) =>
      of
        .selectFrom('personas as p')
        .crossJoinLateral(
          sql<{ binding: unknown }>`jsonb_array_elements(coalesce(p.document -> 'knowledge', '[]'))`.as<'b'>(sql`b (binding)`),
        )
        .select(['p.id', 'p.organizationId', 'p.workspaceId', sql<string>`(b.binding ->> 'id')::uuid`.as('targetId')])
        .distinct()
        .where('p.id', '=', anyId(personaIds))
        .where('p.deletedAt', 'is', null),
    )
    .with('gone', (of) =>
      of
        .deleteFrom('agent_refs as r')
        .where('r.personaId', '=', anyId(personaIds))
        .where(({ exists, not, selectFrom }) =>
          not(
            exists(
              selectFrom('named as n')
                .select('n.id')
                .whereRef('n.id', '=', 'r.personaId')
                .where('r.kind', '=', sql.lit('knowledge'))
                .whereRef('n.targetId', '=', 'r.targetId'),
            ),
          ),
        ),
    )
    .insertInto('agent_refs')
    .columns(['id', 'organizationId', 'workspaceId', 'revisionId', 'personaId', 'kind', 'targetId', 'createdAt'])
    .expression(({ selectFrom }) =>
      selectFrom('named as n').select([
        sql`gen_random_uuid()`.as('id'),
        'n.organizationId',
        'n.workspaceId',
        sql`null`.as('revisionId'),
        'n.id as personaId',
        sql.lit('knowledge').as('kind'),
        'n.targetId',
        now.as('createdAt'),
      ]),
    )
    .onConflict((conflict) => conflict.doNothing()),
);

/**
 * Updates, in one statement, which bases personas reference, from their current documents; a deleted persona references none. The caller holds the agent's
 * lock.
 */
export async function keepPersonaRefs(tx: TenantTransaction, personaIds: readonly string[]): Promise<void> {
  await change(tx.em, keptRefs({ personaIds }));
}
