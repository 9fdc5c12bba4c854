import { defineEntity, p } from '@mikro-orm/core';
import type { ReviewConfig } from '../../../workflows/contracts/review/code-review.ts';
import {
  appKinds,
  installationStates,
  type EditorConfig,
  type ReviewBudgetConfig,
  type ReviewWorkspaceConfig,
} from '../../../workflows/contracts/review/pull-requests.ts';
import {
  bigintColumn,
  createdAtColumn,
  idColumn,
  textArrayColumn,
  timeColumn,
  updatedAtColumn,
  uuidColumn,
  versionColumn,
} from '../../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'RepoBinding',
  tableName: 'repo_bindings',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('repo_bindings', 'tenant'),
  indexes: [
    ...tenantIndexes('repo_bindings'),
    index('repo_bindings', 'workspace', '(workspace_id, id desc) where deleted_at is null'),
    uniqueIndex('repo_bindings', 'repo', '(workspace_id, repo_key) where deleted_at is null'),
    index('repo_bindings', 'installation', '(installation_id, repo_id) where deleted_at is null'),
    index('repo_bindings', 'playbook', "((review_config ->> 'playbook_id')) where deleted_at is null"),
  ],
  uniques: [{ name: 'repo_bindings_tenant_key', properties: ['id', 'organizationId'] }],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    /** The host's numbers, which stay when a repository is renamed. */
    installationId: bigintColumn(),
    appKind: p.enum(appKinds),
    repoId: bigintColumn(),
    repoFullName: p.text(),
    /** Its name in lower case. */
    repoKey: p.text(),
    reviewerAgentId: uuidColumn().strictNullable(),
    editorAgentId: uuidColumn().strictNullable(),
    /** `event.action`, sorted. */
    enabledEvents: textArrayColumn(),
    reviewConfig: p.json<ReviewConfig>(),
    editorConfig: p.json<EditorConfig>(),
    budgetConfig: p.json<ReviewBudgetConfig>(),
    workspaceConfig: p.json<ReviewWorkspaceConfig>(),
    isActive: p.boolean().default(true),
    installationState: p.enum(installationStates).default('ok'),
    version: versionColumn(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    deletedAt: timeColumn().strictNullable(),
  },
});

/** A repository whose pull requests are reviewed by agents of a workspace. */
export class RepoBinding extends schema.class {}
schema.setClass(RepoBinding);
