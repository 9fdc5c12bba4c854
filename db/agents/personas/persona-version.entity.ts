import { defineEntity, p } from '@mikro-orm/core';
import type { ActorRef } from '../../actor-ref.ts';
import type { PersonaDocument } from './persona-document.ts';
import { createdAtColumn, idColumn, uuidColumn } from '../../columns.ts';
import { uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'PersonaVersion',
  tableName: 'persona_versions',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('persona_versions', 'child'),
  indexes: [uniqueIndex('persona_versions', 'version', '(persona_id, version)')],
  properties: {
    id: idColumn(),
    personaId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    version: p.integer(),
    document: p.json<PersonaDocument>(),
    createdBy: p.json<ActorRef>(),
    createdAt: createdAtColumn(),
  },
});

/** A persona at one version; runs pin it. */
export class PersonaVersion extends schema.class {}
schema.setClass(PersonaVersion);
