import { newId } from '../../../db/ids.ts';
import { change } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { defaultEvents } from '../../../domain/code-review/enabled-events.ts';
import { budgetConfigOf, editorConfigOf, reviewConfigOf, workspaceConfigOf } from '../../../api/code-review/configs.schema.ts';
import type { TestTenant } from '../../support/tenant.ts';
import type { World } from '../world.ts';

let nextRepo = 1;

/** What a planted binding differs in from a new one. */
export interface PlantedBinding {
  readonly installation_id?: number;
  readonly repo_id?: number;
  readonly app_kind?: 'workspace' | 'deployment';
  readonly repo_full_name?: string;
  readonly reviewer_agent_id?: string | null;
  readonly enabled_events?: readonly string[];
  readonly review_config?: Parameters<typeof reviewConfigOf>[0];
  readonly is_active?: boolean;
}

/** Writes a binding as if its installation had been proved; gives its id. */
export async function plantBinding(world: Pick<World, 'api'>, tenant: TestTenant, given: PlantedBinding = {}): Promise<string> {
  const id = newId();
  const name = given.repo_full_name ?? `acme/shop-${id.slice(-8)}`;
  await sweep(world.api.db, (em) =>
    change(
      em,
      `insert into repo_bindings (id, organization_id, workspace_id, installation_id, app_kind, repo_id, repo_full_name, repo_key, reviewer_agent_id, enabled_events,
         review_config, editor_config, budget_config, workspace_config, is_active)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?::jsonb, ?::jsonb, ?::jsonb, ?::jsonb, ?)`,
      [
        id,
        tenant.organizationId,
        tenant.workspaceId,
        given.installation_id ?? 1_000_000 + nextRepo,
        given.app_kind ?? 'workspace',
        given.repo_id ?? 2_000_000 + nextRepo++,
        name,
        name.toLowerCase(),
        given.reviewer_agent_id ?? null,
        [...(given.enabled_events ?? defaultEvents)],
        JSON.stringify(reviewConfigOf(given.review_config ?? {})),
        JSON.stringify(editorConfigOf({})),
        JSON.stringify(budgetConfigOf({})),
        JSON.stringify(workspaceConfigOf({})),
        given.is_active ?? true,
      ],
    ),
  );
  return id;
}
