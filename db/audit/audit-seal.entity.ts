import { defineEntity, p } from '@mikro-orm/core';
import { bigintColumn, createdAtColumn, timeColumn, uuidColumn } from '../columns.ts';
import { index } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

const schema = defineEntity({
  name: 'AuditSeal',
  tableName: 'audit_seals',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('audit_seals', 'append', { hasWorkspace: false }),
  indexes: [
    index('audit_seals', 'organization', '(organization_id, seal_no)'),
    // Where retention continues: seals stay forever, their entries don't.
    index('audit_seals', 'kept', '(chain, seal_no) where purged_at is null'),
  ],
  properties: {
    /** Organization id, or `platform`. */
    chain: p.text().primary(),
    sealNo: bigintColumn().primary(),
    organizationId: uuidColumn().strictNullable(),
    firstSeq: bigintColumn(),
    lastSeq: bigintColumn(),
    entries: p.integer(),
    mac: p.blob().$type<Buffer>(),
    previousMac: p.blob().$type<Buffer>().strictNullable(),
    /** A short MAC of each entry, in the order of seq: shows which one was changed. Empty once the entries are purged. */
    entryMacs: p.blob().$type<Buffer>(),
    keyId: p.text(),
    purgedAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** Binds a series of audit entries to all earlier entries of its chain. */
export class AuditSeal extends schema.class {}
schema.setClass(AuditSeal);
