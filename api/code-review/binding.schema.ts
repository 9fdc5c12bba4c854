import Type, { type Static } from 'typebox';
import type { BindingRow } from '../../db/code-review/bindings/bindings.ts';
import { iso } from '../../db/sql.ts';
import type { BindingFields } from '../../domain/code-review/bindings.ts';
import { defaultEvents, eventNames, eventsNamed, eventsShown } from '../../domain/code-review/enabled-events.ts';
import { fieldsSet } from '../http/operation/changes.ts';
import { closed, idOf, integer, listOf, nullable, oneOf, stating, text, Timestamp } from '../http/input/schema.ts';
import {
  budgetConfigOf,
  EditorConfigInput,
  editorConfigOf,
  EditorConfigView,
  ReviewBudgetInput,
  ReviewBudgetView,
  ReviewConfigInput,
  reviewConfigOf,
  ReviewConfigView,
  ReviewWorkspaceInput,
  ReviewWorkspaceView,
  toEditorConfigView,
  toReviewBudgetView,
  toReviewConfigView,
  toReviewWorkspaceView,
  workspaceConfigOf,
} from './configs.schema.ts';

export const BindingParams = closed({ binding_id: idOf('RepoBinding', 'A repository and the agents that review its pull requests') });

const InstallationId = integer({ minimum: 1, description: 'The installation of the GitHub App that has access to the repository' });
const RepoFullName = text(300, { minLength: 1, description: '`owner/name`, in any case' });
const Reviewer = nullable(idOf('Agent', 'The agent that reviews; null: none'));
const Editor = nullable(idOf('Agent', 'The agent that repairs findings; null: none'));
const IsActive = Type.Boolean({ description: 'false: nothing is reviewed' });

const EventView = closed(
  {
    event: text(60),
    action: text(60),
    handler: oneOf(['review', 'edit', 'command'], { description: 'What the event triggers' }),
    enabled: Type.Boolean(),
  },
  { $id: 'RepoBindingEvent', description: 'An event of the repository, and whether it is handled' },
);

export const RepoBindingView = closed(
  {
    id: idOf('RepoBinding'),
    installation_id: InstallationId,
    repo_full_name: RepoFullName,
    reviewer_agent_id: Reviewer,
    editor_agent_id: Editor,
    enabled_events: listOf(EventView, { maxItems: 50, description: 'All available events' }),
    review_config: ReviewConfigView,
    editor_config: EditorConfigView,
    budget_config: ReviewBudgetView,
    workspace_config: ReviewWorkspaceView,
    is_active: IsActive,
    organization_id: idOf('Organization'),
    workspace_id: idOf('Workspace'),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: 'RepoBindingView', description: 'A repository whose pull requests are reviewed by agents of a workspace' },
);

const changeable = {
  reviewer_agent_id: Type.Optional(Reviewer),
  editor_agent_id: Type.Optional(Editor),
  enabled_events: Type.Optional(
    listOf(stating(text(60, { minLength: 1 }), { enum: eventNames }), {
      maxItems: 100,
      description:
        'Names such as pull_request.opened; pull_request alone stands for all of its actions. Empty: reviews are only started manually',
    }),
  ),
  review_config: Type.Optional(ReviewConfigInput),
  editor_config: Type.Optional(EditorConfigInput),
  budget_config: Type.Optional(ReviewBudgetInput),
  workspace_config: Type.Optional(ReviewWorkspaceInput),
};

export const RepoBindingCreate = closed(
  {
    workspace_id: Type.Optional(nullable(idOf('Workspace'))),
    installation_id: InstallationId,
    repo_full_name: RepoFullName,
    ...changeable,
    is_active: Type.Optional({ ...IsActive, default: true }),
  },
  { $id: 'RepoBindingCreate', description: 'A repository to bind; the installation must be proved to belong to the workspace' },
);

export const RepoBindingUpdate = closed(
  { installation_id: Type.Optional(InstallationId), ...changeable, is_active: Type.Optional(IsActive) },
  { $id: 'RepoBindingUpdate', description: 'The fields that are sent are changed, each configuration as a whole; the rest is kept' },
);

export const BindingFilters = closed({
  installation_id: Type.Optional(integer({ minimum: 1, description: 'Only bindings of this installation' })),
  repo_full_name: Type.Optional(text(300, { minLength: 1, description: 'Only this repository, in any case' })),
  is_active: Type.Optional(Type.Boolean({ description: 'Only active bindings, or only inactive ones' })),
});

type Create = Static<typeof RepoBindingCreate>;
type Update = Static<typeof RepoBindingUpdate>;

/** The fields of a new binding. Throws 422 for events and a branch prefix that are none. */
export function newBindingFields(body: Create): BindingFields {
  return {
    reviewerAgentId: body.reviewer_agent_id ?? null,
    editorAgentId: body.editor_agent_id ?? null,
    enabledEvents: body.enabled_events === undefined ? [...defaultEvents] : eventsNamed(body.enabled_events),
    reviewConfig: reviewConfigOf(body.review_config ?? {}),
    editorConfig: editorConfigOf(body.editor_config ?? {}),
    budgetConfig: budgetConfigOf(body.budget_config ?? {}),
    workspaceConfig: workspaceConfigOf(body.workspace_config ?? {}),
    isActive: body.is_active ?? true,
  };
}

/** The fields that a body sets. Throws 422 as `newBindingFields` does. */
export function changedBindingFields(body: Update): Partial<BindingFields> {
  return fieldsSet<BindingFields>({
    reviewerAgentId: body.reviewer_agent_id,
    editorAgentId: body.editor_agent_id,
    enabledEvents: body.enabled_events && eventsNamed(body.enabled_events),
    reviewConfig: body.review_config && reviewConfigOf(body.review_config),
    editorConfig: body.editor_config && editorConfigOf(body.editor_config),
    budgetConfig: body.budget_config && budgetConfigOf(body.budget_config),
    workspaceConfig: body.workspace_config && workspaceConfigOf(body.workspace_config),
    isActive: body.is_active,
  });
}

/** The wire form of a binding. */
export function toRepoBindingView(row: BindingRow): Static<typeof RepoBindingView> {
  return {
    id: row.id,
    installation_id: row.installationId,
    repo_full_name: row.repoFullName,
    reviewer_agent_id: row.reviewerAgentId,
    editor_agent_id: row.editorAgentId,
    enabled_events: eventsShown(row.enabledEvents),
    review_config: toReviewConfigView(row.reviewConfig),
    editor_config: toEditorConfigView(row.editorConfig),
    budget_config: toReviewBudgetView(row.budgetConfig),
    workspace_config: toReviewWorkspaceView(row.workspaceConfig),
    is_active: row.isActive,
    organization_id: row.organizationId,
    workspace_id: row.workspaceId,
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}
