import { AgentRef } from './agents/agent-ref.entity.ts';
import { AgentRevision } from './agents/revisions/agent-revision.entity.ts';
import { Agent } from './agents/agent.entity.ts';
import { PersonaVersion } from './agents/personas/persona-version.entity.ts';
import { Persona } from './agents/personas/persona.entity.ts';
import { AlertDelivery } from './alerts/alert-delivery.entity.ts';
import { AlertRule } from './alerts/alert-rule.entity.ts';
import { AlertState } from './alerts/alert-state.entity.ts';
import { AlertTransition } from './alerts/alert-transition.entity.ts';
import { Alert } from './alerts/alert.entity.ts';
import { Approval } from './approvals/approval.entity.ts';
import { AttachmentLink } from './attachments/attachment-link.entity.ts';
import { Attachment } from './attachments/attachment.entity.ts';
import { AuditEntry } from './audit/audit-entry.entity.ts';
import { AuditSeal } from './audit/audit-seal.entity.ts';
import { BudgetHold } from './billing/budgets/budget-hold.entity.ts';
import { BudgetWindow } from './billing/budgets/budget-window.entity.ts';
import { Budget } from './billing/budgets/budget.entity.ts';
import { FxRate } from './billing/prices/fx-rate.entity.ts';
import { ModelPrice } from './billing/prices/model-price.entity.ts';
import { UsageEntry } from './billing/ledger/usage-entry.entity.ts';
import { UsageRollup } from './billing/ledger/usage-rollup.entity.ts';
import { Channel } from './channels/channel.entity.ts';
import { ChannelMessage } from './channels/channel-message.entity.ts';
import { ChannelOutbound } from './channels/channel-outbound.entity.ts';
import { RepoBinding } from './code-review/bindings/repo-binding.entity.ts';
import { ReviewAnswer } from './code-review/findings/review-answer.entity.ts';
import { ReviewCommand } from './code-review/posts/review-command.entity.ts';
import { ReviewEvent } from './code-review/bindings/review-event.entity.ts';
import { ReviewFile } from './code-review/pulls/review-file.entity.ts';
import { ReviewFinding } from './code-review/findings/review-finding.entity.ts';
import { ReviewPlaybook } from './code-review/playbooks/review-playbook.entity.ts';
import { ReviewPlaybookRevision } from './code-review/playbooks/review-playbook-revision.entity.ts';
import { ReviewPost } from './code-review/posts/review-post.entity.ts';
import { ReviewPullRequest } from './code-review/pulls/review-pull-request.entity.ts';
import { EvaluationItem } from './evaluations/evaluation-item.entity.ts';
import { EvaluationResult } from './evaluations/evaluation-result.entity.ts';
import { EvaluationRun } from './evaluations/evaluation-run.entity.ts';
import { EvaluationScore } from './evaluations/evaluation-score.entity.ts';
import { Feedback } from './feedback/feedback.entity.ts';
import { IdempotencyKey } from './http/idempotency-key.entity.ts';
import { SystemTimestamp } from './http/system-mark.entity.ts';
import { AuthChallenge } from './identity/factors/auth-challenge.entity.ts';
import { LoginFailure } from './identity/factors/login-failure.entity.ts';
import { RecoveryCode } from './identity/factors/recovery-code.entity.ts';
import { RefreshToken } from './identity/sessions/refresh-token.entity.ts';
import { ServiceKey } from './identity/keys/service-key.entity.ts';
import { Session } from './identity/sessions/session.entity.ts';
import { SigningKey } from './identity/keys/signing-key.entity.ts';
import { StreamToken } from './identity/sessions/stream-token.entity.ts';
import { TotpFactor } from './identity/factors/totp-factor.entity.ts';
import { UserCredential } from './identity/factors/user-credential.entity.ts';
import { KnowledgeBase } from './knowledge/bases/knowledge-base.entity.ts';
import { KnowledgeBaseCounter } from './knowledge/bases/knowledge-base-counter.entity.ts';
import { KnowledgeChunk } from './knowledge/items/knowledge-chunk.entity.ts';
import { KnowledgeEmbedding } from './knowledge/items/knowledge-embedding.entity.ts';
import { KnowledgeFinding } from './knowledge/upkeep/knowledge-finding.entity.ts';
import { KnowledgeGrant } from './knowledge/bases/knowledge-grant.entity.ts';
import { KnowledgeItem } from './knowledge/items/knowledge-item.entity.ts';
import { KnowledgeItemVersion } from './knowledge/items/knowledge-item-version.entity.ts';
import { KnowledgePolicy } from './knowledge/bases/knowledge-policy.entity.ts';
import { KnowledgeRelation } from './knowledge/items/knowledge-relation.entity.ts';
import { KnowledgeRun } from './knowledge/runs/knowledge-run.entity.ts';
import { KnowledgeRunError } from './knowledge/runs/knowledge-run-error.entity.ts';
import { KnowledgeSource } from './knowledge/sources/knowledge-source.entity.ts';
import { KnowledgeTerm } from './knowledge/items/knowledge-term.entity.ts';
import { KnowledgeVector } from './knowledge/items/knowledge-vector.entity.ts';
import { McpAuthorization } from './mcp/mcp-authorization.entity.ts';
import { McpConnection } from './mcp/mcp-connection.entity.ts';
import { OauthClient } from './oauth/oauth-client.entity.ts';
import { OauthCode } from './oauth/oauth-code.entity.ts';
import { OauthTransaction } from './oauth/oauth-transaction.entity.ts';
import { Impersonation } from './operator/impersonation.entity.ts';
import { Purge } from './operator/purge.entity.ts';
import { OutboxEntry } from './outbox.entity.ts';
import { AddedInput } from './runs/input/added-input.entity.ts';
import { BulkCancel } from './runs/end/bulk-cancel.entity.ts';
import { Conversation } from './runs/start/conversation.entity.ts';
import { Message } from './runs/read/message.entity.ts';
import { RunStep } from './runs/steps/run-step.entity.ts';
import { Run } from './runs/run.entity.ts';
import { ToolCall } from './runs/calls/tool-call.entity.ts';
import { Secret } from './secrets/secret.entity.ts';
import { SkillUse } from './skills/skill-use.entity.ts';
import { SkillVersion } from './skills/skill-version.entity.ts';
import { Skill } from './skills/skill.entity.ts';
import { RunFrameChunk } from './streams/run-frame-chunk.entity.ts';
import { RunStreamScope } from './streams/run-stream-scope.entity.ts';
import { RunStream } from './streams/run-stream.entity.ts';
import { DataKey } from './tenancy/keys/data-key.entity.ts';
import { Invitation } from './tenancy/people/invitation.entity.ts';
import { OrganizationSettings } from './tenancy/organizations/organization-settings.entity.ts';
import { Organization } from './tenancy/organizations/organization.entity.ts';
import { User } from './identity/people/user.entity.ts';
import { WorkspaceGrant } from './tenancy/workspaces/workspace-grant.entity.ts';
import { Workspace } from './tenancy/workspaces/workspace.entity.ts';
import { ToolkitRevision } from './toolkits/toolkit-revision.entity.ts';
import { Toolkit } from './toolkits/toolkit.entity.ts';
import { ToolLease } from './tools/tool-lease.entity.ts';
import { ToolOutput } from './tools/tool-output.entity.ts';
import { ToolTest } from './tools/tool-test.entity.ts';
import { ToolVersion } from './tools/tool-version.entity.ts';
import { Tool } from './tools/tool.entity.ts';
import { ScheduleBackfill } from './schedules/schedule-backfill.entity.ts';
import { ScheduleOccurrence } from './triggers/schedule-occurrence.entity.ts';
import { Schedule } from './triggers/schedule.entity.ts';
import { EventKey } from './events/event-key.entity.ts';
import { EventMatch } from './events/event-match.entity.ts';
import { EventTriggerCounter } from './events/event-trigger-counter.entity.ts';
import { EventTrigger } from './events/event-trigger.entity.ts';
import { Event } from './triggers/event.entity.ts';
import { DeliveryKey } from './webhooks/delivery-key.entity.ts';
import { EndpointCounter } from './webhooks/endpoint-counter.entity.ts';
import { OutboundCallback } from './webhooks/outbound-callback.entity.ts';
import { WebhookDelivery } from './webhooks/webhook-delivery.entity.ts';
import { WebhookEndpoint } from './webhooks/webhook-endpoint.entity.ts';

/** Every table of the application by name, parents first. */
export const tables = {
  organizations: Organization,
  organization_settings: OrganizationSettings,
  workspaces: Workspace,
  users: User,
  workspace_grants: WorkspaceGrant,
  data_keys: DataKey,
  user_credentials: UserCredential,
  totp_factors: TotpFactor,
  recovery_codes: RecoveryCode,
  auth_challenges: AuthChallenge,
  sessions: Session,
  refresh_tokens: RefreshToken,
  service_keys: ServiceKey,
  oauth_clients: OauthClient,
  oauth_transactions: OauthTransaction,
  oauth_codes: OauthCode,
  invitations: Invitation,
  impersonations: Impersonation,
  purges: Purge,
  login_failures: LoginFailure,
  signing_keys: SigningKey,
  audit_entries: AuditEntry,
  audit_seals: AuditSeal,
  outbox: OutboxEntry,
  idempotency_keys: IdempotencyKey,
  system_marks: SystemTimestamp,
  agents: Agent,
  agent_revisions: AgentRevision,
  personas: Persona,
  persona_versions: PersonaVersion,
  agent_refs: AgentRef,
  toolkits: Toolkit,
  toolkit_revisions: ToolkitRevision,
  mcp_connections: McpConnection,
  mcp_authorizations: McpAuthorization,
  tools: Tool,
  tool_versions: ToolVersion,
  tool_tests: ToolTest,
  secrets: Secret,
  skills: Skill,
  skill_versions: SkillVersion,
  review_playbooks: ReviewPlaybook,
  review_playbook_revisions: ReviewPlaybookRevision,
  repo_bindings: RepoBinding,
  review_pull_requests: ReviewPullRequest,
  conversations: Conversation,
  runs: Run,
  messages: Message,
  run_steps: RunStep,
  tool_calls: ToolCall,
  tool_outputs: ToolOutput,
  approvals: Approval,
  run_inputs: AddedInput,
  bulk_cancels: BulkCancel,
  feedback: Feedback,
  review_files: ReviewFile,
  review_events: ReviewEvent,
  review_commands: ReviewCommand,
  review_findings: ReviewFinding,
  review_posts: ReviewPost,
  review_answers: ReviewAnswer,
  evaluation_runs: EvaluationRun,
  evaluation_items: EvaluationItem,
  evaluation_results: EvaluationResult,
  evaluation_scores: EvaluationScore,
  budgets: Budget,
  budget_windows: BudgetWindow,
  budget_holds: BudgetHold,
  alert_rules: AlertRule,
  alert_states: AlertState,
  alerts: Alert,
  alert_transitions: AlertTransition,
  alert_deliveries: AlertDelivery,
  tool_leases: ToolLease,
  skill_uses: SkillUse,
  attachments: Attachment,
  attachment_links: AttachmentLink,
  knowledge_bases: KnowledgeBase,
  knowledge_base_counters: KnowledgeBaseCounter,
  knowledge_grants: KnowledgeGrant,
  knowledge_sources: KnowledgeSource,
  knowledge_items: KnowledgeItem,
  knowledge_item_versions: KnowledgeItemVersion,
  knowledge_chunks: KnowledgeChunk,
  knowledge_vectors: KnowledgeVector,
  knowledge_terms: KnowledgeTerm,
  knowledge_relations: KnowledgeRelation,
  knowledge_runs: KnowledgeRun,
  knowledge_run_errors: KnowledgeRunError,
  knowledge_findings: KnowledgeFinding,
  knowledge_policies: KnowledgePolicy,
  knowledge_embedding_cache: KnowledgeEmbedding,
  schedules: Schedule,
  schedule_occurrences: ScheduleOccurrence,
  schedule_backfills: ScheduleBackfill,
  webhook_endpoints: WebhookEndpoint,
  endpoint_counters: EndpointCounter,
  webhook_deliveries: WebhookDelivery,
  delivery_keys: DeliveryKey,
  outbound_callbacks: OutboundCallback,
  events: Event,
  event_triggers: EventTrigger,
  event_trigger_counters: EventTriggerCounter,
  event_matches: EventMatch,
  event_keys: EventKey,
  channels: Channel,
  channel_messages: ChannelMessage,
  channel_outbound: ChannelOutbound,
  stream_tokens: StreamToken,
  run_streams: RunStream,
  run_stream_scopes: RunStreamScope,
  run_frame_chunks: RunFrameChunk,
  usage_entries: UsageEntry,
  usage_rollups: UsageRollup,
  model_prices: ModelPrice,
  fx_rates: FxRate,
} as const;

/** The classes of all tables, parents first. */
export const entities = Object.values(tables);
