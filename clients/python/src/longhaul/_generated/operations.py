"""Made from the served document by clients/generate/python; do not edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from .._base import AsyncCalls, BlockingCalls, CallOptions, KeyedCallOptions
from .._call import Operation
from .._content import AsyncContent, Content
from .._pages import AsyncPages, Pages
from .._stream import AsyncRunStream, RunStream
from .._upload import FileSource

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from . import types as t


_LIST_RUNS: Operation[Any] = Operation("listRuns", "GET", "/runs")
_CREATE_RUN: Operation[t.RunView] = Operation("createRun", "POST", "/runs", has_key=True)
_GET_RUN: Operation[t.RunView] = Operation("getRun", "GET", "/runs/{run_id}")
_PURGE_RUN: Operation[Any] = Operation("purgeRun", "DELETE", "/runs/{run_id}")
_CANCEL_RUN: Operation[t.RunView] = Operation("cancelRun", "POST", "/runs/{run_id}/cancel", has_key=True)
_ADD_RUN_INPUT: Operation[t.RunView] = Operation("addRunInput", "POST", "/runs/{run_id}/input", has_key=True)
_LIST_RUN_APPROVALS: Operation[Any] = Operation("listRunApprovals", "GET", "/runs/{run_id}/approvals")
_RESOLVE_RUN_APPROVALS: Operation[t.ApprovalResolutionView] = Operation("resolveRunApprovals", "POST", "/runs/{run_id}/approvals", has_key=True)
_WAIT_FOR_RUN: Operation[t.RunView] = Operation("waitForRun", "GET", "/runs/{run_id}/wait")
_LIST_RUN_MESSAGES: Operation[Any] = Operation("listRunMessages", "GET", "/runs/{run_id}/messages")
_LIST_RUN_STEPS: Operation[Any] = Operation("listRunSteps", "GET", "/runs/{run_id}/steps")
_CREATE_RUN_BATCH: Operation[t.RunBatchView] = Operation("createRunBatch", "POST", "/runs/batch", has_key=True)
_CANCEL_RUNS: Operation[t.RunBulkCancelView] = Operation("cancelRuns", "POST", "/runs/cancel", has_key=True)
_RETRY_RUN: Operation[t.RunView] = Operation("retryRun", "POST", "/runs/{run_id}/retry", has_key=True)
_STREAM_RUN: Operation[Any] = Operation("streamRun", "GET", "/runs/{run_id}/stream")
_CREATE_STREAM_TOKEN: Operation[t.StreamTokenView] = Operation("createStreamToken", "POST", "/runs/{run_id}/stream-token")
_LIST_SESSIONS: Operation[Any] = Operation("listSessions", "GET", "/sessions")
_GET_CURRENT_SESSION: Operation[t.SessionView] = Operation("getCurrentSession", "GET", "/sessions/current")
_GET_SESSION: Operation[t.SessionView] = Operation("getSession", "GET", "/sessions/{session_id}")
_REVOKE_SESSION: Operation[Any] = Operation("revokeSession", "DELETE", "/sessions/{session_id}")
_REVOKE_OTHER_SESSIONS: Operation[t.SessionRevocationView] = Operation("revokeOtherSessions", "POST", "/sessions/revoke-others")
_REVOKE_USER_SESSIONS: Operation[t.SessionRevocationView] = Operation("revokeUserSessions", "POST", "/users/{user_id}/sessions/revoke-all")
_LIST_AGENTS: Operation[Any] = Operation("listAgents", "GET", "/agents")
_CREATE_AGENT: Operation[t.AgentView] = Operation("createAgent", "POST", "/agents", has_key=True)
_GET_AGENT: Operation[t.AgentView] = Operation("getAgent", "GET", "/agents/{agent_id}")
_UPDATE_AGENT: Operation[t.AgentView] = Operation("updateAgent", "PATCH", "/agents/{agent_id}")
_DELETE_AGENT: Operation[Any] = Operation("deleteAgent", "DELETE", "/agents/{agent_id}")
_LIST_AVAILABLE_SUB_AGENTS: Operation[t.PageAgentSummary] = Operation("listAvailableSubAgents", "GET", "/agents/{agent_id}/available-sub-agents")
_IMPORT_AGENT: Operation[t.AgentView] = Operation("importAgent", "POST", "/agents/import", has_key=True)
_EXPORT_AGENT: Operation[t.AgentExportView] = Operation("exportAgent", "GET", "/agents/{agent_id}/export")
_CLONE_AGENT: Operation[t.AgentView] = Operation("cloneAgent", "POST", "/agents/{agent_id}/clone", has_key=True)
_LIST_AGENT_REVISIONS: Operation[Any] = Operation("listAgentRevisions", "GET", "/agents/{agent_id}/revisions")
_CREATE_AGENT_REVISION: Operation[t.AgentRevisionView] = Operation("createAgentRevision", "POST", "/agents/{agent_id}/revisions", has_key=True)
_GET_AGENT_REVISION: Operation[t.AgentRevisionView] = Operation("getAgentRevision", "GET", "/agents/{agent_id}/revisions/{revision_id}")
_ACTIVATE_AGENT_REVISION: Operation[t.AgentView] = Operation("activateAgentRevision", "POST", "/agents/{agent_id}/revisions/{revision_id}/activate")
_DIFF_AGENT_REVISIONS: Operation[t.RevisionDiffView] = Operation("diffAgentRevisions", "GET", "/agents/{agent_id}/revisions/{revision_id}/diff")
_VALIDATE_AGENT_REVISION: Operation[t.RevisionValidationView] = Operation("validateAgentRevision", "POST", "/agents/{agent_id}/validate")
_GET_EFFECTIVE_AGENT: Operation[t.EffectiveAgentView] = Operation("getEffectiveAgent", "GET", "/agents/{agent_id}/effective")
_LIST_PERSONAS: Operation[Any] = Operation("listPersonas", "GET", "/agents/{agent_id}/personas")
_CREATE_PERSONA: Operation[t.PersonaView] = Operation("createPersona", "POST", "/agents/{agent_id}/personas", has_key=True)
_UPDATE_PERSONA: Operation[t.PersonaView] = Operation("updatePersona", "PATCH", "/agents/{agent_id}/personas/{persona_id}")
_DELETE_PERSONA: Operation[Any] = Operation("deletePersona", "DELETE", "/agents/{agent_id}/personas/{persona_id}")
_LIST_SKILLS: Operation[Any] = Operation("listSkills", "GET", "/skills")
_CREATE_SKILL: Operation[t.SkillView] = Operation("createSkill", "POST", "/skills", has_key=True)
_IMPORT_SKILL: Operation[t.SkillView] = Operation("importSkill", "POST", "/skills/import", has_key=True)
_GET_SKILL: Operation[t.SkillView] = Operation("getSkill", "GET", "/skills/{skill_id}")
_UPDATE_SKILL: Operation[t.SkillView] = Operation("updateSkill", "PATCH", "/skills/{skill_id}")
_DELETE_SKILL: Operation[Any] = Operation("deleteSkill", "DELETE", "/skills/{skill_id}")
_CURATE_SKILL: Operation[t.SkillView] = Operation("curateSkill", "POST", "/skills/{skill_id}/curate")
_LIST_SKILL_VERSIONS: Operation[Any] = Operation("listSkillVersions", "GET", "/skills/{skill_id}/versions")
_LIST_TOOLS: Operation[Any] = Operation("listTools", "GET", "/tools")
_CREATE_TOOL: Operation[t.ToolView] = Operation("createTool", "POST", "/tools", has_key=True)
_GET_TOOL: Operation[t.ToolView] = Operation("getTool", "GET", "/tools/{tool_id}")
_UPDATE_TOOL: Operation[t.ToolView] = Operation("updateTool", "PATCH", "/tools/{tool_id}")
_DELETE_TOOL: Operation[Any] = Operation("deleteTool", "DELETE", "/tools/{tool_id}")
_TEST_TOOL: Operation[t.ToolTestView] = Operation("testTool", "POST", "/tools/{tool_id}/test", has_key=True)
_SET_TOOL_SECRETS: Operation[t.ToolView] = Operation("setToolSecrets", "PUT", "/tools/{tool_id}/secrets")
_DELETE_TOOL_SECRET: Operation[Any] = Operation("deleteToolSecret", "DELETE", "/tools/{tool_id}/secrets/{name}")
_LIST_TOOLKITS: Operation[Any] = Operation("listToolkits", "GET", "/toolkits")
_CREATE_TOOLKIT: Operation[t.ToolkitView] = Operation("createToolkit", "POST", "/toolkits", has_key=True)
_GET_TOOLKIT: Operation[t.ToolkitView] = Operation("getToolkit", "GET", "/toolkits/{toolkit_id}")
_UPDATE_TOOLKIT: Operation[t.ToolkitView] = Operation("updateToolkit", "PATCH", "/toolkits/{toolkit_id}")
_DELETE_TOOLKIT: Operation[Any] = Operation("deleteToolkit", "DELETE", "/toolkits/{toolkit_id}")
_LIST_TOOLKIT_REVISIONS: Operation[Any] = Operation("listToolkitRevisions", "GET", "/toolkits/{toolkit_id}/revisions")
_CREATE_TOOLKIT_REVISION: Operation[t.ToolkitRevisionView] = Operation("createToolkitRevision", "POST", "/toolkits/{toolkit_id}/revisions", has_key=True)
_ACTIVATE_TOOLKIT_REVISION: Operation[t.ToolkitView] = Operation("activateToolkitRevision", "POST", "/toolkits/{toolkit_id}/revisions/{revision_id}/activate")
_LIST_KNOWLEDGE_BASES: Operation[Any] = Operation("listKnowledgeBases", "GET", "/knowledge-bases")
_CREATE_KNOWLEDGE_BASE: Operation[t.KnowledgeBaseView] = Operation("createKnowledgeBase", "POST", "/knowledge-bases", has_key=True)
_GET_KNOWLEDGE_BASE: Operation[t.KnowledgeBaseView] = Operation("getKnowledgeBase", "GET", "/knowledge-bases/{kb_id}")
_UPDATE_KNOWLEDGE_BASE: Operation[t.KnowledgeBaseView] = Operation("updateKnowledgeBase", "PATCH", "/knowledge-bases/{kb_id}")
_DELETE_KNOWLEDGE_BASE: Operation[Any] = Operation("deleteKnowledgeBase", "DELETE", "/knowledge-bases/{kb_id}")
_GET_KNOWLEDGE_BASE_STATS: Operation[t.KnowledgeBaseStatsView] = Operation("getKnowledgeBaseStats", "GET", "/knowledge-bases/{kb_id}/stats")
_REEMBED_KNOWLEDGE_BASE: Operation[t.KnowledgeBaseView] = Operation("reembedKnowledgeBase", "POST", "/knowledge-bases/{kb_id}/reembed", has_key=True)
_LIST_KNOWLEDGE_GRANTS: Operation[Any] = Operation("listKnowledgeGrants", "GET", "/knowledge-bases/{kb_id}/grants")
_CREATE_KNOWLEDGE_GRANT: Operation[t.KnowledgeGrantView] = Operation("createKnowledgeGrant", "POST", "/knowledge-bases/{kb_id}/grants", has_key=True)
_UPDATE_KNOWLEDGE_GRANT: Operation[t.KnowledgeGrantView] = Operation("updateKnowledgeGrant", "PATCH", "/knowledge-grants/{grant_id}")
_DELETE_KNOWLEDGE_GRANT: Operation[Any] = Operation("deleteKnowledgeGrant", "DELETE", "/knowledge-grants/{grant_id}")
_LIST_KNOWLEDGE_SOURCES: Operation[Any] = Operation("listKnowledgeSources", "GET", "/knowledge-bases/{kb_id}/sources")
_CREATE_KNOWLEDGE_SOURCE: Operation[t.KnowledgeSourceView] = Operation("createKnowledgeSource", "POST", "/knowledge-bases/{kb_id}/sources", has_key=True)
_GET_KNOWLEDGE_SOURCE: Operation[t.KnowledgeSourceView] = Operation("getKnowledgeSource", "GET", "/knowledge-sources/{source_id}")
_DELETE_KNOWLEDGE_SOURCE: Operation[Any] = Operation("deleteKnowledgeSource", "DELETE", "/knowledge-sources/{source_id}")
_SYNC_KNOWLEDGE_SOURCE: Operation[t.KnowledgeSourceView] = Operation("syncKnowledgeSource", "POST", "/knowledge-sources/{source_id}/sync", has_key=True)
_LIST_KNOWLEDGE_ITEMS: Operation[Any] = Operation("listKnowledgeItems", "GET", "/knowledge-bases/{kb_id}/items")
_CREATE_KNOWLEDGE_ITEM: Operation[t.KnowledgeItemView] = Operation("createKnowledgeItem", "POST", "/knowledge-bases/{kb_id}/items", has_key=True)
_GET_KNOWLEDGE_ITEM: Operation[t.KnowledgeItemView] = Operation("getKnowledgeItem", "GET", "/knowledge-items/{item_id}")
_UPDATE_KNOWLEDGE_ITEM: Operation[t.KnowledgeItemView] = Operation("updateKnowledgeItem", "PATCH", "/knowledge-items/{item_id}")
_DELETE_KNOWLEDGE_ITEM: Operation[Any] = Operation("deleteKnowledgeItem", "DELETE", "/knowledge-items/{item_id}")
_RESTORE_KNOWLEDGE_ITEM: Operation[t.KnowledgeItemView] = Operation("restoreKnowledgeItem", "POST", "/knowledge-items/{item_id}/restore")
_LIST_KNOWLEDGE_ITEM_VERSIONS: Operation[Any] = Operation("listKnowledgeItemVersions", "GET", "/knowledge-items/{item_id}/versions")
_LIST_KNOWLEDGE_ITEM_CHUNKS: Operation[Any] = Operation("listKnowledgeItemChunks", "GET", "/knowledge-items/{item_id}/chunks")
_CREATE_KNOWLEDGE_ITEMS: Operation[t.KnowledgeItemBatchView] = Operation("createKnowledgeItems", "POST", "/knowledge-bases/{kb_id}/items/batch", has_key=True)
_CURATE_KNOWLEDGE_ITEMS: Operation[t.KnowledgeCurationView] = Operation("curateKnowledgeItems", "POST", "/knowledge-bases/{kb_id}/items/curate", has_key=True)
_CURATE_KNOWLEDGE_ITEM: Operation[t.KnowledgeItemView] = Operation("curateKnowledgeItem", "POST", "/knowledge-items/{item_id}/curate")
_LIST_KNOWLEDGE_RELATIONS: Operation[Any] = Operation("listKnowledgeRelations", "GET", "/knowledge-items/{item_id}/relations")
_CREATE_KNOWLEDGE_RELATION: Operation[t.KnowledgeRelationView] = Operation("createKnowledgeRelation", "POST", "/knowledge-items/{item_id}/relations", has_key=True)
_DELETE_KNOWLEDGE_RELATION: Operation[Any] = Operation("deleteKnowledgeRelation", "DELETE", "/knowledge-relations/{relation_id}")
_SEARCH_KNOWLEDGE_BASE: Operation[t.KnowledgeSearchView] = Operation("searchKnowledgeBase", "POST", "/knowledge-bases/{kb_id}/search")
_SEARCH_KNOWLEDGE: Operation[t.KnowledgeSearchView] = Operation("searchKnowledge", "POST", "/knowledge/search")
_EXPORT_KNOWLEDGE_BASE: Operation[t.MaintenanceRunView] = Operation("exportKnowledgeBase", "POST", "/knowledge-bases/{kb_id}/export", has_key=True)
_IMPORT_KNOWLEDGE_BASE: Operation[t.MaintenanceRunView] = Operation("importKnowledgeBase", "POST", "/knowledge-bases/{kb_id}/import", has_key=True)
_LIST_WEBHOOK_ENDPOINTS: Operation[Any] = Operation("listWebhookEndpoints", "GET", "/webhook-endpoints")
_CREATE_WEBHOOK_ENDPOINT: Operation[t.WebhookEndpointSecretView] = Operation("createWebhookEndpoint", "POST", "/webhook-endpoints", has_key=True)
_GET_WEBHOOK_ENDPOINT: Operation[t.WebhookEndpointView] = Operation("getWebhookEndpoint", "GET", "/webhook-endpoints/{endpoint_id}")
_UPDATE_WEBHOOK_ENDPOINT: Operation[t.WebhookEndpointView] = Operation("updateWebhookEndpoint", "PATCH", "/webhook-endpoints/{endpoint_id}")
_DELETE_WEBHOOK_ENDPOINT: Operation[Any] = Operation("deleteWebhookEndpoint", "DELETE", "/webhook-endpoints/{endpoint_id}")
_ROTATE_WEBHOOK_ENDPOINT_SECRET: Operation[t.WebhookEndpointSecretView] = Operation("rotateWebhookEndpointSecret", "POST", "/webhook-endpoints/{endpoint_id}/rotate-secret")
_TEST_WEBHOOK_ENDPOINT: Operation[t.WebhookTestView] = Operation("testWebhookEndpoint", "POST", "/webhook-endpoints/{endpoint_id}/test")
_LIST_WEBHOOK_DELIVERIES: Operation[Any] = Operation("listWebhookDeliveries", "GET", "/webhook-endpoints/{endpoint_id}/deliveries")
_REPLAY_WEBHOOK_DELIVERY: Operation[t.WebhookDeliveryView] = Operation("replayWebhookDelivery", "POST", "/webhook-endpoints/{endpoint_id}/deliveries/{delivery_id}/replay", has_key=True)
_LIST_SCHEDULES: Operation[Any] = Operation("listSchedules", "GET", "/schedules")
_CREATE_SCHEDULE: Operation[t.ScheduleView] = Operation("createSchedule", "POST", "/schedules", has_key=True)
_GET_SCHEDULE: Operation[t.ScheduleView] = Operation("getSchedule", "GET", "/schedules/{schedule_id}")
_UPDATE_SCHEDULE: Operation[t.ScheduleView] = Operation("updateSchedule", "PATCH", "/schedules/{schedule_id}")
_DELETE_SCHEDULE: Operation[Any] = Operation("deleteSchedule", "DELETE", "/schedules/{schedule_id}")
_TRIGGER_SCHEDULE: Operation[t.ScheduleOccurrenceView] = Operation("triggerSchedule", "POST", "/schedules/{schedule_id}/trigger", has_key=True)
_BACKFILL_SCHEDULE: Operation[t.ScheduleBackfillView] = Operation("backfillSchedule", "POST", "/schedules/{schedule_id}/backfill", has_key=True)
_LIST_SCHEDULE_OCCURRENCES: Operation[Any] = Operation("listScheduleOccurrences", "GET", "/schedules/{schedule_id}/occurrences")
_PREVIEW_SCHEDULE: Operation[t.SchedulePreviewView] = Operation("previewSchedule", "POST", "/schedules/preview")
_LIST_EVENT_TRIGGERS: Operation[Any] = Operation("listEventTriggers", "GET", "/event-triggers")
_CREATE_EVENT_TRIGGER: Operation[t.EventTriggerView] = Operation("createEventTrigger", "POST", "/event-triggers", has_key=True)
_GET_EVENT_TRIGGER: Operation[t.EventTriggerView] = Operation("getEventTrigger", "GET", "/event-triggers/{trigger_id}")
_UPDATE_EVENT_TRIGGER: Operation[t.EventTriggerView] = Operation("updateEventTrigger", "PATCH", "/event-triggers/{trigger_id}")
_DELETE_EVENT_TRIGGER: Operation[Any] = Operation("deleteEventTrigger", "DELETE", "/event-triggers/{trigger_id}")
_PUBLISH_EVENT: Operation[t.EventView] = Operation("publishEvent", "POST", "/events", has_key=True)
_LIST_EVENTS: Operation[Any] = Operation("listEvents", "GET", "/events")
_LIST_CHANNELS: Operation[Any] = Operation("listChannels", "GET", "/channels")
_CREATE_CHANNEL: Operation[t.ChannelView] = Operation("createChannel", "POST", "/channels", has_key=True)
_GET_CHANNEL: Operation[t.ChannelView] = Operation("getChannel", "GET", "/channels/{channel_id}")
_UPDATE_CHANNEL: Operation[t.ChannelView] = Operation("updateChannel", "PATCH", "/channels/{channel_id}")
_DELETE_CHANNEL: Operation[Any] = Operation("deleteChannel", "DELETE", "/channels/{channel_id}")
_TEST_CHANNEL: Operation[t.ChannelTestView] = Operation("testChannel", "POST", "/channels/{channel_id}/test", has_key=True)
_RECEIVE_CHANNEL_MESSAGE: Operation[Any] = Operation("receiveChannelMessage", "POST", "/channels/{channel_id}/inbound", has_credential=False)
_LOGIN: Operation[t.LoginView] = Operation("login", "POST", "/auth/login", has_credential=False)
_REFRESH_TOKENS: Operation[t.TokenView] = Operation("refreshTokens", "POST", "/auth/refresh", has_credential=False)
_LOGOUT: Operation[Any] = Operation("logout", "POST", "/auth/logout")
_VERIFY_MFA: Operation[t.TokenView] = Operation("verifyMfa", "POST", "/auth/mfa/verify", has_credential=False)
_ENROL_TOTP: Operation[t.TotpEnrolmentView] = Operation("enrolTotp", "POST", "/auth/mfa/totp")
_REMOVE_TOTP: Operation[Any] = Operation("removeTotp", "DELETE", "/auth/mfa/totp")
_CONFIRM_TOTP: Operation[t.RecoveryCodesView] = Operation("confirmTotp", "POST", "/auth/mfa/totp/confirm")
_REGENERATE_RECOVERY_CODES: Operation[t.RecoveryCodesView] = Operation("regenerateRecoveryCodes", "POST", "/auth/mfa/recovery-codes")
_GET_ME: Operation[t.MeView] = Operation("getMe", "GET", "/auth/me")
_UPDATE_ME: Operation[t.MeView] = Operation("updateMe", "PATCH", "/auth/me")
_CONFIRM_EMAIL: Operation[Any] = Operation("confirmEmail", "POST", "/auth/email/confirm", has_credential=False)
_CHANGE_PASSWORD: Operation[Any] = Operation("changePassword", "POST", "/auth/password/change")
_FORGOT_PASSWORD: Operation[Any] = Operation("forgotPassword", "POST", "/auth/password/forgot", has_credential=False)
_RESET_PASSWORD: Operation[Any] = Operation("resetPassword", "POST", "/auth/password/reset", has_credential=False)
_CREATE_SERVICE_KEY: Operation[t.ServiceKeySecretView] = Operation("createServiceKey", "POST", "/service-keys", has_key=True)
_LIST_SERVICE_KEYS: Operation[Any] = Operation("listServiceKeys", "GET", "/service-keys")
_GET_SERVICE_KEY: Operation[t.ServiceKeyView] = Operation("getServiceKey", "GET", "/service-keys/{key_id}")
_REVOKE_SERVICE_KEY: Operation[Any] = Operation("revokeServiceKey", "DELETE", "/service-keys/{key_id}")
_ROTATE_SERVICE_KEY: Operation[t.ServiceKeySecretView] = Operation("rotateServiceKey", "POST", "/service-keys/{key_id}/rotate")
_LIST_ORGANIZATIONS: Operation[Any] = Operation("listOrganizations", "GET", "/organizations")
_CREATE_ORGANIZATION: Operation[t.OrganizationView] = Operation("createOrganization", "POST", "/organizations", has_key=True)
_GET_ORGANIZATION: Operation[t.OrganizationView] = Operation("getOrganization", "GET", "/organizations/{organization_id}")
_UPDATE_ORGANIZATION: Operation[t.OrganizationView] = Operation("updateOrganization", "PATCH", "/organizations/{organization_id}")
_DELETE_ORGANIZATION: Operation[Any] = Operation("deleteOrganization", "DELETE", "/organizations/{organization_id}")
_GET_ORGANIZATION_SETTINGS: Operation[t.OrganizationSettingsView] = Operation("getOrganizationSettings", "GET", "/organizations/{organization_id}/settings")
_UPDATE_ORGANIZATION_SETTINGS: Operation[t.OrganizationSettingsView] = Operation("updateOrganizationSettings", "PATCH", "/organizations/{organization_id}/settings")
_TRANSFER_OWNERSHIP: Operation[t.OrganizationView] = Operation("transferOwnership", "POST", "/organizations/{organization_id}/transfer-ownership")
_LIST_ORGANIZATION_WORKSPACES: Operation[Any] = Operation("listOrganizationWorkspaces", "GET", "/organizations/{organization_id}/workspaces")
_CREATE_WORKSPACE: Operation[t.WorkspaceView] = Operation("createWorkspace", "POST", "/organizations/{organization_id}/workspaces", has_key=True)
_LIST_WORKSPACES: Operation[Any] = Operation("listWorkspaces", "GET", "/workspaces")
_GET_WORKSPACE: Operation[t.WorkspaceView] = Operation("getWorkspace", "GET", "/workspaces/{workspace_id}")
_UPDATE_WORKSPACE: Operation[t.WorkspaceView] = Operation("updateWorkspace", "PATCH", "/workspaces/{workspace_id}")
_ARCHIVE_WORKSPACE: Operation[Any] = Operation("archiveWorkspace", "DELETE", "/workspaces/{workspace_id}")
_RESTORE_WORKSPACE: Operation[t.WorkspaceView] = Operation("restoreWorkspace", "POST", "/workspaces/{workspace_id}/restore")
_LIST_WORKSPACE_MEMBERS: Operation[Any] = Operation("listWorkspaceMembers", "GET", "/workspaces/{workspace_id}/members")
_SET_WORKSPACE_MEMBER: Operation[t.WorkspaceMemberView] = Operation("setWorkspaceMember", "PUT", "/workspaces/{workspace_id}/members/{user_id}")
_REMOVE_WORKSPACE_MEMBER: Operation[Any] = Operation("removeWorkspaceMember", "DELETE", "/workspaces/{workspace_id}/members/{user_id}")
_LIST_USERS: Operation[Any] = Operation("listUsers", "GET", "/users")
_CREATE_USER: Operation[t.UserView] = Operation("createUser", "POST", "/users", has_key=True)
_GET_USER: Operation[t.UserView] = Operation("getUser", "GET", "/users/{user_id}")
_UPDATE_USER: Operation[t.UserView] = Operation("updateUser", "PATCH", "/users/{user_id}")
_DELETE_USER: Operation[Any] = Operation("deleteUser", "DELETE", "/users/{user_id}")
_SET_USER_ROLE: Operation[t.UserView] = Operation("setUserRole", "PUT", "/users/{user_id}/role")
_DEACTIVATE_USER: Operation[t.UserView] = Operation("deactivateUser", "POST", "/users/{user_id}/deactivate")
_REACTIVATE_USER: Operation[t.UserView] = Operation("reactivateUser", "POST", "/users/{user_id}/reactivate")
_LIST_INVITATIONS: Operation[Any] = Operation("listInvitations", "GET", "/invitations")
_CREATE_INVITATION: Operation[t.InvitationView] = Operation("createInvitation", "POST", "/invitations", has_key=True)
_GET_INVITATION: Operation[t.InvitationView] = Operation("getInvitation", "GET", "/invitations/{invitation_id}")
_REVOKE_INVITATION: Operation[Any] = Operation("revokeInvitation", "DELETE", "/invitations/{invitation_id}")
_RESEND_INVITATION: Operation[t.InvitationView] = Operation("resendInvitation", "POST", "/invitations/{invitation_id}/resend")
_ACCEPT_INVITATION: Operation[t.LoginView] = Operation("acceptInvitation", "POST", "/invitations/accept", has_credential=False)
_LIST_SECRETS: Operation[Any] = Operation("listSecrets", "GET", "/secrets")
_PUT_SECRET: Operation[t.SecretView] = Operation("putSecret", "PUT", "/secrets/{name}")
_DELETE_SECRET: Operation[Any] = Operation("deleteSecret", "DELETE", "/secrets/{name}")
_LIST_AUDIT_ENTRIES: Operation[Any] = Operation("listAuditEntries", "GET", "/audit-log")
_GET_AUDIT_ENTRY: Operation[t.AuditEntryView] = Operation("getAuditEntry", "GET", "/audit-log/{entry_id}")
_LIST_BUDGETS: Operation[Any] = Operation("listBudgets", "GET", "/budgets")
_GET_BUDGET: Operation[t.BudgetView] = Operation("getBudget", "GET", "/budgets/{workspace_id}")
_PUT_BUDGET: Operation[t.BudgetView] = Operation("putBudget", "PUT", "/budgets/{workspace_id}")
_DELETE_BUDGET: Operation[Any] = Operation("deleteBudget", "DELETE", "/budgets/{workspace_id}")
_GET_BUDGET_STATUS: Operation[t.BudgetStatusView] = Operation("getBudgetStatus", "GET", "/budgets/{workspace_id}/status")
_LIST_USAGE: Operation[Any] = Operation("listUsage", "GET", "/usage")
_LIST_USAGE_RECORDS: Operation[Any] = Operation("listUsageRecords", "GET", "/usage/records")
_EXPORT_USAGE: Operation[Any] = Operation("exportUsage", "GET", "/usage/export")
_LIST_PRICES: Operation[Any] = Operation("listPrices", "GET", "/prices")
_LIST_ALERT_RULES: Operation[Any] = Operation("listAlertRules", "GET", "/alert-rules")
_CREATE_ALERT_RULE: Operation[t.AlertRuleView] = Operation("createAlertRule", "POST", "/alert-rules", has_key=True)
_GET_ALERT_RULE: Operation[t.AlertRuleView] = Operation("getAlertRule", "GET", "/alert-rules/{rule_id}")
_UPDATE_ALERT_RULE: Operation[t.AlertRuleView] = Operation("updateAlertRule", "PATCH", "/alert-rules/{rule_id}")
_DELETE_ALERT_RULE: Operation[Any] = Operation("deleteAlertRule", "DELETE", "/alert-rules/{rule_id}")
_TEST_ALERT_RULE: Operation[t.AlertTestView] = Operation("testAlertRule", "POST", "/alert-rules/{rule_id}/test", has_key=True)
_LIST_ALERTS: Operation[Any] = Operation("listAlerts", "GET", "/alerts")
_GET_ALERT: Operation[t.AlertView] = Operation("getAlert", "GET", "/alerts/{alert_id}")
_UPDATE_ALERT: Operation[t.AlertView] = Operation("updateAlert", "PATCH", "/alerts/{alert_id}")
_CREATE_ATTACHMENT: Operation[t.AttachmentView] = Operation("createAttachment", "POST", "/attachments", has_key=True)
_GET_ATTACHMENT: Operation[Any] = Operation("getAttachment", "GET", "/attachments/{attachment_id}")
_CREATE_REPO_BINDING: Operation[t.RepoBindingView] = Operation("createRepoBinding", "POST", "/repo-bindings", has_key=True)
_LIST_REPO_BINDINGS: Operation[Any] = Operation("listRepoBindings", "GET", "/repo-bindings")
_GET_REPO_BINDING: Operation[t.RepoBindingView] = Operation("getRepoBinding", "GET", "/repo-bindings/{binding_id}")
_UPDATE_REPO_BINDING: Operation[t.RepoBindingView] = Operation("updateRepoBinding", "PATCH", "/repo-bindings/{binding_id}")
_DELETE_REPO_BINDING: Operation[Any] = Operation("deleteRepoBinding", "DELETE", "/repo-bindings/{binding_id}")
_LIST_REVIEW_PLAYBOOKS: Operation[Any] = Operation("listReviewPlaybooks", "GET", "/review-playbooks")
_CREATE_REVIEW_PLAYBOOK: Operation[t.ReviewPlaybookView] = Operation("createReviewPlaybook", "POST", "/review-playbooks", has_key=True)
_GET_REVIEW_PLAYBOOK: Operation[t.ReviewPlaybookView] = Operation("getReviewPlaybook", "GET", "/review-playbooks/{playbook_id}")
_UPDATE_REVIEW_PLAYBOOK: Operation[t.ReviewPlaybookView] = Operation("updateReviewPlaybook", "PATCH", "/review-playbooks/{playbook_id}")
_DELETE_REVIEW_PLAYBOOK: Operation[Any] = Operation("deleteReviewPlaybook", "DELETE", "/review-playbooks/{playbook_id}")
_CLONE_REVIEW_PLAYBOOK: Operation[t.ReviewPlaybookView] = Operation("cloneReviewPlaybook", "POST", "/review-playbooks/{playbook_id}/clone", has_key=True)
_LIST_REVIEW_PLAYBOOK_REVISIONS: Operation[Any] = Operation("listReviewPlaybookRevisions", "GET", "/review-playbooks/{playbook_id}/revisions")
_CREATE_REVIEW_PLAYBOOK_REVISION: Operation[t.ReviewPlaybookRevisionView] = Operation("createReviewPlaybookRevision", "POST", "/review-playbooks/{playbook_id}/revisions", has_key=True)
_LIST_EVALUATIONS: Operation[Any] = Operation("listEvaluations", "GET", "/evaluations")
_CREATE_EVALUATION: Operation[t.EvaluationRunDetailView] = Operation("createEvaluation", "POST", "/evaluations", has_key=True)
_GET_EVALUATION: Operation[t.EvaluationRunDetailView] = Operation("getEvaluation", "GET", "/evaluations/{evaluation_run_id}")
_LIST_FEEDBACK: Operation[Any] = Operation("listFeedback", "GET", "/feedback")
_PUT_RUN_FEEDBACK: Operation[t.FeedbackView] = Operation("putRunFeedback", "PUT", "/runs/{run_id}/feedback")
_WITHDRAW_RUN_FEEDBACK: Operation[Any] = Operation("withdrawRunFeedback", "DELETE", "/runs/{run_id}/feedback")
_RECEIVE_HOOK_BY_GET: Operation[Any] = Operation("receiveHookByGet", "GET", "/hooks/{workspace_id}/{slug}", has_credential=False)
_RECEIVE_HOOK: Operation[Any] = Operation("receiveHook", "POST", "/hooks/{workspace_id}/{slug}", has_key=True, has_credential=False)
_CREATE_MAINTENANCE_RUN: Operation[t.MaintenanceRunView] = Operation("createMaintenanceRun", "POST", "/knowledge-bases/{kb_id}/maintenance-runs", has_key=True)
_LIST_MAINTENANCE_RUNS: Operation[Any] = Operation("listMaintenanceRuns", "GET", "/knowledge-maintenance-runs")
_GET_MAINTENANCE_RUN: Operation[t.MaintenanceRunView] = Operation("getMaintenanceRun", "GET", "/knowledge-maintenance-runs/{run_id}")
_CANCEL_MAINTENANCE_RUN: Operation[t.MaintenanceRunView] = Operation("cancelMaintenanceRun", "POST", "/knowledge-maintenance-runs/{run_id}/cancel")
_GET_MAINTENANCE_POLICY: Operation[t.MaintenancePolicyView] = Operation("getMaintenancePolicy", "GET", "/knowledge-bases/{kb_id}/maintenance-policy")
_PUT_MAINTENANCE_POLICY: Operation[t.MaintenancePolicyView] = Operation("putMaintenancePolicy", "PUT", "/knowledge-bases/{kb_id}/maintenance-policy")
_LIST_KNOWLEDGE_FINDINGS: Operation[Any] = Operation("listKnowledgeFindings", "GET", "/knowledge-findings")
_RESOLVE_KNOWLEDGE_FINDING: Operation[t.KnowledgeFindingView] = Operation("resolveKnowledgeFinding", "POST", "/knowledge-findings/{finding_id}/resolve")
_PURGE_KNOWLEDGE_BASE: Operation[t.MaintenanceRunView] = Operation("purgeKnowledgeBase", "POST", "/knowledge-bases/{kb_id}/purge", has_key=True)
_CALL_MCP: Operation[Any] = Operation("callMcp", "POST", "/mcp")
_STREAM_MCP: Operation[Any] = Operation("streamMcp", "GET", "/mcp")
_END_MCP: Operation[Any] = Operation("endMcp", "DELETE", "/mcp")
_DISCOVER_MCP_SERVER: Operation[t.McpDiscoveryView] = Operation("discoverMcpServer", "POST", "/mcp/discover")
_SYNC_MCP_TOOLKIT: Operation[t.ToolkitRevisionView] = Operation("syncMcpToolkit", "POST", "/mcp/toolkits/{toolkit_id}/sync", has_key=True)
_GET_MCP_TOOLKIT_STATUS: Operation[t.McpToolkitStatusView] = Operation("getMcpToolkitStatus", "GET", "/mcp/toolkits/{toolkit_id}/status")
_GET_OAUTH_SERVER_METADATA: Operation[t.OauthServerMetadata] = Operation("getOauthServerMetadata", "GET", "/.well-known/oauth-authorization-server", has_credential=False)
_GET_OAUTH_RESOURCE_METADATA: Operation[t.OauthResourceMetadata] = Operation("getOauthResourceMetadata", "GET", "/.well-known/oauth-protected-resource", has_credential=False)
_GET_OAUTH_RESOURCE_METADATA_FOR: Operation[t.OauthResourceMetadata] = Operation("getOauthResourceMetadataFor", "GET", "/.well-known/oauth-protected-resource/{resource_path}", has_credential=False)
_GET_OAUTH_KEYS: Operation[t.JsonWebKeySet] = Operation("getOauthKeys", "GET", "/oauth/jwks", has_credential=False)
_START_AUTHORIZATION: Operation[Any] = Operation("startAuthorization", "GET", "/oauth/authorize", has_credential=False)
_DECIDE_AUTHORIZATION: Operation[t.AuthorizationDecisionView] = Operation("decideAuthorization", "POST", "/oauth/authorize")
_ISSUE_OAUTH_TOKEN: Operation[t.OauthTokenView] = Operation("issueOauthToken", "POST", "/oauth/token", has_credential=False, is_form=True)
_REVOKE_OAUTH_TOKEN: Operation[Any] = Operation("revokeOauthToken", "POST", "/oauth/revoke", has_credential=False, is_form=True)
_INTROSPECT_OAUTH_TOKEN: Operation[t.OauthIntrospectionView] = Operation("introspectOauthToken", "POST", "/oauth/introspect", has_credential=False, is_form=True)
_REGISTER_OAUTH_CLIENT: Operation[t.OauthClientRegistrationView] = Operation("registerOauthClient", "POST", "/oauth/register", has_credential=False)
_GET_OAUTH_CLIENT_REGISTRATION: Operation[t.OauthClientRegistrationView] = Operation("getOauthClientRegistration", "GET", "/oauth/register/{client_id}", has_credential=False)
_DELETE_OAUTH_CLIENT_REGISTRATION: Operation[Any] = Operation("deleteOauthClientRegistration", "DELETE", "/oauth/register/{client_id}", has_credential=False)
_GET_LIVENESS: Operation[t.HealthView] = Operation("getLiveness", "GET", "/health/live", has_credential=False)
_GET_READINESS: Operation[t.HealthView] = Operation("getReadiness", "GET", "/health/ready", has_credential=False)
_GET_STARTUP: Operation[t.HealthView] = Operation("getStartup", "GET", "/health/startup", has_credential=False)
_GET_METRICS: Operation[Any] = Operation("getMetrics", "GET", "/metrics")
_GET_VERSION: Operation[t.VersionView] = Operation("getVersion", "GET", "/version")
_GET_OPENAPI: Operation[dict[str, Any]] = Operation("getOpenapi", "GET", "/openapi.json", has_credential=False)
_GET_REDOC: Operation[Any] = Operation("getRedoc", "GET", "/redoc", has_credential=False)
_GET_LLMS_TEXT: Operation[Any] = Operation("getLlmsText", "GET", "/llms.txt", has_credential=False)
_LIST_ERROR_CODES: Operation[t.ErrorCatalogueView] = Operation("listErrorCodes", "GET", "/error-codes", has_credential=False)
_GET_STREAM_PROTOCOL: Operation[t.StreamProtocolView] = Operation("getStreamProtocol", "GET", "/stream-protocol", has_credential=False)
_LIST_DEPRECATIONS: Operation[Any] = Operation("listDeprecations", "GET", "/deprecations", has_credential=False)
_GET_CAPABILITIES: Operation[t.CapabilitiesView] = Operation("getCapabilities", "GET", "/capabilities")
_GET_SYSTEM_STATUS: Operation[t.SystemStatusView] = Operation("getSystemStatus", "GET", "/system/status")
_SUSPEND_ORGANIZATION: Operation[t.OrganizationView] = Operation("suspendOrganization", "POST", "/organizations/{organization_id}/suspend")
_RESUME_ORGANIZATION: Operation[t.OrganizationView] = Operation("resumeOrganization", "POST", "/organizations/{organization_id}/resume")
_PURGE_ORGANIZATION: Operation[t.PurgeView] = Operation("purgeOrganization", "POST", "/organizations/{organization_id}/purge", has_key=True)
_START_IMPERSONATION: Operation[t.ImpersonationTokenView] = Operation("startImpersonation", "POST", "/impersonations")
_LIST_IMPERSONATIONS: Operation[Any] = Operation("listImpersonations", "GET", "/impersonations")
_END_IMPERSONATION: Operation[Any] = Operation("endImpersonation", "DELETE", "/impersonations/{impersonation_id}")
_CREATE_MODEL_PRICE: Operation[t.PriceView] = Operation("createModelPrice", "POST", "/model-prices", has_key=True)
_IMPORT_MODEL_PRICES: Operation[t.PriceImportView] = Operation("importModelPrices", "POST", "/model-prices/import", has_key=True)
_DELETE_MODEL_PRICE: Operation[Any] = Operation("deleteModelPrice", "DELETE", "/model-prices/{price_id}")
_LIST_OAUTH_CLIENTS: Operation[Any] = Operation("listOauthClients", "GET", "/oauth-clients")
_CREATE_OAUTH_CLIENT: Operation[t.OauthClientSecretView] = Operation("createOauthClient", "POST", "/oauth-clients", has_key=True)
_ROTATE_OAUTH_CLIENT_SECRET: Operation[t.OauthClientSecretView] = Operation("rotateOauthClientSecret", "POST", "/oauth-clients/{client_id}/rotate-secret")
_DELETE_OAUTH_CLIENT: Operation[Any] = Operation("deleteOauthClient", "DELETE", "/oauth-clients/{client_id}")

class Operations(BlockingCalls):
    """Every operation of the contract, blocking."""

    def list_runs(
        self,
        *,
        workspace_id: str | None = None,
        agent_id: str | None = None,
        status: Literal["queued", "running", "waiting", "cancelling", "succeeded", "failed", "cancelled"] | None = None,
        waiting_on: Literal["approval", "input", "client_tool", "auth", "budget", "timer"] | None = None,
        session_key: str | None = None,
        subject_id: str | None = None,
        trigger_id: str | None = None,
        parent_run_id: str | None = None,
        evaluation_run_id: str | None = None,
        binding_id: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.RunView, t.PageRunView]:
        """List runs (`GET /runs`)."""
        return self._pages(_LIST_RUNS, {}, options, query={"workspace_id": workspace_id, "agent_id": agent_id, "status": status, "waiting_on": waiting_on, "session_key": session_key, "subject_id": subject_id, "trigger_id": trigger_id, "parent_run_id": parent_run_id, "evaluation_run_id": evaluation_run_id, "binding_id": binding_id, "from": from_, "to": to, "limit": limit, "cursor": cursor, "offset": offset})

    def create_run(
        self,
        body: t.RunCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.RunView:
        """Start a run (`POST /runs`)."""
        return self._json(_CREATE_RUN, {}, options, body=body)

    def get_run(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> t.RunView:
        """Read a run (`GET /runs/{run_id}`)."""
        return self._json(_GET_RUN, {"run_id": run_id}, options)

    def purge_run(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Purge a run (`DELETE /runs/{run_id}`)."""
        self._empty(_PURGE_RUN, {"run_id": run_id}, options)

    def cancel_run(
        self,
        run_id: str,
        body: t.RunCancel | None = None,
        **options: Unpack[KeyedCallOptions],
    ) -> t.RunView:
        """Cancel a run (`POST /runs/{run_id}/cancel`)."""
        return self._json(_CANCEL_RUN, {"run_id": run_id}, options, body=body)

    def add_run_input(
        self,
        run_id: str,
        body: t.RunInputAdd,
        **options: Unpack[KeyedCallOptions],
    ) -> t.RunView:
        """Add input to a run (`POST /runs/{run_id}/input`)."""
        return self._json(_ADD_RUN_INPUT, {"run_id": run_id}, options, body=body)

    def list_run_approvals(
        self,
        run_id: str,
        *,
        status: Literal["pending", "approved", "rejected", "edited", "responded", "expired", "cancelled"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.ApprovalView, t.PageApprovalView]:
        """List the approvals of a run (`GET /runs/{run_id}/approvals`)."""
        return self._pages(_LIST_RUN_APPROVALS, {"run_id": run_id}, options, query={"status": status, "limit": limit, "cursor": cursor, "offset": offset})

    def resolve_run_approvals(
        self,
        run_id: str,
        body: t.RunApprovalsResolve,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ApprovalResolutionView:
        """Answer approvals of a run (`POST /runs/{run_id}/approvals`)."""
        return self._json(_RESOLVE_RUN_APPROVALS, {"run_id": run_id}, options, body=body)

    def wait_for_run(
        self,
        run_id: str,
        *,
        timeout_s: int | None = None,
        **options: Unpack[CallOptions],
    ) -> t.RunView:
        """Wait for a run (`GET /runs/{run_id}/wait`)."""
        return self._json(_WAIT_FOR_RUN, {"run_id": run_id}, options, query={"timeout_s": timeout_s})

    def list_run_messages(
        self,
        run_id: str,
        *,
        scope: Literal["run", "conversation"] | None = None,
        include_discarded: bool | None = None,
        message_id: str | None = None,
        tool_call_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.MessageView, t.PageMessageView]:
        """List the messages of a run (`GET /runs/{run_id}/messages`)."""
        return self._pages(_LIST_RUN_MESSAGES, {"run_id": run_id}, options, query={"scope": scope, "include_discarded": include_discarded, "message_id": message_id, "tool_call_id": tool_call_id, "limit": limit, "cursor": cursor, "offset": offset})

    def list_run_steps(
        self,
        run_id: str,
        *,
        kind: Literal["model", "tool", "sub_agent", "system"] | None = None,
        tool_call_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.RunStepView, t.PageRunStepView]:
        """List the steps of a run (`GET /runs/{run_id}/steps`)."""
        return self._pages(_LIST_RUN_STEPS, {"run_id": run_id}, options, query={"kind": kind, "tool_call_id": tool_call_id, "limit": limit, "cursor": cursor, "offset": offset})

    def create_run_batch(
        self,
        body: t.RunBatchCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.RunBatchView:
        """Start many runs (`POST /runs/batch`)."""
        return self._json(_CREATE_RUN_BATCH, {}, options, body=body)

    def cancel_runs(
        self,
        body: t.RunBulkCancel,
        **options: Unpack[KeyedCallOptions],
    ) -> t.RunBulkCancelView:
        """Cancel many runs (`POST /runs/cancel`)."""
        return self._json(_CANCEL_RUNS, {}, options, body=body)

    def retry_run(
        self,
        run_id: str,
        body: t.RunRetry | None = None,
        **options: Unpack[KeyedCallOptions],
    ) -> t.RunView:
        """Retry or fork a run (`POST /runs/{run_id}/retry`)."""
        return self._json(_RETRY_RUN, {"run_id": run_id}, options, body=body)

    def stream_run(
        self,
        run_id: str,
        *,
        after_seq: int | None = None,
        replay: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> RunStream:
        """Watch a run (`GET /runs/{run_id}/stream`)."""
        return self._stream(_STREAM_RUN, {"run_id": run_id}, options, query={"after_seq": after_seq, "replay": replay})

    def create_stream_token(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> t.StreamTokenView:
        """Create a stream token (`POST /runs/{run_id}/stream-token`)."""
        return self._json(_CREATE_STREAM_TOKEN, {"run_id": run_id}, options)

    def list_sessions(
        self,
        *,
        kind: Literal["login", "oauth"] | None = None,
        include_revoked: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.SessionView, t.PageSessionView]:
        """List your sessions (`GET /sessions`)."""
        return self._pages(_LIST_SESSIONS, {}, options, query={"kind": kind, "include_revoked": include_revoked, "limit": limit, "cursor": cursor, "offset": offset})

    def get_current_session(
        self,
        **options: Unpack[CallOptions],
    ) -> t.SessionView:
        """Read the current session (`GET /sessions/current`)."""
        return self._json(_GET_CURRENT_SESSION, {}, options)

    def get_session(
        self,
        session_id: str,
        **options: Unpack[CallOptions],
    ) -> t.SessionView:
        """Read one of your sessions (`GET /sessions/{session_id}`)."""
        return self._json(_GET_SESSION, {"session_id": session_id}, options)

    def revoke_session(
        self,
        session_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Sign a device out (`DELETE /sessions/{session_id}`)."""
        self._empty(_REVOKE_SESSION, {"session_id": session_id}, options)

    def revoke_other_sessions(
        self,
        **options: Unpack[CallOptions],
    ) -> t.SessionRevocationView:
        """Sign every other device out (`POST /sessions/revoke-others`)."""
        return self._json(_REVOKE_OTHER_SESSIONS, {}, options)

    def revoke_user_sessions(
        self,
        user_id: str,
        **options: Unpack[CallOptions],
    ) -> t.SessionRevocationView:
        """Sign a user out everywhere (`POST /users/{user_id}/sessions/revoke-all`)."""
        return self._json(_REVOKE_USER_SESSIONS, {"user_id": user_id}, options)

    def list_agents(
        self,
        *,
        q: str | None = None,
        scope: Literal["workspace", "organization", "platform"] | None = None,
        is_active: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.AgentView, t.PageAgentView]:
        """List agents (`GET /agents`)."""
        return self._pages(_LIST_AGENTS, {}, options, query={"q": q, "scope": scope, "is_active": is_active, "limit": limit, "cursor": cursor, "offset": offset})

    def create_agent(
        self,
        body: t.AgentCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.AgentView:
        """Create an agent (`POST /agents`)."""
        return self._json(_CREATE_AGENT, {}, options, body=body)

    def get_agent(
        self,
        agent_id: str,
        **options: Unpack[CallOptions],
    ) -> t.AgentView:
        """Read an agent (`GET /agents/{agent_id}`)."""
        return self._json(_GET_AGENT, {"agent_id": agent_id}, options)

    def update_agent(
        self,
        agent_id: str,
        body: t.AgentUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.AgentView:
        """Change an agent (`PATCH /agents/{agent_id}`)."""
        return self._json(_UPDATE_AGENT, {"agent_id": agent_id}, options, headers={"If-Match": if_match}, body=body)

    def delete_agent(
        self,
        agent_id: str,
        *,
        force: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete an agent (`DELETE /agents/{agent_id}`)."""
        self._empty(_DELETE_AGENT, {"agent_id": agent_id}, options, query={"force": force})

    def list_available_sub_agents(
        self,
        agent_id: str,
        *,
        q: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.PageAgentSummary:
        """List agents that an agent can call (`GET /agents/{agent_id}/available-sub-agents`)."""
        return self._json(_LIST_AVAILABLE_SUB_AGENTS, {"agent_id": agent_id}, options, query={"q": q})

    def import_agent(
        self,
        body: t.AgentImport,
        **options: Unpack[KeyedCallOptions],
    ) -> t.AgentView:
        """Import an agent (`POST /agents/import`)."""
        return self._json(_IMPORT_AGENT, {}, options, body=body)

    def export_agent(
        self,
        agent_id: str,
        *,
        revision_id: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.AgentExportView:
        """Export an agent (`GET /agents/{agent_id}/export`)."""
        return self._json(_EXPORT_AGENT, {"agent_id": agent_id}, options, query={"revision_id": revision_id})

    def clone_agent(
        self,
        agent_id: str,
        body: t.AgentClone,
        **options: Unpack[KeyedCallOptions],
    ) -> t.AgentView:
        """Clone an agent (`POST /agents/{agent_id}/clone`)."""
        return self._json(_CLONE_AGENT, {"agent_id": agent_id}, options, body=body)

    def list_agent_revisions(
        self,
        agent_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.AgentRevisionView, t.PageAgentRevisionView]:
        """List the revisions of an agent (`GET /agents/{agent_id}/revisions`)."""
        return self._pages(_LIST_AGENT_REVISIONS, {"agent_id": agent_id}, options, query={"limit": limit, "cursor": cursor, "offset": offset})

    def create_agent_revision(
        self,
        agent_id: str,
        body: t.AgentRevisionCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.AgentRevisionView:
        """Add a revision to an agent (`POST /agents/{agent_id}/revisions`)."""
        return self._json(_CREATE_AGENT_REVISION, {"agent_id": agent_id}, options, body=body)

    def get_agent_revision(
        self,
        agent_id: str,
        revision_id: str,
        **options: Unpack[CallOptions],
    ) -> t.AgentRevisionView:
        """Read a revision (`GET /agents/{agent_id}/revisions/{revision_id}`)."""
        return self._json(_GET_AGENT_REVISION, {"agent_id": agent_id, "revision_id": revision_id}, options)

    def activate_agent_revision(
        self,
        agent_id: str,
        revision_id: str,
        *,
        if_match: str,
        **options: Unpack[CallOptions],
    ) -> t.AgentView:
        """Activate a revision (`POST /agents/{agent_id}/revisions/{revision_id}/activate`)."""
        return self._json(_ACTIVATE_AGENT_REVISION, {"agent_id": agent_id, "revision_id": revision_id}, options, headers={"If-Match": if_match})

    def diff_agent_revisions(
        self,
        agent_id: str,
        revision_id: str,
        *,
        against: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.RevisionDiffView:
        """Compare two revisions (`GET /agents/{agent_id}/revisions/{revision_id}/diff`)."""
        return self._json(_DIFF_AGENT_REVISIONS, {"agent_id": agent_id, "revision_id": revision_id}, options, query={"against": against})

    def validate_agent_revision(
        self,
        agent_id: str,
        body: t.RevisionValidate,
        **options: Unpack[CallOptions],
    ) -> t.RevisionValidationView:
        """Validate a revision without storing it (`POST /agents/{agent_id}/validate`)."""
        return self._json(_VALIDATE_AGENT_REVISION, {"agent_id": agent_id}, options, body=body)

    def get_effective_agent(
        self,
        agent_id: str,
        *,
        revision_id: str | None = None,
        persona_slug: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.EffectiveAgentView:
        """Read what a run would use (`GET /agents/{agent_id}/effective`)."""
        return self._json(_GET_EFFECTIVE_AGENT, {"agent_id": agent_id}, options, query={"revision_id": revision_id, "persona_slug": persona_slug})

    def list_personas(
        self,
        agent_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.PersonaView, t.PagePersonaView]:
        """List the personas of an agent (`GET /agents/{agent_id}/personas`)."""
        return self._pages(_LIST_PERSONAS, {"agent_id": agent_id}, options, query={"limit": limit, "cursor": cursor, "offset": offset})

    def create_persona(
        self,
        agent_id: str,
        body: t.PersonaCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.PersonaView:
        """Add a persona to an agent (`POST /agents/{agent_id}/personas`)."""
        return self._json(_CREATE_PERSONA, {"agent_id": agent_id}, options, body=body)

    def update_persona(
        self,
        agent_id: str,
        persona_id: str,
        body: t.PersonaUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.PersonaView:
        """Change a persona (`PATCH /agents/{agent_id}/personas/{persona_id}`)."""
        return self._json(_UPDATE_PERSONA, {"agent_id": agent_id, "persona_id": persona_id}, options, headers={"If-Match": if_match}, body=body)

    def delete_persona(
        self,
        agent_id: str,
        persona_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a persona (`DELETE /agents/{agent_id}/personas/{persona_id}`)."""
        self._empty(_DELETE_PERSONA, {"agent_id": agent_id, "persona_id": persona_id}, options)

    def list_skills(
        self,
        *,
        q: str | None = None,
        curation_state: Literal["pending", "reviewed", "promoted", "superseded", "retired"] | None = None,
        origin: Literal["human", "agent", "import", "derived"] | None = None,
        owner_agent_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.SkillView, t.PageSkillView]:
        """List skills (`GET /skills`)."""
        return self._pages(_LIST_SKILLS, {}, options, query={"q": q, "curation_state": curation_state, "origin": origin, "owner_agent_id": owner_agent_id, "limit": limit, "cursor": cursor, "offset": offset})

    def create_skill(
        self,
        body: t.SkillCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.SkillView:
        """Create a skill (`POST /skills`)."""
        return self._json(_CREATE_SKILL, {}, options, body=body)

    def import_skill(
        self,
        body: t.SkillImport,
        **options: Unpack[KeyedCallOptions],
    ) -> t.SkillView:
        """Import a skill (`POST /skills/import`)."""
        return self._json(_IMPORT_SKILL, {}, options, body=body)

    def get_skill(
        self,
        skill_id: str,
        **options: Unpack[CallOptions],
    ) -> t.SkillView:
        """Read a skill (`GET /skills/{skill_id}`)."""
        return self._json(_GET_SKILL, {"skill_id": skill_id}, options)

    def update_skill(
        self,
        skill_id: str,
        body: t.SkillUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.SkillView:
        """Change a skill (`PATCH /skills/{skill_id}`)."""
        return self._json(_UPDATE_SKILL, {"skill_id": skill_id}, options, headers={"If-Match": if_match}, body=body)

    def delete_skill(
        self,
        skill_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a skill (`DELETE /skills/{skill_id}`)."""
        self._empty(_DELETE_SKILL, {"skill_id": skill_id}, options)

    def curate_skill(
        self,
        skill_id: str,
        body: t.SkillCurate,
        **options: Unpack[CallOptions],
    ) -> t.SkillView:
        """Curate a skill (`POST /skills/{skill_id}/curate`)."""
        return self._json(_CURATE_SKILL, {"skill_id": skill_id}, options, body=body)

    def list_skill_versions(
        self,
        skill_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.SkillVersionView, t.PageSkillVersionView]:
        """List the versions of a skill (`GET /skills/{skill_id}/versions`)."""
        return self._pages(_LIST_SKILL_VERSIONS, {"skill_id": skill_id}, options, query={"limit": limit, "cursor": cursor, "offset": offset})

    def list_tools(
        self,
        *,
        q: str | None = None,
        kind: Literal["http", "remote_protocol", "builtin", "code_exec", "web_search", "web_fetch", "delegate", "schedule"] | None = None,
        effect: Literal["read", "write"] | None = None,
        critical: bool | None = None,
        toolkit_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.ToolView, t.PageToolView]:
        """List tools (`GET /tools`)."""
        return self._pages(_LIST_TOOLS, {}, options, query={"q": q, "kind": kind, "effect": effect, "critical": critical, "toolkit_id": toolkit_id, "limit": limit, "cursor": cursor, "offset": offset})

    def create_tool(
        self,
        body: t.ToolCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ToolView:
        """Create a tool (`POST /tools`)."""
        return self._json(_CREATE_TOOL, {}, options, body=body)

    def get_tool(
        self,
        tool_id: str,
        *,
        if_none_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.ToolView:
        """Read a tool (`GET /tools/{tool_id}`)."""
        return self._json(_GET_TOOL, {"tool_id": tool_id}, options, headers={"If-None-Match": if_none_match})

    def update_tool(
        self,
        tool_id: str,
        body: t.ToolUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.ToolView:
        """Change a tool (`PATCH /tools/{tool_id}`)."""
        return self._json(_UPDATE_TOOL, {"tool_id": tool_id}, options, headers={"If-Match": if_match}, body=body)

    def delete_tool(
        self,
        tool_id: str,
        *,
        force: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a tool (`DELETE /tools/{tool_id}`)."""
        self._empty(_DELETE_TOOL, {"tool_id": tool_id}, options, query={"force": force})

    def test_tool(
        self,
        tool_id: str,
        body: t.ToolTest,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ToolTestView:
        """Test a tool (`POST /tools/{tool_id}/test`)."""
        return self._json(_TEST_TOOL, {"tool_id": tool_id}, options, body=body)

    def set_tool_secrets(
        self,
        tool_id: str,
        body: t.ToolSecretsPut,
        **options: Unpack[CallOptions],
    ) -> t.ToolView:
        """Set secrets of a tool (`PUT /tools/{tool_id}/secrets`)."""
        return self._json(_SET_TOOL_SECRETS, {"tool_id": tool_id}, options, body=body)

    def delete_tool_secret(
        self,
        tool_id: str,
        name: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a secret of a tool (`DELETE /tools/{tool_id}/secrets/{name}`)."""
        self._empty(_DELETE_TOOL_SECRET, {"tool_id": tool_id, "name": name}, options)

    def list_toolkits(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.ToolkitView, t.PageToolkitView]:
        """List toolkits (`GET /toolkits`)."""
        return self._pages(_LIST_TOOLKITS, {}, options, query={"limit": limit, "cursor": cursor, "offset": offset})

    def create_toolkit(
        self,
        body: t.ToolkitCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ToolkitView:
        """Create a toolkit (`POST /toolkits`)."""
        return self._json(_CREATE_TOOLKIT, {}, options, body=body)

    def get_toolkit(
        self,
        toolkit_id: str,
        **options: Unpack[CallOptions],
    ) -> t.ToolkitView:
        """Read a toolkit (`GET /toolkits/{toolkit_id}`)."""
        return self._json(_GET_TOOLKIT, {"toolkit_id": toolkit_id}, options)

    def update_toolkit(
        self,
        toolkit_id: str,
        body: t.ToolkitUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.ToolkitView:
        """Change a toolkit (`PATCH /toolkits/{toolkit_id}`)."""
        return self._json(_UPDATE_TOOLKIT, {"toolkit_id": toolkit_id}, options, headers={"If-Match": if_match}, body=body)

    def delete_toolkit(
        self,
        toolkit_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a toolkit (`DELETE /toolkits/{toolkit_id}`)."""
        self._empty(_DELETE_TOOLKIT, {"toolkit_id": toolkit_id}, options)

    def list_toolkit_revisions(
        self,
        toolkit_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.ToolkitRevisionView, t.PageToolkitRevisionView]:
        """List the revisions of a toolkit (`GET /toolkits/{toolkit_id}/revisions`)."""
        return self._pages(_LIST_TOOLKIT_REVISIONS, {"toolkit_id": toolkit_id}, options, query={"limit": limit, "cursor": cursor, "offset": offset})

    def create_toolkit_revision(
        self,
        toolkit_id: str,
        body: t.ToolkitRevisionCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ToolkitRevisionView:
        """Add a revision to a toolkit (`POST /toolkits/{toolkit_id}/revisions`)."""
        return self._json(_CREATE_TOOLKIT_REVISION, {"toolkit_id": toolkit_id}, options, body=body)

    def activate_toolkit_revision(
        self,
        toolkit_id: str,
        revision_id: str,
        body: t.ToolkitRevisionActivate,
        **options: Unpack[CallOptions],
    ) -> t.ToolkitView:
        """Activate a revision of a toolkit (`POST /toolkits/{toolkit_id}/revisions/{revision_id}/activate`)."""
        return self._json(_ACTIVATE_TOOLKIT_REVISION, {"toolkit_id": toolkit_id, "revision_id": revision_id}, options, body=body)

    def list_knowledge_bases(
        self,
        *,
        scope: Literal["workspace", "organization", "platform"] | None = None,
        kind: Literal["documents", "memory", "faq", "playbook", "code"] | None = None,
        owner_agent_id: str | None = None,
        owner_persona_id: str | None = None,
        subject_kind: Literal["user", "guest"] | None = None,
        subject_id: str | None = None,
        is_private: bool | None = None,
        is_frozen: bool | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.KnowledgeBaseView, t.PageKnowledgeBaseView]:
        """List knowledge bases (`GET /knowledge-bases`)."""
        return self._pages(_LIST_KNOWLEDGE_BASES, {}, options, query={"scope": scope, "kind": kind, "owner_agent_id": owner_agent_id, "owner_persona_id": owner_persona_id, "subject_kind": subject_kind, "subject_id": subject_id, "is_private": is_private, "is_frozen": is_frozen, "q": q, "limit": limit, "cursor": cursor, "offset": offset})

    def create_knowledge_base(
        self,
        body: t.KnowledgeBaseCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.KnowledgeBaseView:
        """Create a knowledge base (`POST /knowledge-bases`)."""
        return self._json(_CREATE_KNOWLEDGE_BASE, {}, options, body=body)

    def get_knowledge_base(
        self,
        kb_id: str,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeBaseView:
        """Read a knowledge base (`GET /knowledge-bases/{kb_id}`)."""
        return self._json(_GET_KNOWLEDGE_BASE, {"kb_id": kb_id}, options)

    def update_knowledge_base(
        self,
        kb_id: str,
        body: t.KnowledgeBaseUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeBaseView:
        """Change a knowledge base (`PATCH /knowledge-bases/{kb_id}`)."""
        return self._json(_UPDATE_KNOWLEDGE_BASE, {"kb_id": kb_id}, options, headers={"If-Match": if_match}, body=body)

    def delete_knowledge_base(
        self,
        kb_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a knowledge base (`DELETE /knowledge-bases/{kb_id}`)."""
        self._empty(_DELETE_KNOWLEDGE_BASE, {"kb_id": kb_id}, options)

    def get_knowledge_base_stats(
        self,
        kb_id: str,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeBaseStatsView:
        """Read the contents of a knowledge base (`GET /knowledge-bases/{kb_id}/stats`)."""
        return self._json(_GET_KNOWLEDGE_BASE_STATS, {"kb_id": kb_id}, options)

    def reembed_knowledge_base(
        self,
        kb_id: str,
        body: t.Reembed,
        **options: Unpack[KeyedCallOptions],
    ) -> t.KnowledgeBaseView:
        """Re-embed a knowledge base (`POST /knowledge-bases/{kb_id}/reembed`)."""
        return self._json(_REEMBED_KNOWLEDGE_BASE, {"kb_id": kb_id}, options, body=body)

    def list_knowledge_grants(
        self,
        kb_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.KnowledgeGrantView, t.PageKnowledgeGrantView]:
        """List the grants of a knowledge base (`GET /knowledge-bases/{kb_id}/grants`)."""
        return self._pages(_LIST_KNOWLEDGE_GRANTS, {"kb_id": kb_id}, options, query={"limit": limit, "cursor": cursor, "offset": offset})

    def create_knowledge_grant(
        self,
        kb_id: str,
        body: t.KnowledgeGrantCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.KnowledgeGrantView:
        """Grant access to a knowledge base (`POST /knowledge-bases/{kb_id}/grants`)."""
        return self._json(_CREATE_KNOWLEDGE_GRANT, {"kb_id": kb_id}, options, body=body)

    def update_knowledge_grant(
        self,
        grant_id: str,
        body: t.KnowledgeGrantUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeGrantView:
        """Change a grant (`PATCH /knowledge-grants/{grant_id}`)."""
        return self._json(_UPDATE_KNOWLEDGE_GRANT, {"grant_id": grant_id}, options, headers={"If-Match": if_match}, body=body)

    def delete_knowledge_grant(
        self,
        grant_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Revoke a grant (`DELETE /knowledge-grants/{grant_id}`)."""
        self._empty(_DELETE_KNOWLEDGE_GRANT, {"grant_id": grant_id}, options)

    def list_knowledge_sources(
        self,
        kb_id: str,
        *,
        state: Literal["queued", "fetching", "parsing", "indexing", "ready", "failed"] | None = None,
        kind: Literal["attachment", "url", "text"] | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.KnowledgeSourceView, t.PageKnowledgeSourceView]:
        """List sources (`GET /knowledge-bases/{kb_id}/sources`)."""
        return self._pages(_LIST_KNOWLEDGE_SOURCES, {"kb_id": kb_id}, options, query={"state": state, "kind": kind, "q": q, "limit": limit, "cursor": cursor, "offset": offset})

    def create_knowledge_source(
        self,
        kb_id: str,
        body: t.KnowledgeSourceCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.KnowledgeSourceView:
        """Add a source (`POST /knowledge-bases/{kb_id}/sources`)."""
        return self._json(_CREATE_KNOWLEDGE_SOURCE, {"kb_id": kb_id}, options, body=body)

    def get_knowledge_source(
        self,
        source_id: str,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeSourceView:
        """Read a source (`GET /knowledge-sources/{source_id}`)."""
        return self._json(_GET_KNOWLEDGE_SOURCE, {"source_id": source_id}, options)

    def delete_knowledge_source(
        self,
        source_id: str,
        *,
        keep_items: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a source (`DELETE /knowledge-sources/{source_id}`)."""
        self._empty(_DELETE_KNOWLEDGE_SOURCE, {"source_id": source_id}, options, query={"keep_items": keep_items})

    def sync_knowledge_source(
        self,
        source_id: str,
        **options: Unpack[KeyedCallOptions],
    ) -> t.KnowledgeSourceView:
        """Sync a source (`POST /knowledge-sources/{source_id}/sync`)."""
        return self._json(_SYNC_KNOWLEDGE_SOURCE, {"source_id": source_id}, options)

    def list_knowledge_items(
        self,
        kb_id: str,
        *,
        curation_state: Literal["pending", "reviewed", "promoted", "superseded", "retired"] | None = None,
        kind: Literal["document", "fact", "preference", "procedure", "event", "qa", "summary"] | None = None,
        origin: Literal["human", "agent", "import", "derived"] | None = None,
        tag: str | None = None,
        source_id: str | None = None,
        q: str | None = None,
        valid_at: str | None = None,
        include_deleted: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.KnowledgeItemView, t.PageKnowledgeItemView]:
        """List items (`GET /knowledge-bases/{kb_id}/items`)."""
        return self._pages(_LIST_KNOWLEDGE_ITEMS, {"kb_id": kb_id}, options, query={"curation_state": curation_state, "kind": kind, "origin": origin, "tag": tag, "source_id": source_id, "q": q, "valid_at": valid_at, "include_deleted": include_deleted, "limit": limit, "cursor": cursor, "offset": offset})

    def create_knowledge_item(
        self,
        kb_id: str,
        body: t.KnowledgeItemCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.KnowledgeItemView:
        """Create an item (`POST /knowledge-bases/{kb_id}/items`)."""
        return self._json(_CREATE_KNOWLEDGE_ITEM, {"kb_id": kb_id}, options, body=body)

    def get_knowledge_item(
        self,
        item_id: str,
        *,
        if_none_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeItemView:
        """Read an item (`GET /knowledge-items/{item_id}`)."""
        return self._json(_GET_KNOWLEDGE_ITEM, {"item_id": item_id}, options, headers={"If-None-Match": if_none_match})

    def update_knowledge_item(
        self,
        item_id: str,
        body: t.KnowledgeItemUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeItemView:
        """Change an item (`PATCH /knowledge-items/{item_id}`)."""
        return self._json(_UPDATE_KNOWLEDGE_ITEM, {"item_id": item_id}, options, headers={"If-Match": if_match}, body=body)

    def delete_knowledge_item(
        self,
        item_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete an item (`DELETE /knowledge-items/{item_id}`)."""
        self._empty(_DELETE_KNOWLEDGE_ITEM, {"item_id": item_id}, options)

    def restore_knowledge_item(
        self,
        item_id: str,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeItemView:
        """Restore an item (`POST /knowledge-items/{item_id}/restore`)."""
        return self._json(_RESTORE_KNOWLEDGE_ITEM, {"item_id": item_id}, options)

    def list_knowledge_item_versions(
        self,
        item_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.KnowledgeItemVersionView, t.PageKnowledgeItemVersionView]:
        """List the versions of an item (`GET /knowledge-items/{item_id}/versions`)."""
        return self._pages(_LIST_KNOWLEDGE_ITEM_VERSIONS, {"item_id": item_id}, options, query={"limit": limit, "cursor": cursor, "offset": offset})

    def list_knowledge_item_chunks(
        self,
        item_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.KnowledgeChunkView, t.PageKnowledgeChunkView]:
        """List the chunks of an item (`GET /knowledge-items/{item_id}/chunks`)."""
        return self._pages(_LIST_KNOWLEDGE_ITEM_CHUNKS, {"item_id": item_id}, options, query={"limit": limit, "cursor": cursor, "offset": offset})

    def create_knowledge_items(
        self,
        kb_id: str,
        body: t.KnowledgeItemsCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.KnowledgeItemBatchView:
        """Create many items (`POST /knowledge-bases/{kb_id}/items/batch`)."""
        return self._json(_CREATE_KNOWLEDGE_ITEMS, {"kb_id": kb_id}, options, body=body)

    def curate_knowledge_items(
        self,
        kb_id: str,
        body: t.KnowledgeItemsCurate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.KnowledgeCurationView:
        """Curate many items (`POST /knowledge-bases/{kb_id}/items/curate`)."""
        return self._json(_CURATE_KNOWLEDGE_ITEMS, {"kb_id": kb_id}, options, body=body)

    def curate_knowledge_item(
        self,
        item_id: str,
        body: t.KnowledgeItemCurate,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeItemView:
        """Curate an item (`POST /knowledge-items/{item_id}/curate`)."""
        return self._json(_CURATE_KNOWLEDGE_ITEM, {"item_id": item_id}, options, body=body)

    def list_knowledge_relations(
        self,
        item_id: str,
        *,
        direction: Literal["in", "out", "both"] | None = None,
        type: Literal["related", "part_of", "derived_from", "supersedes", "contradicts", "duplicate_of", "supports"] | None = None,
        depth: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.KnowledgeRelationView, t.PageKnowledgeRelationView]:
        """List relations (`GET /knowledge-items/{item_id}/relations`)."""
        return self._pages(_LIST_KNOWLEDGE_RELATIONS, {"item_id": item_id}, options, query={"direction": direction, "type": type, "depth": depth, "limit": limit, "cursor": cursor, "offset": offset})

    def create_knowledge_relation(
        self,
        item_id: str,
        body: t.KnowledgeRelationCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.KnowledgeRelationView:
        """Create a relation (`POST /knowledge-items/{item_id}/relations`)."""
        return self._json(_CREATE_KNOWLEDGE_RELATION, {"item_id": item_id}, options, body=body)

    def delete_knowledge_relation(
        self,
        relation_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a relation (`DELETE /knowledge-relations/{relation_id}`)."""
        self._empty(_DELETE_KNOWLEDGE_RELATION, {"relation_id": relation_id}, options)

    def search_knowledge_base(
        self,
        kb_id: str,
        body: t.KnowledgeSearch,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeSearchView:
        """Search a knowledge base (`POST /knowledge-bases/{kb_id}/search`)."""
        return self._json(_SEARCH_KNOWLEDGE_BASE, {"kb_id": kb_id}, options, body=body)

    def search_knowledge(
        self,
        body: t.KnowledgeSearchAcross,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeSearchView:
        """Search several knowledge bases (`POST /knowledge/search`)."""
        return self._json(_SEARCH_KNOWLEDGE, {}, options, body=body)

    def export_knowledge_base(
        self,
        kb_id: str,
        body: t.KnowledgeExport | None = None,
        **options: Unpack[KeyedCallOptions],
    ) -> t.MaintenanceRunView:
        """Export a knowledge base (`POST /knowledge-bases/{kb_id}/export`)."""
        return self._json(_EXPORT_KNOWLEDGE_BASE, {"kb_id": kb_id}, options, body=body)

    def import_knowledge_base(
        self,
        kb_id: str,
        body: t.KnowledgeImport,
        **options: Unpack[KeyedCallOptions],
    ) -> t.MaintenanceRunView:
        """Import a bundle into a knowledge base (`POST /knowledge-bases/{kb_id}/import`)."""
        return self._json(_IMPORT_KNOWLEDGE_BASE, {"kb_id": kb_id}, options, body=body)

    def list_webhook_endpoints(
        self,
        *,
        agent_id: str | None = None,
        is_active: bool | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.WebhookEndpointView, t.PageWebhookEndpointView]:
        """List webhook endpoints (`GET /webhook-endpoints`)."""
        return self._pages(_LIST_WEBHOOK_ENDPOINTS, {}, options, query={"agent_id": agent_id, "is_active": is_active, "q": q, "limit": limit, "cursor": cursor, "offset": offset})

    def create_webhook_endpoint(
        self,
        body: t.WebhookEndpointCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.WebhookEndpointSecretView:
        """Create a webhook endpoint (`POST /webhook-endpoints`)."""
        return self._json(_CREATE_WEBHOOK_ENDPOINT, {}, options, body=body)

    def get_webhook_endpoint(
        self,
        endpoint_id: str,
        **options: Unpack[CallOptions],
    ) -> t.WebhookEndpointView:
        """Read a webhook endpoint (`GET /webhook-endpoints/{endpoint_id}`)."""
        return self._json(_GET_WEBHOOK_ENDPOINT, {"endpoint_id": endpoint_id}, options)

    def update_webhook_endpoint(
        self,
        endpoint_id: str,
        body: t.WebhookEndpointUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.WebhookEndpointView:
        """Change a webhook endpoint (`PATCH /webhook-endpoints/{endpoint_id}`)."""
        return self._json(_UPDATE_WEBHOOK_ENDPOINT, {"endpoint_id": endpoint_id}, options, headers={"If-Match": if_match}, body=body)

    def delete_webhook_endpoint(
        self,
        endpoint_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a webhook endpoint (`DELETE /webhook-endpoints/{endpoint_id}`)."""
        self._empty(_DELETE_WEBHOOK_ENDPOINT, {"endpoint_id": endpoint_id}, options)

    def rotate_webhook_endpoint_secret(
        self,
        endpoint_id: str,
        body: t.WebhookSecretRotate | None = None,
        **options: Unpack[CallOptions],
    ) -> t.WebhookEndpointSecretView:
        """Rotate the secret of an endpoint (`POST /webhook-endpoints/{endpoint_id}/rotate-secret`)."""
        return self._json(_ROTATE_WEBHOOK_ENDPOINT_SECRET, {"endpoint_id": endpoint_id}, options, body=body)

    def test_webhook_endpoint(
        self,
        endpoint_id: str,
        body: t.WebhookTest | None = None,
        **options: Unpack[CallOptions],
    ) -> t.WebhookTestView:
        """Test a webhook endpoint (`POST /webhook-endpoints/{endpoint_id}/test`)."""
        return self._json(_TEST_WEBHOOK_ENDPOINT, {"endpoint_id": endpoint_id}, options, body=body)

    def list_webhook_deliveries(
        self,
        endpoint_id: str,
        *,
        status: Literal["started", "published", "coalescing", "merged", "dropped", "rejected", "failed"] | None = None,
        from_: str | None = None,
        to: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.WebhookDeliveryView, t.PageWebhookDeliveryView]:
        """List the deliveries of an endpoint (`GET /webhook-endpoints/{endpoint_id}/deliveries`)."""
        return self._pages(_LIST_WEBHOOK_DELIVERIES, {"endpoint_id": endpoint_id}, options, query={"status": status, "from": from_, "to": to, "limit": limit, "cursor": cursor, "offset": offset})

    def replay_webhook_delivery(
        self,
        endpoint_id: str,
        delivery_id: str,
        **options: Unpack[KeyedCallOptions],
    ) -> t.WebhookDeliveryView:
        """Replay a delivery (`POST /webhook-endpoints/{endpoint_id}/deliveries/{delivery_id}/replay`)."""
        return self._json(_REPLAY_WEBHOOK_DELIVERY, {"endpoint_id": endpoint_id, "delivery_id": delivery_id}, options)

    def list_schedules(
        self,
        *,
        agent_id: str | None = None,
        is_active: bool | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.ScheduleView, t.PageScheduleView]:
        """List schedules (`GET /schedules`)."""
        return self._pages(_LIST_SCHEDULES, {}, options, query={"agent_id": agent_id, "is_active": is_active, "q": q, "limit": limit, "cursor": cursor, "offset": offset})

    def create_schedule(
        self,
        body: t.ScheduleCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ScheduleView:
        """Create a schedule (`POST /schedules`)."""
        return self._json(_CREATE_SCHEDULE, {}, options, body=body)

    def get_schedule(
        self,
        schedule_id: str,
        **options: Unpack[CallOptions],
    ) -> t.ScheduleView:
        """Read a schedule (`GET /schedules/{schedule_id}`)."""
        return self._json(_GET_SCHEDULE, {"schedule_id": schedule_id}, options)

    def update_schedule(
        self,
        schedule_id: str,
        body: t.ScheduleUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.ScheduleView:
        """Change a schedule (`PATCH /schedules/{schedule_id}`)."""
        return self._json(_UPDATE_SCHEDULE, {"schedule_id": schedule_id}, options, headers={"If-Match": if_match}, body=body)

    def delete_schedule(
        self,
        schedule_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a schedule (`DELETE /schedules/{schedule_id}`)."""
        self._empty(_DELETE_SCHEDULE, {"schedule_id": schedule_id}, options)

    def trigger_schedule(
        self,
        schedule_id: str,
        body: t.ScheduleTrigger | None = None,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ScheduleOccurrenceView:
        """Fire a schedule now (`POST /schedules/{schedule_id}/trigger`)."""
        return self._json(_TRIGGER_SCHEDULE, {"schedule_id": schedule_id}, options, body=body)

    def backfill_schedule(
        self,
        schedule_id: str,
        body: t.ScheduleBackfill,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ScheduleBackfillView:
        """Start runs for past times (`POST /schedules/{schedule_id}/backfill`)."""
        return self._json(_BACKFILL_SCHEDULE, {"schedule_id": schedule_id}, options, body=body)

    def list_schedule_occurrences(
        self,
        schedule_id: str,
        *,
        status: Literal["upcoming", "started", "buffered", "skipped_overlap", "skipped_dst", "missed", "failed", "cancelled", "succeeded"] | None = None,
        kind: Literal["regular", "manual", "backfill"] | None = None,
        from_: str | None = None,
        to: str | None = None,
        upcoming: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.ScheduleOccurrenceView, t.PageScheduleOccurrenceView]:
        """List the occurrences of a schedule (`GET /schedules/{schedule_id}/occurrences`)."""
        return self._pages(_LIST_SCHEDULE_OCCURRENCES, {"schedule_id": schedule_id}, options, query={"status": status, "kind": kind, "from": from_, "to": to, "upcoming": upcoming, "limit": limit, "cursor": cursor, "offset": offset})

    def preview_schedule(
        self,
        body: t.SchedulePreview,
        **options: Unpack[CallOptions],
    ) -> t.SchedulePreviewView:
        """Preview the times of a schedule (`POST /schedules/preview`)."""
        return self._json(_PREVIEW_SCHEDULE, {}, options, body=body)

    def list_event_triggers(
        self,
        *,
        agent_id: str | None = None,
        is_active: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.EventTriggerView, t.PageEventTriggerView]:
        """List event triggers (`GET /event-triggers`)."""
        return self._pages(_LIST_EVENT_TRIGGERS, {}, options, query={"agent_id": agent_id, "is_active": is_active, "limit": limit, "cursor": cursor, "offset": offset})

    def create_event_trigger(
        self,
        body: t.EventTriggerCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.EventTriggerView:
        """Create an event trigger (`POST /event-triggers`)."""
        return self._json(_CREATE_EVENT_TRIGGER, {}, options, body=body)

    def get_event_trigger(
        self,
        trigger_id: str,
        **options: Unpack[CallOptions],
    ) -> t.EventTriggerView:
        """Read an event trigger (`GET /event-triggers/{trigger_id}`)."""
        return self._json(_GET_EVENT_TRIGGER, {"trigger_id": trigger_id}, options)

    def update_event_trigger(
        self,
        trigger_id: str,
        body: t.EventTriggerUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.EventTriggerView:
        """Change an event trigger (`PATCH /event-triggers/{trigger_id}`)."""
        return self._json(_UPDATE_EVENT_TRIGGER, {"trigger_id": trigger_id}, options, headers={"If-Match": if_match}, body=body)

    def delete_event_trigger(
        self,
        trigger_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete an event trigger (`DELETE /event-triggers/{trigger_id}`)."""
        self._empty(_DELETE_EVENT_TRIGGER, {"trigger_id": trigger_id}, options)

    def publish_event(
        self,
        body: t.EventPublish,
        **options: Unpack[KeyedCallOptions],
    ) -> t.EventView:
        """Publish an event (`POST /events`)."""
        return self._json(_PUBLISH_EVENT, {}, options, body=body)

    def list_events(
        self,
        *,
        event_kind: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.EventView, t.PageEventView]:
        """List events (`GET /events`)."""
        return self._pages(_LIST_EVENTS, {}, options, query={"event_kind": event_kind, "from": from_, "to": to, "limit": limit, "cursor": cursor, "offset": offset})

    def list_channels(
        self,
        *,
        kind: Literal["slack", "telegram", "discord", "email", "webhook"] | None = None,
        agent_id: str | None = None,
        is_active: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.ChannelView, t.PageChannelView]:
        """List channels (`GET /channels`)."""
        return self._pages(_LIST_CHANNELS, {}, options, query={"kind": kind, "agent_id": agent_id, "is_active": is_active, "limit": limit, "cursor": cursor, "offset": offset})

    def create_channel(
        self,
        body: t.ChannelCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ChannelView:
        """Create a channel (`POST /channels`)."""
        return self._json(_CREATE_CHANNEL, {}, options, body=body)

    def get_channel(
        self,
        channel_id: str,
        **options: Unpack[CallOptions],
    ) -> t.ChannelView:
        """Read a channel (`GET /channels/{channel_id}`)."""
        return self._json(_GET_CHANNEL, {"channel_id": channel_id}, options)

    def update_channel(
        self,
        channel_id: str,
        body: t.ChannelUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.ChannelView:
        """Change a channel (`PATCH /channels/{channel_id}`)."""
        return self._json(_UPDATE_CHANNEL, {"channel_id": channel_id}, options, headers={"If-Match": if_match}, body=body)

    def delete_channel(
        self,
        channel_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a channel (`DELETE /channels/{channel_id}`)."""
        self._empty(_DELETE_CHANNEL, {"channel_id": channel_id}, options)

    def test_channel(
        self,
        channel_id: str,
        body: t.ChannelTest | None = None,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ChannelTestView:
        """Test a channel (`POST /channels/{channel_id}/test`)."""
        return self._json(_TEST_CHANNEL, {"channel_id": channel_id}, options, body=body)

    def receive_channel_message(
        self,
        channel_id: str,
        content: bytes,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
        **options: Unpack[CallOptions],
    ) -> Content:
        """Deliver a message (`POST /channels/{channel_id}/inbound`)."""
        return self._content(_RECEIVE_CHANNEL_MESSAGE, {"channel_id": channel_id}, options, query=query, headers=headers, content=content)

    def login(
        self,
        body: t.LoginBody,
        *,
        x_refresh_cookie: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.LoginView:
        """Sign in (`POST /auth/login`)."""
        return self._json(_LOGIN, {}, options, headers={"X-Refresh-Cookie": x_refresh_cookie}, body=body)

    def refresh_tokens(
        self,
        body: t.RefreshBody,
        *,
        x_refresh_cookie: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.TokenView:
        """Refresh the tokens of a session (`POST /auth/refresh`)."""
        return self._json(_REFRESH_TOKENS, {}, options, headers={"X-Refresh-Cookie": x_refresh_cookie}, body=body)

    def logout(
        self,
        *,
        x_refresh_cookie: str | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        """Sign out (`POST /auth/logout`)."""
        self._empty(_LOGOUT, {}, options, headers={"X-Refresh-Cookie": x_refresh_cookie})

    def verify_mfa(
        self,
        body: t.MfaVerifyBody,
        *,
        x_refresh_cookie: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.TokenView:
        """Answer a challenge, or step up (`POST /auth/mfa/verify`)."""
        return self._json(_VERIFY_MFA, {}, options, headers={"X-Refresh-Cookie": x_refresh_cookie}, body=body)

    def enrol_totp(
        self,
        **options: Unpack[CallOptions],
    ) -> t.TotpEnrolmentView:
        """Start enrolling a second factor (`POST /auth/mfa/totp`)."""
        return self._json(_ENROL_TOTP, {}, options)

    def remove_totp(
        self,
        **options: Unpack[CallOptions],
    ) -> None:
        """Remove the second factor (`DELETE /auth/mfa/totp`)."""
        self._empty(_REMOVE_TOTP, {}, options)

    def confirm_totp(
        self,
        body: t.TotpConfirmBody,
        **options: Unpack[CallOptions],
    ) -> t.RecoveryCodesView:
        """Confirm a second factor (`POST /auth/mfa/totp/confirm`)."""
        return self._json(_CONFIRM_TOTP, {}, options, body=body)

    def regenerate_recovery_codes(
        self,
        **options: Unpack[CallOptions],
    ) -> t.RecoveryCodesView:
        """Create new recovery codes (`POST /auth/mfa/recovery-codes`)."""
        return self._json(_REGENERATE_RECOVERY_CODES, {}, options)

    def get_me(
        self,
        **options: Unpack[CallOptions],
    ) -> t.MeView:
        """Read the caller (`GET /auth/me`)."""
        return self._json(_GET_ME, {}, options)

    def update_me(
        self,
        body: t.MeUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.MeView:
        """Change your own account (`PATCH /auth/me`)."""
        return self._json(_UPDATE_ME, {}, options, headers={"If-Match": if_match}, body=body)

    def confirm_email(
        self,
        body: t.EmailConfirmBody,
        **options: Unpack[CallOptions],
    ) -> None:
        """Confirm an address (`POST /auth/email/confirm`)."""
        self._empty(_CONFIRM_EMAIL, {}, options, body=body)

    def change_password(
        self,
        body: t.PasswordChangeBody,
        **options: Unpack[CallOptions],
    ) -> None:
        """Change the password (`POST /auth/password/change`)."""
        self._empty(_CHANGE_PASSWORD, {}, options, body=body)

    def forgot_password(
        self,
        body: t.PasswordForgotBody,
        **options: Unpack[CallOptions],
    ) -> None:
        """Request a password reset (`POST /auth/password/forgot`)."""
        self._empty(_FORGOT_PASSWORD, {}, options, body=body)

    def reset_password(
        self,
        body: t.PasswordResetBody,
        **options: Unpack[CallOptions],
    ) -> None:
        """Set a forgotten password (`POST /auth/password/reset`)."""
        self._empty(_RESET_PASSWORD, {}, options, body=body)

    def create_service_key(
        self,
        body: t.ServiceKeyCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ServiceKeySecretView:
        """Issue a service key (`POST /service-keys`)."""
        return self._json(_CREATE_SERVICE_KEY, {}, options, body=body)

    def list_service_keys(
        self,
        *,
        q: str | None = None,
        role: Literal["viewer", "member", "admin"] | None = None,
        workspace_id: str | None = None,
        include_revoked: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.ServiceKeyView, t.PageServiceKeyView]:
        """List service keys (`GET /service-keys`)."""
        return self._pages(_LIST_SERVICE_KEYS, {}, options, query={"q": q, "role": role, "workspace_id": workspace_id, "include_revoked": include_revoked, "limit": limit, "cursor": cursor, "offset": offset})

    def get_service_key(
        self,
        key_id: str,
        **options: Unpack[CallOptions],
    ) -> t.ServiceKeyView:
        """Read a service key (`GET /service-keys/{key_id}`)."""
        return self._json(_GET_SERVICE_KEY, {"key_id": key_id}, options)

    def revoke_service_key(
        self,
        key_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Revoke a service key (`DELETE /service-keys/{key_id}`)."""
        self._empty(_REVOKE_SERVICE_KEY, {"key_id": key_id}, options)

    def rotate_service_key(
        self,
        key_id: str,
        **options: Unpack[CallOptions],
    ) -> t.ServiceKeySecretView:
        """Rotate a service key (`POST /service-keys/{key_id}/rotate`)."""
        return self._json(_ROTATE_SERVICE_KEY, {"key_id": key_id}, options)

    def list_organizations(
        self,
        *,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.OrganizationView, t.PageOrganizationView]:
        """List organizations (`GET /organizations`)."""
        return self._pages(_LIST_ORGANIZATIONS, {}, options, query={"q": q, "limit": limit, "cursor": cursor, "offset": offset})

    def create_organization(
        self,
        body: t.OrganizationCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.OrganizationView:
        """Create an organization (`POST /organizations`)."""
        return self._json(_CREATE_ORGANIZATION, {}, options, body=body)

    def get_organization(
        self,
        organization_id: str,
        *,
        if_none_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.OrganizationView:
        """Read an organization (`GET /organizations/{organization_id}`)."""
        return self._json(_GET_ORGANIZATION, {"organization_id": organization_id}, options, headers={"If-None-Match": if_none_match})

    def update_organization(
        self,
        organization_id: str,
        body: t.OrganizationUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.OrganizationView:
        """Change an organization (`PATCH /organizations/{organization_id}`)."""
        return self._json(_UPDATE_ORGANIZATION, {"organization_id": organization_id}, options, headers={"If-Match": if_match}, body=body)

    def delete_organization(
        self,
        organization_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete an organization (`DELETE /organizations/{organization_id}`)."""
        self._empty(_DELETE_ORGANIZATION, {"organization_id": organization_id}, options)

    def get_organization_settings(
        self,
        organization_id: str,
        *,
        if_none_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.OrganizationSettingsView:
        """Read an organization's settings (`GET /organizations/{organization_id}/settings`)."""
        return self._json(_GET_ORGANIZATION_SETTINGS, {"organization_id": organization_id}, options, headers={"If-None-Match": if_none_match})

    def update_organization_settings(
        self,
        organization_id: str,
        body: t.OrganizationSettingsUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.OrganizationSettingsView:
        """Change an organization's settings (`PATCH /organizations/{organization_id}/settings`)."""
        return self._json(_UPDATE_ORGANIZATION_SETTINGS, {"organization_id": organization_id}, options, headers={"If-Match": if_match}, body=body)

    def transfer_ownership(
        self,
        organization_id: str,
        body: t.OwnershipTransfer,
        **options: Unpack[CallOptions],
    ) -> t.OrganizationView:
        """Transfer the ownership (`POST /organizations/{organization_id}/transfer-ownership`)."""
        return self._json(_TRANSFER_OWNERSHIP, {"organization_id": organization_id}, options, body=body)

    def list_organization_workspaces(
        self,
        organization_id: str,
        *,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.WorkspaceView, t.PageWorkspaceView]:
        """List the workspaces of an organization (`GET /organizations/{organization_id}/workspaces`)."""
        return self._pages(_LIST_ORGANIZATION_WORKSPACES, {"organization_id": organization_id}, options, query={"q": q, "limit": limit, "cursor": cursor, "offset": offset})

    def create_workspace(
        self,
        organization_id: str,
        body: t.WorkspaceCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.WorkspaceView:
        """Create a workspace (`POST /organizations/{organization_id}/workspaces`)."""
        return self._json(_CREATE_WORKSPACE, {"organization_id": organization_id}, options, body=body)

    def list_workspaces(
        self,
        *,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.WorkspaceView, t.PageWorkspaceView]:
        """List workspaces (`GET /workspaces`)."""
        return self._pages(_LIST_WORKSPACES, {}, options, query={"q": q, "limit": limit, "cursor": cursor, "offset": offset})

    def get_workspace(
        self,
        workspace_id: str,
        *,
        if_none_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.WorkspaceView:
        """Read a workspace (`GET /workspaces/{workspace_id}`)."""
        return self._json(_GET_WORKSPACE, {"workspace_id": workspace_id}, options, headers={"If-None-Match": if_none_match})

    def update_workspace(
        self,
        workspace_id: str,
        body: t.WorkspaceUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.WorkspaceView:
        """Change a workspace (`PATCH /workspaces/{workspace_id}`)."""
        return self._json(_UPDATE_WORKSPACE, {"workspace_id": workspace_id}, options, headers={"If-Match": if_match}, body=body)

    def archive_workspace(
        self,
        workspace_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Archive a workspace (`DELETE /workspaces/{workspace_id}`)."""
        self._empty(_ARCHIVE_WORKSPACE, {"workspace_id": workspace_id}, options)

    def restore_workspace(
        self,
        workspace_id: str,
        **options: Unpack[CallOptions],
    ) -> t.WorkspaceView:
        """Restore a workspace (`POST /workspaces/{workspace_id}/restore`)."""
        return self._json(_RESTORE_WORKSPACE, {"workspace_id": workspace_id}, options)

    def list_workspace_members(
        self,
        workspace_id: str,
        *,
        q: str | None = None,
        role: Literal["viewer", "member", "admin", "owner"] | None = None,
        source: Literal["home", "grant", "organization"] | None = None,
        is_active: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.WorkspaceMemberView, t.PageWorkspaceMemberView]:
        """List the members of a workspace (`GET /workspaces/{workspace_id}/members`)."""
        return self._pages(_LIST_WORKSPACE_MEMBERS, {"workspace_id": workspace_id}, options, query={"q": q, "role": role, "source": source, "is_active": is_active, "limit": limit, "cursor": cursor, "offset": offset})

    def set_workspace_member(
        self,
        workspace_id: str,
        user_id: str,
        body: t.WorkspaceMemberPut,
        **options: Unpack[CallOptions],
    ) -> t.WorkspaceMemberView:
        """Grant a role in a workspace (`PUT /workspaces/{workspace_id}/members/{user_id}`)."""
        return self._json(_SET_WORKSPACE_MEMBER, {"workspace_id": workspace_id, "user_id": user_id}, options, body=body)

    def remove_workspace_member(
        self,
        workspace_id: str,
        user_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """End a grant in a workspace (`DELETE /workspaces/{workspace_id}/members/{user_id}`)."""
        self._empty(_REMOVE_WORKSPACE_MEMBER, {"workspace_id": workspace_id, "user_id": user_id}, options)

    def list_users(
        self,
        *,
        q: str | None = None,
        role: Literal["viewer", "member", "admin", "owner", "operator"] | None = None,
        scope: Literal["workspace", "organization", "platform"] | None = None,
        workspace_id: str | None = None,
        is_active: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.UserView, t.PageUserView]:
        """List users (`GET /users`)."""
        return self._pages(_LIST_USERS, {}, options, query={"q": q, "role": role, "scope": scope, "workspace_id": workspace_id, "is_active": is_active, "limit": limit, "cursor": cursor, "offset": offset})

    def create_user(
        self,
        body: t.UserCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.UserView:
        """Create a user (`POST /users`)."""
        return self._json(_CREATE_USER, {}, options, body=body)

    def get_user(
        self,
        user_id: str,
        **options: Unpack[CallOptions],
    ) -> t.UserView:
        """Read a user (`GET /users/{user_id}`)."""
        return self._json(_GET_USER, {"user_id": user_id}, options)

    def update_user(
        self,
        user_id: str,
        body: t.UserUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.UserView:
        """Change a user (`PATCH /users/{user_id}`)."""
        return self._json(_UPDATE_USER, {"user_id": user_id}, options, headers={"If-Match": if_match}, body=body)

    def delete_user(
        self,
        user_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a user (`DELETE /users/{user_id}`)."""
        self._empty(_DELETE_USER, {"user_id": user_id}, options)

    def set_user_role(
        self,
        user_id: str,
        body: t.UserRolePut,
        **options: Unpack[CallOptions],
    ) -> t.UserView:
        """Set role, scope and home of a user (`PUT /users/{user_id}/role`)."""
        return self._json(_SET_USER_ROLE, {"user_id": user_id}, options, body=body)

    def deactivate_user(
        self,
        user_id: str,
        **options: Unpack[CallOptions],
    ) -> t.UserView:
        """Deactivate a user (`POST /users/{user_id}/deactivate`)."""
        return self._json(_DEACTIVATE_USER, {"user_id": user_id}, options)

    def reactivate_user(
        self,
        user_id: str,
        **options: Unpack[CallOptions],
    ) -> t.UserView:
        """Reactivate a user (`POST /users/{user_id}/reactivate`)."""
        return self._json(_REACTIVATE_USER, {"user_id": user_id}, options)

    def list_invitations(
        self,
        *,
        status: Literal["pending", "accepted", "revoked", "expired"] | None = None,
        workspace_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.InvitationView, t.PageInvitationView]:
        """List invitations (`GET /invitations`)."""
        return self._pages(_LIST_INVITATIONS, {}, options, query={"status": status, "workspace_id": workspace_id, "limit": limit, "cursor": cursor, "offset": offset})

    def create_invitation(
        self,
        body: t.InvitationCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.InvitationView:
        """Invite a user (`POST /invitations`)."""
        return self._json(_CREATE_INVITATION, {}, options, body=body)

    def get_invitation(
        self,
        invitation_id: str,
        **options: Unpack[CallOptions],
    ) -> t.InvitationView:
        """Read an invitation (`GET /invitations/{invitation_id}`)."""
        return self._json(_GET_INVITATION, {"invitation_id": invitation_id}, options)

    def revoke_invitation(
        self,
        invitation_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Revoke an invitation (`DELETE /invitations/{invitation_id}`)."""
        self._empty(_REVOKE_INVITATION, {"invitation_id": invitation_id}, options)

    def resend_invitation(
        self,
        invitation_id: str,
        **options: Unpack[CallOptions],
    ) -> t.InvitationView:
        """Resend an invitation (`POST /invitations/{invitation_id}/resend`)."""
        return self._json(_RESEND_INVITATION, {"invitation_id": invitation_id}, options)

    def accept_invitation(
        self,
        body: t.InvitationAccept,
        *,
        x_refresh_cookie: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.LoginView:
        """Accept an invitation (`POST /invitations/accept`)."""
        return self._json(_ACCEPT_INVITATION, {}, options, headers={"X-Refresh-Cookie": x_refresh_cookie}, body=body)

    def list_secrets(
        self,
        *,
        q: str | None = None,
        scope: Literal["workspace", "organization", "platform"] | None = None,
        workspace_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.SecretView, t.PageSecretView]:
        """List secrets (`GET /secrets`)."""
        return self._pages(_LIST_SECRETS, {}, options, query={"q": q, "scope": scope, "workspace_id": workspace_id, "limit": limit, "cursor": cursor, "offset": offset})

    def put_secret(
        self,
        name: str,
        body: t.SecretPut,
        **options: Unpack[CallOptions],
    ) -> t.SecretView:
        """Set a secret (`PUT /secrets/{name}`)."""
        return self._json(_PUT_SECRET, {"name": name}, options, body=body)

    def delete_secret(
        self,
        name: str,
        *,
        scope: Literal["workspace", "organization", "platform"] | None = None,
        workspace_id: str | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a secret (`DELETE /secrets/{name}`)."""
        self._empty(_DELETE_SECRET, {"name": name}, options, query={"scope": scope, "workspace_id": workspace_id})

    def list_audit_entries(
        self,
        *,
        actor_id: str | None = None,
        action: Literal["create", "update", "delete", "login", "logout", "submit", "approve", "purge", "impersonate"] | None = None,
        resource_type: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.AuditEntryView, t.PageAuditEntryView]:
        """List audit entries (`GET /audit-log`)."""
        return self._pages(_LIST_AUDIT_ENTRIES, {}, options, query={"actor_id": actor_id, "action": action, "resource_type": resource_type, "from": from_, "to": to, "limit": limit, "cursor": cursor, "offset": offset})

    def get_audit_entry(
        self,
        entry_id: str,
        **options: Unpack[CallOptions],
    ) -> t.AuditEntryView:
        """Read an audit entry (`GET /audit-log/{entry_id}`)."""
        return self._json(_GET_AUDIT_ENTRY, {"entry_id": entry_id}, options)

    def list_budgets(
        self,
        *,
        period: Literal["month", "day"] | None = None,
        workspace_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.BudgetView, t.PageBudgetView]:
        """List budgets (`GET /budgets`)."""
        return self._pages(_LIST_BUDGETS, {}, options, query={"period": period, "workspace_id": workspace_id, "limit": limit, "cursor": cursor, "offset": offset})

    def get_budget(
        self,
        workspace_id: str,
        *,
        period: Literal["month", "day"] | None = None,
        if_none_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.BudgetView:
        """Read a budget (`GET /budgets/{workspace_id}`)."""
        return self._json(_GET_BUDGET, {"workspace_id": workspace_id}, options, query={"period": period}, headers={"If-None-Match": if_none_match})

    def put_budget(
        self,
        workspace_id: str,
        body: t.BudgetPut,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.BudgetView:
        """Set a budget (`PUT /budgets/{workspace_id}`)."""
        return self._json(_PUT_BUDGET, {"workspace_id": workspace_id}, options, headers={"If-Match": if_match}, body=body)

    def delete_budget(
        self,
        workspace_id: str,
        *,
        period: Literal["month", "day"] | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a budget (`DELETE /budgets/{workspace_id}`)."""
        self._empty(_DELETE_BUDGET, {"workspace_id": workspace_id}, options, query={"period": period})

    def get_budget_status(
        self,
        workspace_id: str,
        *,
        period: Literal["month", "day"] | None = None,
        **options: Unpack[CallOptions],
    ) -> t.BudgetStatusView:
        """Read the state of a budget (`GET /budgets/{workspace_id}/status`)."""
        return self._json(_GET_BUDGET_STATUS, {"workspace_id": workspace_id}, options, query={"period": period})

    def list_usage(
        self,
        *,
        group_by: Sequence[Literal["day", "workspace", "agent", "model", "kind", "user", "service_key"]] | None = None,
        from_: str | None = None,
        to: str | None = None,
        timezone: str | None = None,
        workspace_id: str | None = None,
        agent_id: str | None = None,
        model: str | None = None,
        kind: Literal["llm", "embedding", "rerank", "tool", "search", "adjustment"] | None = None,
        user_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.UsageGroupView, t.PageUsageGroupView]:
        """Aggregate usage (`GET /usage`)."""
        return self._pages(_LIST_USAGE, {}, options, query={"group_by": group_by, "from": from_, "to": to, "timezone": timezone, "workspace_id": workspace_id, "agent_id": agent_id, "model": model, "kind": kind, "user_id": user_id, "limit": limit, "cursor": cursor, "offset": offset})

    def list_usage_records(
        self,
        *,
        workspace_id: str | None = None,
        agent_id: str | None = None,
        model: str | None = None,
        kind: Literal["llm", "embedding", "rerank", "tool", "search", "adjustment"] | None = None,
        user_id: str | None = None,
        run_id: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.UsageRecordView, t.PageUsageRecordView]:
        """List the ledger (`GET /usage/records`)."""
        return self._pages(_LIST_USAGE_RECORDS, {}, options, query={"workspace_id": workspace_id, "agent_id": agent_id, "model": model, "kind": kind, "user_id": user_id, "run_id": run_id, "from": from_, "to": to, "limit": limit, "cursor": cursor, "offset": offset})

    def export_usage(
        self,
        *,
        format: Literal["csv", "ndjson"] | None = None,
        workspace_id: str | None = None,
        agent_id: str | None = None,
        model: str | None = None,
        kind: Literal["llm", "embedding", "rerank", "tool", "search", "adjustment"] | None = None,
        user_id: str | None = None,
        run_id: str | None = None,
        from_: str,
        to: str,
        **options: Unpack[CallOptions],
    ) -> Content:
        """Export the ledger (`GET /usage/export`)."""
        return self._content(_EXPORT_USAGE, {}, options, query={"format": format, "workspace_id": workspace_id, "agent_id": agent_id, "model": model, "kind": kind, "user_id": user_id, "run_id": run_id, "from": from_, "to": to})

    def list_prices(
        self,
        *,
        model: str | None = None,
        tier: str | None = None,
        bucket: Literal["input", "cached_read", "cached_write", "output", "reasoning", "call"] | None = None,
        currency: str | None = None,
        at: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.PriceView, t.PagePriceView]:
        """List prices (`GET /prices`)."""
        return self._pages(_LIST_PRICES, {}, options, query={"model": model, "tier": tier, "bucket": bucket, "currency": currency, "at": at, "limit": limit, "cursor": cursor, "offset": offset})

    def list_alert_rules(
        self,
        *,
        q: str | None = None,
        kind: Literal["spend", "run_failures", "run_failure_pct", "run_duration_p95", "runs_waiting", "delivery_failures", "schedule_missed", "unpriced_usage", "budget"] | None = None,
        is_active: bool | None = None,
        workspace_id: str | None = None,
        managed: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.AlertRuleView, t.PageAlertRuleView]:
        """List alert rules (`GET /alert-rules`)."""
        return self._pages(_LIST_ALERT_RULES, {}, options, query={"q": q, "kind": kind, "is_active": is_active, "workspace_id": workspace_id, "managed": managed, "limit": limit, "cursor": cursor, "offset": offset})

    def create_alert_rule(
        self,
        body: t.AlertRuleCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.AlertRuleView:
        """Create an alert rule (`POST /alert-rules`)."""
        return self._json(_CREATE_ALERT_RULE, {}, options, body=body)

    def get_alert_rule(
        self,
        rule_id: str,
        **options: Unpack[CallOptions],
    ) -> t.AlertRuleView:
        """Read an alert rule (`GET /alert-rules/{rule_id}`)."""
        return self._json(_GET_ALERT_RULE, {"rule_id": rule_id}, options)

    def update_alert_rule(
        self,
        rule_id: str,
        body: t.AlertRuleUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.AlertRuleView:
        """Change an alert rule (`PATCH /alert-rules/{rule_id}`)."""
        return self._json(_UPDATE_ALERT_RULE, {"rule_id": rule_id}, options, headers={"If-Match": if_match}, body=body)

    def delete_alert_rule(
        self,
        rule_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete an alert rule (`DELETE /alert-rules/{rule_id}`)."""
        self._empty(_DELETE_ALERT_RULE, {"rule_id": rule_id}, options)

    def test_alert_rule(
        self,
        rule_id: str,
        **options: Unpack[KeyedCallOptions],
    ) -> t.AlertTestView:
        """Test an alert rule (`POST /alert-rules/{rule_id}/test`)."""
        return self._json(_TEST_ALERT_RULE, {"rule_id": rule_id}, options)

    def list_alerts(
        self,
        *,
        status: Literal["firing", "no_data", "resolved"] | None = None,
        severity: Literal["warning", "critical"] | None = None,
        rule_id: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.AlertView, t.PageAlertView]:
        """List alerts (`GET /alerts`)."""
        return self._pages(_LIST_ALERTS, {}, options, query={"status": status, "severity": severity, "rule_id": rule_id, "from": from_, "to": to, "limit": limit, "cursor": cursor, "offset": offset})

    def get_alert(
        self,
        alert_id: str,
        **options: Unpack[CallOptions],
    ) -> t.AlertView:
        """Read an alert (`GET /alerts/{alert_id}`)."""
        return self._json(_GET_ALERT, {"alert_id": alert_id}, options)

    def update_alert(
        self,
        alert_id: str,
        body: t.AlertUpdate,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.AlertView:
        """Handle an alert (`PATCH /alerts/{alert_id}`)."""
        return self._json(_UPDATE_ALERT, {"alert_id": alert_id}, options, headers={"If-Match": if_match}, body=body)

    def create_attachment(
        self,
        file: FileSource,
        *,
        filename: str | None = None,
        workspace_id: str | None = None,
        purpose: str | None = None,
        **options: Unpack[KeyedCallOptions],
    ) -> t.AttachmentView:
        """Upload a file (`POST /attachments`)."""
        return self._json(_CREATE_ATTACHMENT, {}, options, file=(file, filename, {"workspace_id": workspace_id, "purpose": purpose}))

    def get_attachment(
        self,
        attachment_id: str,
        *,
        range: str | None = None,
        if_range: str | None = None,
        if_none_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Content:
        """Download a file (`GET /attachments/{attachment_id}`)."""
        return self._content(_GET_ATTACHMENT, {"attachment_id": attachment_id}, options, headers={"Range": range, "If-Range": if_range, "If-None-Match": if_none_match})

    def create_repo_binding(
        self,
        body: t.RepoBindingCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.RepoBindingView:
        """Bind a repository (`POST /repo-bindings`)."""
        return self._json(_CREATE_REPO_BINDING, {}, options, body=body)

    def list_repo_bindings(
        self,
        *,
        installation_id: int | None = None,
        repo_full_name: str | None = None,
        is_active: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.RepoBindingView, t.PageRepoBindingView]:
        """List bound repositories (`GET /repo-bindings`)."""
        return self._pages(_LIST_REPO_BINDINGS, {}, options, query={"installation_id": installation_id, "repo_full_name": repo_full_name, "is_active": is_active, "limit": limit, "cursor": cursor, "offset": offset})

    def get_repo_binding(
        self,
        binding_id: str,
        *,
        if_none_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.RepoBindingView:
        """Read a bound repository (`GET /repo-bindings/{binding_id}`)."""
        return self._json(_GET_REPO_BINDING, {"binding_id": binding_id}, options, headers={"If-None-Match": if_none_match})

    def update_repo_binding(
        self,
        binding_id: str,
        body: t.RepoBindingUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.RepoBindingView:
        """Change a bound repository (`PATCH /repo-bindings/{binding_id}`)."""
        return self._json(_UPDATE_REPO_BINDING, {"binding_id": binding_id}, options, headers={"If-Match": if_match}, body=body)

    def delete_repo_binding(
        self,
        binding_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Unbind a repository (`DELETE /repo-bindings/{binding_id}`)."""
        self._empty(_DELETE_REPO_BINDING, {"binding_id": binding_id}, options)

    def list_review_playbooks(
        self,
        *,
        scope: Literal["workspace", "organization", "platform"] | None = None,
        is_active: bool | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.ReviewPlaybookView, t.PageReviewPlaybookView]:
        """List playbooks (`GET /review-playbooks`)."""
        return self._pages(_LIST_REVIEW_PLAYBOOKS, {}, options, query={"scope": scope, "is_active": is_active, "q": q, "limit": limit, "cursor": cursor, "offset": offset})

    def create_review_playbook(
        self,
        body: t.ReviewPlaybookCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ReviewPlaybookView:
        """Create a playbook (`POST /review-playbooks`)."""
        return self._json(_CREATE_REVIEW_PLAYBOOK, {}, options, body=body)

    def get_review_playbook(
        self,
        playbook_id: str,
        *,
        if_none_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.ReviewPlaybookView:
        """Read a playbook (`GET /review-playbooks/{playbook_id}`)."""
        return self._json(_GET_REVIEW_PLAYBOOK, {"playbook_id": playbook_id}, options, headers={"If-None-Match": if_none_match})

    def update_review_playbook(
        self,
        playbook_id: str,
        body: t.ReviewPlaybookUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.ReviewPlaybookView:
        """Change a playbook (`PATCH /review-playbooks/{playbook_id}`)."""
        return self._json(_UPDATE_REVIEW_PLAYBOOK, {"playbook_id": playbook_id}, options, headers={"If-Match": if_match}, body=body)

    def delete_review_playbook(
        self,
        playbook_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a playbook (`DELETE /review-playbooks/{playbook_id}`)."""
        self._empty(_DELETE_REVIEW_PLAYBOOK, {"playbook_id": playbook_id}, options)

    def clone_review_playbook(
        self,
        playbook_id: str,
        body: t.PlaybookClone,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ReviewPlaybookView:
        """Clone a playbook (`POST /review-playbooks/{playbook_id}/clone`)."""
        return self._json(_CLONE_REVIEW_PLAYBOOK, {"playbook_id": playbook_id}, options, body=body)

    def list_review_playbook_revisions(
        self,
        playbook_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.ReviewPlaybookRevisionView, t.PageReviewPlaybookRevisionView]:
        """List the revisions of a playbook (`GET /review-playbooks/{playbook_id}/revisions`)."""
        return self._pages(_LIST_REVIEW_PLAYBOOK_REVISIONS, {"playbook_id": playbook_id}, options, query={"limit": limit, "cursor": cursor, "offset": offset})

    def create_review_playbook_revision(
        self,
        playbook_id: str,
        body: t.ReviewPlaybookRevisionCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ReviewPlaybookRevisionView:
        """Add a revision to a playbook (`POST /review-playbooks/{playbook_id}/revisions`)."""
        return self._json(_CREATE_REVIEW_PLAYBOOK_REVISION, {"playbook_id": playbook_id}, options, body=body)

    def list_evaluations(
        self,
        *,
        agent_id: str | None = None,
        status: Literal["queued", "running", "succeeded", "failed", "cancelled"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.EvaluationRunView, t.PageEvaluationRunView]:
        """List evaluations (`GET /evaluations`)."""
        return self._pages(_LIST_EVALUATIONS, {}, options, query={"agent_id": agent_id, "status": status, "limit": limit, "cursor": cursor, "offset": offset})

    def create_evaluation(
        self,
        body: t.EvaluationCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.EvaluationRunDetailView:
        """Evaluate an agent (`POST /evaluations`)."""
        return self._json(_CREATE_EVALUATION, {}, options, body=body)

    def get_evaluation(
        self,
        evaluation_run_id: str,
        **options: Unpack[CallOptions],
    ) -> t.EvaluationRunDetailView:
        """Read an evaluation (`GET /evaluations/{evaluation_run_id}`)."""
        return self._json(_GET_EVALUATION, {"evaluation_run_id": evaluation_run_id}, options)

    def list_feedback(
        self,
        *,
        agent_id: str | None = None,
        rating: Literal["up", "down"] | None = None,
        from_: str | None = None,
        to: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.FeedbackAggregateView, t.PageFeedbackAggregateView]:
        """Count votes (`GET /feedback`)."""
        return self._pages(_LIST_FEEDBACK, {}, options, query={"agent_id": agent_id, "rating": rating, "from": from_, "to": to, "limit": limit, "cursor": cursor, "offset": offset})

    def put_run_feedback(
        self,
        run_id: str,
        body: t.FeedbackPut,
        **options: Unpack[CallOptions],
    ) -> t.FeedbackView:
        """Vote on a run (`PUT /runs/{run_id}/feedback`)."""
        return self._json(_PUT_RUN_FEEDBACK, {"run_id": run_id}, options, body=body)

    def withdraw_run_feedback(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Withdraw a vote (`DELETE /runs/{run_id}/feedback`)."""
        self._empty(_WITHDRAW_RUN_FEEDBACK, {"run_id": run_id}, options)

    def receive_hook_by_get(
        self,
        workspace_id: str,
        slug: str,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
        **options: Unpack[CallOptions],
    ) -> Content:
        """Deliver by GET (`GET /hooks/{workspace_id}/{slug}`)."""
        return self._content(_RECEIVE_HOOK_BY_GET, {"workspace_id": workspace_id, "slug": slug}, options, query=query, headers=headers)

    def receive_hook(
        self,
        workspace_id: str,
        slug: str,
        content: bytes,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
        **options: Unpack[KeyedCallOptions],
    ) -> Content:
        """Deliver a webhook (`POST /hooks/{workspace_id}/{slug}`)."""
        return self._content(_RECEIVE_HOOK, {"workspace_id": workspace_id, "slug": slug}, options, query=query, headers=headers, content=content)

    def create_maintenance_run(
        self,
        kb_id: str,
        body: t.MaintenanceRunCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.MaintenanceRunView:
        """Maintain a knowledge base (`POST /knowledge-bases/{kb_id}/maintenance-runs`)."""
        return self._json(_CREATE_MAINTENANCE_RUN, {"kb_id": kb_id}, options, body=body)

    def list_maintenance_runs(
        self,
        *,
        kb_id: str | None = None,
        kind: Literal["ingest", "reembed", "import", "export", "maintenance", "purge"] | None = None,
        status: Literal["queued", "running", "paused", "cancelling", "succeeded", "failed", "cancelled"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.MaintenanceRunView, t.PageMaintenanceRunView]:
        """List knowledge runs (`GET /knowledge-maintenance-runs`)."""
        return self._pages(_LIST_MAINTENANCE_RUNS, {}, options, query={"kb_id": kb_id, "kind": kind, "status": status, "limit": limit, "cursor": cursor, "offset": offset})

    def get_maintenance_run(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> t.MaintenanceRunView:
        """Read a knowledge run (`GET /knowledge-maintenance-runs/{run_id}`)."""
        return self._json(_GET_MAINTENANCE_RUN, {"run_id": run_id}, options)

    def cancel_maintenance_run(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> t.MaintenanceRunView:
        """Cancel a knowledge run (`POST /knowledge-maintenance-runs/{run_id}/cancel`)."""
        return self._json(_CANCEL_MAINTENANCE_RUN, {"run_id": run_id}, options)

    def get_maintenance_policy(
        self,
        kb_id: str,
        *,
        if_none_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.MaintenancePolicyView:
        """Read a maintenance policy (`GET /knowledge-bases/{kb_id}/maintenance-policy`)."""
        return self._json(_GET_MAINTENANCE_POLICY, {"kb_id": kb_id}, options, headers={"If-None-Match": if_none_match})

    def put_maintenance_policy(
        self,
        kb_id: str,
        body: t.MaintenancePolicyPut,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.MaintenancePolicyView:
        """Set a maintenance policy (`PUT /knowledge-bases/{kb_id}/maintenance-policy`)."""
        return self._json(_PUT_MAINTENANCE_POLICY, {"kb_id": kb_id}, options, headers={"If-Match": if_match}, body=body)

    def list_knowledge_findings(
        self,
        *,
        kb_id: str | None = None,
        kind: Literal["duplicate", "contradiction", "stale", "orphan", "low_evidence", "injection_suspect", "integrity"] | None = None,
        state: Literal["open", "resolved", "dismissed"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.KnowledgeFindingView, t.PageKnowledgeFindingView]:
        """List findings (`GET /knowledge-findings`)."""
        return self._pages(_LIST_KNOWLEDGE_FINDINGS, {}, options, query={"kb_id": kb_id, "kind": kind, "state": state, "limit": limit, "cursor": cursor, "offset": offset})

    def resolve_knowledge_finding(
        self,
        finding_id: str,
        body: t.FindingResolve,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeFindingView:
        """Resolve a finding (`POST /knowledge-findings/{finding_id}/resolve`)."""
        return self._json(_RESOLVE_KNOWLEDGE_FINDING, {"finding_id": finding_id}, options, body=body)

    def purge_knowledge_base(
        self,
        kb_id: str,
        body: t.KnowledgePurge,
        **options: Unpack[KeyedCallOptions],
    ) -> t.MaintenanceRunView:
        """Purge a knowledge base (`POST /knowledge-bases/{kb_id}/purge`)."""
        return self._json(_PURGE_KNOWLEDGE_BASE, {"kb_id": kb_id}, options, body=body)

    def call_mcp(
        self,
        body: Any,
        **options: Unpack[CallOptions],
    ) -> Content:
        """Send an MCP message (`POST /mcp`)."""
        return self._content(_CALL_MCP, {}, options, body=body)

    def stream_mcp(
        self,
        **options: Unpack[CallOptions],
    ) -> Content:
        """Listen to the MCP server (`GET /mcp`)."""
        return self._content(_STREAM_MCP, {}, options)

    def end_mcp(
        self,
        **options: Unpack[CallOptions],
    ) -> None:
        """End an MCP session (`DELETE /mcp`)."""
        self._empty(_END_MCP, {}, options)

    def discover_mcp_server(
        self,
        body: t.McpDiscover,
        **options: Unpack[CallOptions],
    ) -> t.McpDiscoveryView:
        """Probe an MCP server (`POST /mcp/discover`)."""
        return self._json(_DISCOVER_MCP_SERVER, {}, options, body=body)

    def sync_mcp_toolkit(
        self,
        toolkit_id: str,
        body: t.McpSync | None = None,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ToolkitRevisionView:
        """Sync an MCP toolkit (`POST /mcp/toolkits/{toolkit_id}/sync`)."""
        return self._json(_SYNC_MCP_TOOLKIT, {"toolkit_id": toolkit_id}, options, body=body)

    def get_mcp_toolkit_status(
        self,
        toolkit_id: str,
        **options: Unpack[CallOptions],
    ) -> t.McpToolkitStatusView:
        """Read the state of an MCP toolkit (`GET /mcp/toolkits/{toolkit_id}/status`)."""
        return self._json(_GET_MCP_TOOLKIT_STATUS, {"toolkit_id": toolkit_id}, options)

    def get_oauth_server_metadata(
        self,
        **options: Unpack[CallOptions],
    ) -> t.OauthServerMetadata:
        """Read the metadata of the authorization server (`GET /.well-known/oauth-authorization-server`)."""
        return self._json(_GET_OAUTH_SERVER_METADATA, {}, options)

    def get_oauth_resource_metadata(
        self,
        **options: Unpack[CallOptions],
    ) -> t.OauthResourceMetadata:
        """Read the metadata of the API as a protected resource (`GET /.well-known/oauth-protected-resource`)."""
        return self._json(_GET_OAUTH_RESOURCE_METADATA, {}, options)

    def get_oauth_resource_metadata_for(
        self,
        resource_path: str,
        **options: Unpack[CallOptions],
    ) -> t.OauthResourceMetadata:
        """Read the metadata of another protected resource (`GET /.well-known/oauth-protected-resource/{resource_path}`)."""
        return self._json(_GET_OAUTH_RESOURCE_METADATA_FOR, {"resource_path": resource_path}, options)

    def get_oauth_keys(
        self,
        **options: Unpack[CallOptions],
    ) -> t.JsonWebKeySet:
        """Read the public keys that sign tokens (`GET /oauth/jwks`)."""
        return self._json(_GET_OAUTH_KEYS, {}, options)

    def start_authorization(
        self,
        *,
        response_type: Literal["code"],
        client_id: str,
        redirect_uri: str,
        scope: str | None = None,
        state: str | None = None,
        code_challenge: str,
        code_challenge_method: Literal["S256"],
        resource: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Content:
        """Ask a user for access (`GET /oauth/authorize`)."""
        return self._content(_START_AUTHORIZATION, {}, options, query={"response_type": response_type, "client_id": client_id, "redirect_uri": redirect_uri, "scope": scope, "state": state, "code_challenge": code_challenge, "code_challenge_method": code_challenge_method, "resource": resource})

    def decide_authorization(
        self,
        body: t.AuthorizationDecisionBody,
        **options: Unpack[CallOptions],
    ) -> t.AuthorizationDecisionView:
        """Decide on a request for access (`POST /oauth/authorize`)."""
        return self._json(_DECIDE_AUTHORIZATION, {}, options, body=body)

    def issue_oauth_token(
        self,
        body: t.OauthTokenForm,
        **options: Unpack[CallOptions],
    ) -> t.OauthTokenView:
        """Get tokens (`POST /oauth/token`)."""
        return self._json(_ISSUE_OAUTH_TOKEN, {}, options, body=body)

    def revoke_oauth_token(
        self,
        body: t.OauthTokenReference,
        **options: Unpack[CallOptions],
    ) -> None:
        """Revoke a token (`POST /oauth/revoke`)."""
        self._empty(_REVOKE_OAUTH_TOKEN, {}, options, body=body)

    def introspect_oauth_token(
        self,
        body: t.OauthTokenReference,
        **options: Unpack[CallOptions],
    ) -> t.OauthIntrospectionView:
        """Introspect a token (`POST /oauth/introspect`)."""
        return self._json(_INTROSPECT_OAUTH_TOKEN, {}, options, body=body)

    def register_oauth_client(
        self,
        body: t.ClientRegistrationRequest,
        **options: Unpack[CallOptions],
    ) -> t.OauthClientRegistrationView:
        """Register a client (`POST /oauth/register`)."""
        return self._json(_REGISTER_OAUTH_CLIENT, {}, options, body=body)

    def get_oauth_client_registration(
        self,
        client_id: str,
        registration_token: str,
        **options: Unpack[CallOptions],
    ) -> t.OauthClientRegistrationView:
        """Read a registration (`GET /oauth/register/{client_id}`)."""
        return self._json(_GET_OAUTH_CLIENT_REGISTRATION, {"client_id": client_id}, options, bearer=registration_token)

    def delete_oauth_client_registration(
        self,
        client_id: str,
        registration_token: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a registration (`DELETE /oauth/register/{client_id}`)."""
        self._empty(_DELETE_OAUTH_CLIENT_REGISTRATION, {"client_id": client_id}, options, bearer=registration_token)

    def get_liveness(
        self,
        **options: Unpack[CallOptions],
    ) -> t.HealthView:
        """Check liveness (`GET /health/live`)."""
        return self._json(_GET_LIVENESS, {}, options)

    def get_readiness(
        self,
        **options: Unpack[CallOptions],
    ) -> t.HealthView:
        """Check readiness (`GET /health/ready`)."""
        return self._json(_GET_READINESS, {}, options)

    def get_startup(
        self,
        **options: Unpack[CallOptions],
    ) -> t.HealthView:
        """Check startup (`GET /health/startup`)."""
        return self._json(_GET_STARTUP, {}, options)

    def get_metrics(
        self,
        **options: Unpack[CallOptions],
    ) -> Content:
        """Scrape the metrics (`GET /metrics`)."""
        return self._content(_GET_METRICS, {}, options)

    def get_version(
        self,
        **options: Unpack[CallOptions],
    ) -> t.VersionView:
        """Read the version (`GET /version`)."""
        return self._json(_GET_VERSION, {}, options)

    def get_openapi(
        self,
        **options: Unpack[CallOptions],
    ) -> dict[str, Any]:
        """Read the OpenAPI document (`GET /openapi.json`)."""
        return self._json(_GET_OPENAPI, {}, options)

    def get_redoc(
        self,
        **options: Unpack[CallOptions],
    ) -> str:
        """Browse the public reference (`GET /redoc`)."""
        return self._text(_GET_REDOC, {}, options)

    def get_llms_text(
        self,
        **options: Unpack[CallOptions],
    ) -> str:
        """Read the public reference as text (`GET /llms.txt`)."""
        return self._text(_GET_LLMS_TEXT, {}, options)

    def list_error_codes(
        self,
        **options: Unpack[CallOptions],
    ) -> t.ErrorCatalogueView:
        """List the error codes (`GET /error-codes`)."""
        return self._json(_LIST_ERROR_CODES, {}, options)

    def get_stream_protocol(
        self,
        **options: Unpack[CallOptions],
    ) -> t.StreamProtocolView:
        """Read the stream protocol (`GET /stream-protocol`)."""
        return self._json(_GET_STREAM_PROTOCOL, {}, options)

    def list_deprecations(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.DeprecationView, t.PageDeprecationView]:
        """List deprecations (`GET /deprecations`)."""
        return self._pages(_LIST_DEPRECATIONS, {}, options, query={"limit": limit, "cursor": cursor, "offset": offset})

    def get_capabilities(
        self,
        **options: Unpack[CallOptions],
    ) -> t.CapabilitiesView:
        """Read the capabilities (`GET /capabilities`)."""
        return self._json(_GET_CAPABILITIES, {}, options)

    def get_system_status(
        self,
        **options: Unpack[CallOptions],
    ) -> t.SystemStatusView:
        """Read the state of the deployment (`GET /system/status`)."""
        return self._json(_GET_SYSTEM_STATUS, {}, options)

    def suspend_organization(
        self,
        organization_id: str,
        body: t.OrganizationSuspend,
        **options: Unpack[CallOptions],
    ) -> t.OrganizationView:
        """Suspend an organization (`POST /organizations/{organization_id}/suspend`)."""
        return self._json(_SUSPEND_ORGANIZATION, {"organization_id": organization_id}, options, body=body)

    def resume_organization(
        self,
        organization_id: str,
        **options: Unpack[CallOptions],
    ) -> t.OrganizationView:
        """Resume an organization (`POST /organizations/{organization_id}/resume`)."""
        return self._json(_RESUME_ORGANIZATION, {"organization_id": organization_id}, options)

    def purge_organization(
        self,
        organization_id: str,
        body: t.OrganizationPurge,
        **options: Unpack[KeyedCallOptions],
    ) -> t.PurgeView:
        """Purge an organization (`POST /organizations/{organization_id}/purge`)."""
        return self._json(_PURGE_ORGANIZATION, {"organization_id": organization_id}, options, body=body)

    def start_impersonation(
        self,
        body: t.ImpersonationStart,
        **options: Unpack[CallOptions],
    ) -> t.ImpersonationTokenView:
        """Work as a user (`POST /impersonations`)."""
        return self._json(_START_IMPERSONATION, {}, options, body=body)

    def list_impersonations(
        self,
        *,
        organization_id: str | None = None,
        operator_user_id: str | None = None,
        target_user_id: str | None = None,
        active: bool | None = None,
        from_: str | None = None,
        to: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.ImpersonationView, t.PageImpersonationView]:
        """List impersonations (`GET /impersonations`)."""
        return self._pages(_LIST_IMPERSONATIONS, {}, options, query={"organization_id": organization_id, "operator_user_id": operator_user_id, "target_user_id": target_user_id, "active": active, "from": from_, "to": to, "limit": limit, "cursor": cursor, "offset": offset})

    def end_impersonation(
        self,
        impersonation_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """End an impersonation (`DELETE /impersonations/{impersonation_id}`)."""
        self._empty(_END_IMPERSONATION, {"impersonation_id": impersonation_id}, options)

    def create_model_price(
        self,
        body: t.PriceCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.PriceView:
        """Set a price (`POST /model-prices`)."""
        return self._json(_CREATE_MODEL_PRICE, {}, options, body=body)

    def import_model_prices(
        self,
        body: t.PriceImport,
        **options: Unpack[KeyedCallOptions],
    ) -> t.PriceImportView:
        """Import prices (`POST /model-prices/import`)."""
        return self._json(_IMPORT_MODEL_PRICES, {}, options, body=body)

    def delete_model_price(
        self,
        price_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a future price (`DELETE /model-prices/{price_id}`)."""
        self._empty(_DELETE_MODEL_PRICE, {"price_id": price_id}, options)

    def list_oauth_clients(
        self,
        *,
        q: str | None = None,
        kind: Literal["preregistered", "registered", "document"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Pages[t.OauthClientView, t.PageOauthClientView]:
        """List OAuth clients (`GET /oauth-clients`)."""
        return self._pages(_LIST_OAUTH_CLIENTS, {}, options, query={"q": q, "kind": kind, "limit": limit, "cursor": cursor, "offset": offset})

    def create_oauth_client(
        self,
        body: t.OauthClientCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.OauthClientSecretView:
        """Pre-register an OAuth client (`POST /oauth-clients`)."""
        return self._json(_CREATE_OAUTH_CLIENT, {}, options, body=body)

    def rotate_oauth_client_secret(
        self,
        client_id: str,
        **options: Unpack[CallOptions],
    ) -> t.OauthClientSecretView:
        """Rotate the secret of an OAuth client (`POST /oauth-clients/{client_id}/rotate-secret`)."""
        return self._json(_ROTATE_OAUTH_CLIENT_SECRET, {"client_id": client_id}, options)

    def delete_oauth_client(
        self,
        client_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete an OAuth client (`DELETE /oauth-clients/{client_id}`)."""
        self._empty(_DELETE_OAUTH_CLIENT, {"client_id": client_id}, options)


class AsyncOperations(AsyncCalls):
    """Every operation of the contract, for asyncio."""

    def list_runs(
        self,
        *,
        workspace_id: str | None = None,
        agent_id: str | None = None,
        status: Literal["queued", "running", "waiting", "cancelling", "succeeded", "failed", "cancelled"] | None = None,
        waiting_on: Literal["approval", "input", "client_tool", "auth", "budget", "timer"] | None = None,
        session_key: str | None = None,
        subject_id: str | None = None,
        trigger_id: str | None = None,
        parent_run_id: str | None = None,
        evaluation_run_id: str | None = None,
        binding_id: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.RunView, t.PageRunView]:
        """List runs (`GET /runs`)."""
        return self._pages(_LIST_RUNS, {}, options, query={"workspace_id": workspace_id, "agent_id": agent_id, "status": status, "waiting_on": waiting_on, "session_key": session_key, "subject_id": subject_id, "trigger_id": trigger_id, "parent_run_id": parent_run_id, "evaluation_run_id": evaluation_run_id, "binding_id": binding_id, "from": from_, "to": to, "limit": limit, "cursor": cursor, "offset": offset})

    async def create_run(
        self,
        body: t.RunCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.RunView:
        """Start a run (`POST /runs`)."""
        return await self._json(_CREATE_RUN, {}, options, body=body)

    async def get_run(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> t.RunView:
        """Read a run (`GET /runs/{run_id}`)."""
        return await self._json(_GET_RUN, {"run_id": run_id}, options)

    async def purge_run(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Purge a run (`DELETE /runs/{run_id}`)."""
        await self._empty(_PURGE_RUN, {"run_id": run_id}, options)

    async def cancel_run(
        self,
        run_id: str,
        body: t.RunCancel | None = None,
        **options: Unpack[KeyedCallOptions],
    ) -> t.RunView:
        """Cancel a run (`POST /runs/{run_id}/cancel`)."""
        return await self._json(_CANCEL_RUN, {"run_id": run_id}, options, body=body)

    async def add_run_input(
        self,
        run_id: str,
        body: t.RunInputAdd,
        **options: Unpack[KeyedCallOptions],
    ) -> t.RunView:
        """Add input to a run (`POST /runs/{run_id}/input`)."""
        return await self._json(_ADD_RUN_INPUT, {"run_id": run_id}, options, body=body)

    def list_run_approvals(
        self,
        run_id: str,
        *,
        status: Literal["pending", "approved", "rejected", "edited", "responded", "expired", "cancelled"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.ApprovalView, t.PageApprovalView]:
        """List the approvals of a run (`GET /runs/{run_id}/approvals`)."""
        return self._pages(_LIST_RUN_APPROVALS, {"run_id": run_id}, options, query={"status": status, "limit": limit, "cursor": cursor, "offset": offset})

    async def resolve_run_approvals(
        self,
        run_id: str,
        body: t.RunApprovalsResolve,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ApprovalResolutionView:
        """Answer approvals of a run (`POST /runs/{run_id}/approvals`)."""
        return await self._json(_RESOLVE_RUN_APPROVALS, {"run_id": run_id}, options, body=body)

    async def wait_for_run(
        self,
        run_id: str,
        *,
        timeout_s: int | None = None,
        **options: Unpack[CallOptions],
    ) -> t.RunView:
        """Wait for a run (`GET /runs/{run_id}/wait`)."""
        return await self._json(_WAIT_FOR_RUN, {"run_id": run_id}, options, query={"timeout_s": timeout_s})

    def list_run_messages(
        self,
        run_id: str,
        *,
        scope: Literal["run", "conversation"] | None = None,
        include_discarded: bool | None = None,
        message_id: str | None = None,
        tool_call_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.MessageView, t.PageMessageView]:
        """List the messages of a run (`GET /runs/{run_id}/messages`)."""
        return self._pages(_LIST_RUN_MESSAGES, {"run_id": run_id}, options, query={"scope": scope, "include_discarded": include_discarded, "message_id": message_id, "tool_call_id": tool_call_id, "limit": limit, "cursor": cursor, "offset": offset})

    def list_run_steps(
        self,
        run_id: str,
        *,
        kind: Literal["model", "tool", "sub_agent", "system"] | None = None,
        tool_call_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.RunStepView, t.PageRunStepView]:
        """List the steps of a run (`GET /runs/{run_id}/steps`)."""
        return self._pages(_LIST_RUN_STEPS, {"run_id": run_id}, options, query={"kind": kind, "tool_call_id": tool_call_id, "limit": limit, "cursor": cursor, "offset": offset})

    async def create_run_batch(
        self,
        body: t.RunBatchCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.RunBatchView:
        """Start many runs (`POST /runs/batch`)."""
        return await self._json(_CREATE_RUN_BATCH, {}, options, body=body)

    async def cancel_runs(
        self,
        body: t.RunBulkCancel,
        **options: Unpack[KeyedCallOptions],
    ) -> t.RunBulkCancelView:
        """Cancel many runs (`POST /runs/cancel`)."""
        return await self._json(_CANCEL_RUNS, {}, options, body=body)

    async def retry_run(
        self,
        run_id: str,
        body: t.RunRetry | None = None,
        **options: Unpack[KeyedCallOptions],
    ) -> t.RunView:
        """Retry or fork a run (`POST /runs/{run_id}/retry`)."""
        return await self._json(_RETRY_RUN, {"run_id": run_id}, options, body=body)

    def stream_run(
        self,
        run_id: str,
        *,
        after_seq: int | None = None,
        replay: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncRunStream:
        """Watch a run (`GET /runs/{run_id}/stream`)."""
        return self._stream(_STREAM_RUN, {"run_id": run_id}, options, query={"after_seq": after_seq, "replay": replay})

    async def create_stream_token(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> t.StreamTokenView:
        """Create a stream token (`POST /runs/{run_id}/stream-token`)."""
        return await self._json(_CREATE_STREAM_TOKEN, {"run_id": run_id}, options)

    def list_sessions(
        self,
        *,
        kind: Literal["login", "oauth"] | None = None,
        include_revoked: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.SessionView, t.PageSessionView]:
        """List your sessions (`GET /sessions`)."""
        return self._pages(_LIST_SESSIONS, {}, options, query={"kind": kind, "include_revoked": include_revoked, "limit": limit, "cursor": cursor, "offset": offset})

    async def get_current_session(
        self,
        **options: Unpack[CallOptions],
    ) -> t.SessionView:
        """Read the current session (`GET /sessions/current`)."""
        return await self._json(_GET_CURRENT_SESSION, {}, options)

    async def get_session(
        self,
        session_id: str,
        **options: Unpack[CallOptions],
    ) -> t.SessionView:
        """Read one of your sessions (`GET /sessions/{session_id}`)."""
        return await self._json(_GET_SESSION, {"session_id": session_id}, options)

    async def revoke_session(
        self,
        session_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Sign a device out (`DELETE /sessions/{session_id}`)."""
        await self._empty(_REVOKE_SESSION, {"session_id": session_id}, options)

    async def revoke_other_sessions(
        self,
        **options: Unpack[CallOptions],
    ) -> t.SessionRevocationView:
        """Sign every other device out (`POST /sessions/revoke-others`)."""
        return await self._json(_REVOKE_OTHER_SESSIONS, {}, options)

    async def revoke_user_sessions(
        self,
        user_id: str,
        **options: Unpack[CallOptions],
    ) -> t.SessionRevocationView:
        """Sign a user out everywhere (`POST /users/{user_id}/sessions/revoke-all`)."""
        return await self._json(_REVOKE_USER_SESSIONS, {"user_id": user_id}, options)

    def list_agents(
        self,
        *,
        q: str | None = None,
        scope: Literal["workspace", "organization", "platform"] | None = None,
        is_active: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.AgentView, t.PageAgentView]:
        """List agents (`GET /agents`)."""
        return self._pages(_LIST_AGENTS, {}, options, query={"q": q, "scope": scope, "is_active": is_active, "limit": limit, "cursor": cursor, "offset": offset})

    async def create_agent(
        self,
        body: t.AgentCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.AgentView:
        """Create an agent (`POST /agents`)."""
        return await self._json(_CREATE_AGENT, {}, options, body=body)

    async def get_agent(
        self,
        agent_id: str,
        **options: Unpack[CallOptions],
    ) -> t.AgentView:
        """Read an agent (`GET /agents/{agent_id}`)."""
        return await self._json(_GET_AGENT, {"agent_id": agent_id}, options)

    async def update_agent(
        self,
        agent_id: str,
        body: t.AgentUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.AgentView:
        """Change an agent (`PATCH /agents/{agent_id}`)."""
        return await self._json(_UPDATE_AGENT, {"agent_id": agent_id}, options, headers={"If-Match": if_match}, body=body)

    async def delete_agent(
        self,
        agent_id: str,
        *,
        force: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete an agent (`DELETE /agents/{agent_id}`)."""
        await self._empty(_DELETE_AGENT, {"agent_id": agent_id}, options, query={"force": force})

    async def list_available_sub_agents(
        self,
        agent_id: str,
        *,
        q: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.PageAgentSummary:
        """List agents that an agent can call (`GET /agents/{agent_id}/available-sub-agents`)."""
        return await self._json(_LIST_AVAILABLE_SUB_AGENTS, {"agent_id": agent_id}, options, query={"q": q})

    async def import_agent(
        self,
        body: t.AgentImport,
        **options: Unpack[KeyedCallOptions],
    ) -> t.AgentView:
        """Import an agent (`POST /agents/import`)."""
        return await self._json(_IMPORT_AGENT, {}, options, body=body)

    async def export_agent(
        self,
        agent_id: str,
        *,
        revision_id: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.AgentExportView:
        """Export an agent (`GET /agents/{agent_id}/export`)."""
        return await self._json(_EXPORT_AGENT, {"agent_id": agent_id}, options, query={"revision_id": revision_id})

    async def clone_agent(
        self,
        agent_id: str,
        body: t.AgentClone,
        **options: Unpack[KeyedCallOptions],
    ) -> t.AgentView:
        """Clone an agent (`POST /agents/{agent_id}/clone`)."""
        return await self._json(_CLONE_AGENT, {"agent_id": agent_id}, options, body=body)

    def list_agent_revisions(
        self,
        agent_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.AgentRevisionView, t.PageAgentRevisionView]:
        """List the revisions of an agent (`GET /agents/{agent_id}/revisions`)."""
        return self._pages(_LIST_AGENT_REVISIONS, {"agent_id": agent_id}, options, query={"limit": limit, "cursor": cursor, "offset": offset})

    async def create_agent_revision(
        self,
        agent_id: str,
        body: t.AgentRevisionCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.AgentRevisionView:
        """Add a revision to an agent (`POST /agents/{agent_id}/revisions`)."""
        return await self._json(_CREATE_AGENT_REVISION, {"agent_id": agent_id}, options, body=body)

    async def get_agent_revision(
        self,
        agent_id: str,
        revision_id: str,
        **options: Unpack[CallOptions],
    ) -> t.AgentRevisionView:
        """Read a revision (`GET /agents/{agent_id}/revisions/{revision_id}`)."""
        return await self._json(_GET_AGENT_REVISION, {"agent_id": agent_id, "revision_id": revision_id}, options)

    async def activate_agent_revision(
        self,
        agent_id: str,
        revision_id: str,
        *,
        if_match: str,
        **options: Unpack[CallOptions],
    ) -> t.AgentView:
        """Activate a revision (`POST /agents/{agent_id}/revisions/{revision_id}/activate`)."""
        return await self._json(_ACTIVATE_AGENT_REVISION, {"agent_id": agent_id, "revision_id": revision_id}, options, headers={"If-Match": if_match})

    async def diff_agent_revisions(
        self,
        agent_id: str,
        revision_id: str,
        *,
        against: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.RevisionDiffView:
        """Compare two revisions (`GET /agents/{agent_id}/revisions/{revision_id}/diff`)."""
        return await self._json(_DIFF_AGENT_REVISIONS, {"agent_id": agent_id, "revision_id": revision_id}, options, query={"against": against})

    async def validate_agent_revision(
        self,
        agent_id: str,
        body: t.RevisionValidate,
        **options: Unpack[CallOptions],
    ) -> t.RevisionValidationView:
        """Validate a revision without storing it (`POST /agents/{agent_id}/validate`)."""
        return await self._json(_VALIDATE_AGENT_REVISION, {"agent_id": agent_id}, options, body=body)

    async def get_effective_agent(
        self,
        agent_id: str,
        *,
        revision_id: str | None = None,
        persona_slug: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.EffectiveAgentView:
        """Read what a run would use (`GET /agents/{agent_id}/effective`)."""
        return await self._json(_GET_EFFECTIVE_AGENT, {"agent_id": agent_id}, options, query={"revision_id": revision_id, "persona_slug": persona_slug})

    def list_personas(
        self,
        agent_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.PersonaView, t.PagePersonaView]:
        """List the personas of an agent (`GET /agents/{agent_id}/personas`)."""
        return self._pages(_LIST_PERSONAS, {"agent_id": agent_id}, options, query={"limit": limit, "cursor": cursor, "offset": offset})

    async def create_persona(
        self,
        agent_id: str,
        body: t.PersonaCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.PersonaView:
        """Add a persona to an agent (`POST /agents/{agent_id}/personas`)."""
        return await self._json(_CREATE_PERSONA, {"agent_id": agent_id}, options, body=body)

    async def update_persona(
        self,
        agent_id: str,
        persona_id: str,
        body: t.PersonaUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.PersonaView:
        """Change a persona (`PATCH /agents/{agent_id}/personas/{persona_id}`)."""
        return await self._json(_UPDATE_PERSONA, {"agent_id": agent_id, "persona_id": persona_id}, options, headers={"If-Match": if_match}, body=body)

    async def delete_persona(
        self,
        agent_id: str,
        persona_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a persona (`DELETE /agents/{agent_id}/personas/{persona_id}`)."""
        await self._empty(_DELETE_PERSONA, {"agent_id": agent_id, "persona_id": persona_id}, options)

    def list_skills(
        self,
        *,
        q: str | None = None,
        curation_state: Literal["pending", "reviewed", "promoted", "superseded", "retired"] | None = None,
        origin: Literal["human", "agent", "import", "derived"] | None = None,
        owner_agent_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.SkillView, t.PageSkillView]:
        """List skills (`GET /skills`)."""
        return self._pages(_LIST_SKILLS, {}, options, query={"q": q, "curation_state": curation_state, "origin": origin, "owner_agent_id": owner_agent_id, "limit": limit, "cursor": cursor, "offset": offset})

    async def create_skill(
        self,
        body: t.SkillCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.SkillView:
        """Create a skill (`POST /skills`)."""
        return await self._json(_CREATE_SKILL, {}, options, body=body)

    async def import_skill(
        self,
        body: t.SkillImport,
        **options: Unpack[KeyedCallOptions],
    ) -> t.SkillView:
        """Import a skill (`POST /skills/import`)."""
        return await self._json(_IMPORT_SKILL, {}, options, body=body)

    async def get_skill(
        self,
        skill_id: str,
        **options: Unpack[CallOptions],
    ) -> t.SkillView:
        """Read a skill (`GET /skills/{skill_id}`)."""
        return await self._json(_GET_SKILL, {"skill_id": skill_id}, options)

    async def update_skill(
        self,
        skill_id: str,
        body: t.SkillUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.SkillView:
        """Change a skill (`PATCH /skills/{skill_id}`)."""
        return await self._json(_UPDATE_SKILL, {"skill_id": skill_id}, options, headers={"If-Match": if_match}, body=body)

    async def delete_skill(
        self,
        skill_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a skill (`DELETE /skills/{skill_id}`)."""
        await self._empty(_DELETE_SKILL, {"skill_id": skill_id}, options)

    async def curate_skill(
        self,
        skill_id: str,
        body: t.SkillCurate,
        **options: Unpack[CallOptions],
    ) -> t.SkillView:
        """Curate a skill (`POST /skills/{skill_id}/curate`)."""
        return await self._json(_CURATE_SKILL, {"skill_id": skill_id}, options, body=body)

    def list_skill_versions(
        self,
        skill_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.SkillVersionView, t.PageSkillVersionView]:
        """List the versions of a skill (`GET /skills/{skill_id}/versions`)."""
        return self._pages(_LIST_SKILL_VERSIONS, {"skill_id": skill_id}, options, query={"limit": limit, "cursor": cursor, "offset": offset})

    def list_tools(
        self,
        *,
        q: str | None = None,
        kind: Literal["http", "remote_protocol", "builtin", "code_exec", "web_search", "web_fetch", "delegate", "schedule"] | None = None,
        effect: Literal["read", "write"] | None = None,
        critical: bool | None = None,
        toolkit_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.ToolView, t.PageToolView]:
        """List tools (`GET /tools`)."""
        return self._pages(_LIST_TOOLS, {}, options, query={"q": q, "kind": kind, "effect": effect, "critical": critical, "toolkit_id": toolkit_id, "limit": limit, "cursor": cursor, "offset": offset})

    async def create_tool(
        self,
        body: t.ToolCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ToolView:
        """Create a tool (`POST /tools`)."""
        return await self._json(_CREATE_TOOL, {}, options, body=body)

    async def get_tool(
        self,
        tool_id: str,
        *,
        if_none_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.ToolView:
        """Read a tool (`GET /tools/{tool_id}`)."""
        return await self._json(_GET_TOOL, {"tool_id": tool_id}, options, headers={"If-None-Match": if_none_match})

    async def update_tool(
        self,
        tool_id: str,
        body: t.ToolUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.ToolView:
        """Change a tool (`PATCH /tools/{tool_id}`)."""
        return await self._json(_UPDATE_TOOL, {"tool_id": tool_id}, options, headers={"If-Match": if_match}, body=body)

    async def delete_tool(
        self,
        tool_id: str,
        *,
        force: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a tool (`DELETE /tools/{tool_id}`)."""
        await self._empty(_DELETE_TOOL, {"tool_id": tool_id}, options, query={"force": force})

    async def test_tool(
        self,
        tool_id: str,
        body: t.ToolTest,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ToolTestView:
        """Test a tool (`POST /tools/{tool_id}/test`)."""
        return await self._json(_TEST_TOOL, {"tool_id": tool_id}, options, body=body)

    async def set_tool_secrets(
        self,
        tool_id: str,
        body: t.ToolSecretsPut,
        **options: Unpack[CallOptions],
    ) -> t.ToolView:
        """Set secrets of a tool (`PUT /tools/{tool_id}/secrets`)."""
        return await self._json(_SET_TOOL_SECRETS, {"tool_id": tool_id}, options, body=body)

    async def delete_tool_secret(
        self,
        tool_id: str,
        name: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a secret of a tool (`DELETE /tools/{tool_id}/secrets/{name}`)."""
        await self._empty(_DELETE_TOOL_SECRET, {"tool_id": tool_id, "name": name}, options)

    def list_toolkits(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.ToolkitView, t.PageToolkitView]:
        """List toolkits (`GET /toolkits`)."""
        return self._pages(_LIST_TOOLKITS, {}, options, query={"limit": limit, "cursor": cursor, "offset": offset})

    async def create_toolkit(
        self,
        body: t.ToolkitCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ToolkitView:
        """Create a toolkit (`POST /toolkits`)."""
        return await self._json(_CREATE_TOOLKIT, {}, options, body=body)

    async def get_toolkit(
        self,
        toolkit_id: str,
        **options: Unpack[CallOptions],
    ) -> t.ToolkitView:
        """Read a toolkit (`GET /toolkits/{toolkit_id}`)."""
        return await self._json(_GET_TOOLKIT, {"toolkit_id": toolkit_id}, options)

    async def update_toolkit(
        self,
        toolkit_id: str,
        body: t.ToolkitUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.ToolkitView:
        """Change a toolkit (`PATCH /toolkits/{toolkit_id}`)."""
        return await self._json(_UPDATE_TOOLKIT, {"toolkit_id": toolkit_id}, options, headers={"If-Match": if_match}, body=body)

    async def delete_toolkit(
        self,
        toolkit_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a toolkit (`DELETE /toolkits/{toolkit_id}`)."""
        await self._empty(_DELETE_TOOLKIT, {"toolkit_id": toolkit_id}, options)

    def list_toolkit_revisions(
        self,
        toolkit_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.ToolkitRevisionView, t.PageToolkitRevisionView]:
        """List the revisions of a toolkit (`GET /toolkits/{toolkit_id}/revisions`)."""
        return self._pages(_LIST_TOOLKIT_REVISIONS, {"toolkit_id": toolkit_id}, options, query={"limit": limit, "cursor": cursor, "offset": offset})

    async def create_toolkit_revision(
        self,
        toolkit_id: str,
        body: t.ToolkitRevisionCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ToolkitRevisionView:
        """Add a revision to a toolkit (`POST /toolkits/{toolkit_id}/revisions`)."""
        return await self._json(_CREATE_TOOLKIT_REVISION, {"toolkit_id": toolkit_id}, options, body=body)

    async def activate_toolkit_revision(
        self,
        toolkit_id: str,
        revision_id: str,
        body: t.ToolkitRevisionActivate,
        **options: Unpack[CallOptions],
    ) -> t.ToolkitView:
        """Activate a revision of a toolkit (`POST /toolkits/{toolkit_id}/revisions/{revision_id}/activate`)."""
        return await self._json(_ACTIVATE_TOOLKIT_REVISION, {"toolkit_id": toolkit_id, "revision_id": revision_id}, options, body=body)

    def list_knowledge_bases(
        self,
        *,
        scope: Literal["workspace", "organization", "platform"] | None = None,
        kind: Literal["documents", "memory", "faq", "playbook", "code"] | None = None,
        owner_agent_id: str | None = None,
        owner_persona_id: str | None = None,
        subject_kind: Literal["user", "guest"] | None = None,
        subject_id: str | None = None,
        is_private: bool | None = None,
        is_frozen: bool | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.KnowledgeBaseView, t.PageKnowledgeBaseView]:
        """List knowledge bases (`GET /knowledge-bases`)."""
        return self._pages(_LIST_KNOWLEDGE_BASES, {}, options, query={"scope": scope, "kind": kind, "owner_agent_id": owner_agent_id, "owner_persona_id": owner_persona_id, "subject_kind": subject_kind, "subject_id": subject_id, "is_private": is_private, "is_frozen": is_frozen, "q": q, "limit": limit, "cursor": cursor, "offset": offset})

    async def create_knowledge_base(
        self,
        body: t.KnowledgeBaseCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.KnowledgeBaseView:
        """Create a knowledge base (`POST /knowledge-bases`)."""
        return await self._json(_CREATE_KNOWLEDGE_BASE, {}, options, body=body)

    async def get_knowledge_base(
        self,
        kb_id: str,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeBaseView:
        """Read a knowledge base (`GET /knowledge-bases/{kb_id}`)."""
        return await self._json(_GET_KNOWLEDGE_BASE, {"kb_id": kb_id}, options)

    async def update_knowledge_base(
        self,
        kb_id: str,
        body: t.KnowledgeBaseUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeBaseView:
        """Change a knowledge base (`PATCH /knowledge-bases/{kb_id}`)."""
        return await self._json(_UPDATE_KNOWLEDGE_BASE, {"kb_id": kb_id}, options, headers={"If-Match": if_match}, body=body)

    async def delete_knowledge_base(
        self,
        kb_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a knowledge base (`DELETE /knowledge-bases/{kb_id}`)."""
        await self._empty(_DELETE_KNOWLEDGE_BASE, {"kb_id": kb_id}, options)

    async def get_knowledge_base_stats(
        self,
        kb_id: str,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeBaseStatsView:
        """Read the contents of a knowledge base (`GET /knowledge-bases/{kb_id}/stats`)."""
        return await self._json(_GET_KNOWLEDGE_BASE_STATS, {"kb_id": kb_id}, options)

    async def reembed_knowledge_base(
        self,
        kb_id: str,
        body: t.Reembed,
        **options: Unpack[KeyedCallOptions],
    ) -> t.KnowledgeBaseView:
        """Re-embed a knowledge base (`POST /knowledge-bases/{kb_id}/reembed`)."""
        return await self._json(_REEMBED_KNOWLEDGE_BASE, {"kb_id": kb_id}, options, body=body)

    def list_knowledge_grants(
        self,
        kb_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.KnowledgeGrantView, t.PageKnowledgeGrantView]:
        """List the grants of a knowledge base (`GET /knowledge-bases/{kb_id}/grants`)."""
        return self._pages(_LIST_KNOWLEDGE_GRANTS, {"kb_id": kb_id}, options, query={"limit": limit, "cursor": cursor, "offset": offset})

    async def create_knowledge_grant(
        self,
        kb_id: str,
        body: t.KnowledgeGrantCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.KnowledgeGrantView:
        """Grant access to a knowledge base (`POST /knowledge-bases/{kb_id}/grants`)."""
        return await self._json(_CREATE_KNOWLEDGE_GRANT, {"kb_id": kb_id}, options, body=body)

    async def update_knowledge_grant(
        self,
        grant_id: str,
        body: t.KnowledgeGrantUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeGrantView:
        """Change a grant (`PATCH /knowledge-grants/{grant_id}`)."""
        return await self._json(_UPDATE_KNOWLEDGE_GRANT, {"grant_id": grant_id}, options, headers={"If-Match": if_match}, body=body)

    async def delete_knowledge_grant(
        self,
        grant_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Revoke a grant (`DELETE /knowledge-grants/{grant_id}`)."""
        await self._empty(_DELETE_KNOWLEDGE_GRANT, {"grant_id": grant_id}, options)

    def list_knowledge_sources(
        self,
        kb_id: str,
        *,
        state: Literal["queued", "fetching", "parsing", "indexing", "ready", "failed"] | None = None,
        kind: Literal["attachment", "url", "text"] | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.KnowledgeSourceView, t.PageKnowledgeSourceView]:
        """List sources (`GET /knowledge-bases/{kb_id}/sources`)."""
        return self._pages(_LIST_KNOWLEDGE_SOURCES, {"kb_id": kb_id}, options, query={"state": state, "kind": kind, "q": q, "limit": limit, "cursor": cursor, "offset": offset})

    async def create_knowledge_source(
        self,
        kb_id: str,
        body: t.KnowledgeSourceCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.KnowledgeSourceView:
        """Add a source (`POST /knowledge-bases/{kb_id}/sources`)."""
        return await self._json(_CREATE_KNOWLEDGE_SOURCE, {"kb_id": kb_id}, options, body=body)

    async def get_knowledge_source(
        self,
        source_id: str,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeSourceView:
        """Read a source (`GET /knowledge-sources/{source_id}`)."""
        return await self._json(_GET_KNOWLEDGE_SOURCE, {"source_id": source_id}, options)

    async def delete_knowledge_source(
        self,
        source_id: str,
        *,
        keep_items: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a source (`DELETE /knowledge-sources/{source_id}`)."""
        await self._empty(_DELETE_KNOWLEDGE_SOURCE, {"source_id": source_id}, options, query={"keep_items": keep_items})

    async def sync_knowledge_source(
        self,
        source_id: str,
        **options: Unpack[KeyedCallOptions],
    ) -> t.KnowledgeSourceView:
        """Sync a source (`POST /knowledge-sources/{source_id}/sync`)."""
        return await self._json(_SYNC_KNOWLEDGE_SOURCE, {"source_id": source_id}, options)

    def list_knowledge_items(
        self,
        kb_id: str,
        *,
        curation_state: Literal["pending", "reviewed", "promoted", "superseded", "retired"] | None = None,
        kind: Literal["document", "fact", "preference", "procedure", "event", "qa", "summary"] | None = None,
        origin: Literal["human", "agent", "import", "derived"] | None = None,
        tag: str | None = None,
        source_id: str | None = None,
        q: str | None = None,
        valid_at: str | None = None,
        include_deleted: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.KnowledgeItemView, t.PageKnowledgeItemView]:
        """List items (`GET /knowledge-bases/{kb_id}/items`)."""
        return self._pages(_LIST_KNOWLEDGE_ITEMS, {"kb_id": kb_id}, options, query={"curation_state": curation_state, "kind": kind, "origin": origin, "tag": tag, "source_id": source_id, "q": q, "valid_at": valid_at, "include_deleted": include_deleted, "limit": limit, "cursor": cursor, "offset": offset})

    async def create_knowledge_item(
        self,
        kb_id: str,
        body: t.KnowledgeItemCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.KnowledgeItemView:
        """Create an item (`POST /knowledge-bases/{kb_id}/items`)."""
        return await self._json(_CREATE_KNOWLEDGE_ITEM, {"kb_id": kb_id}, options, body=body)

    async def get_knowledge_item(
        self,
        item_id: str,
        *,
        if_none_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeItemView:
        """Read an item (`GET /knowledge-items/{item_id}`)."""
        return await self._json(_GET_KNOWLEDGE_ITEM, {"item_id": item_id}, options, headers={"If-None-Match": if_none_match})

    async def update_knowledge_item(
        self,
        item_id: str,
        body: t.KnowledgeItemUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeItemView:
        """Change an item (`PATCH /knowledge-items/{item_id}`)."""
        return await self._json(_UPDATE_KNOWLEDGE_ITEM, {"item_id": item_id}, options, headers={"If-Match": if_match}, body=body)

    async def delete_knowledge_item(
        self,
        item_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete an item (`DELETE /knowledge-items/{item_id}`)."""
        await self._empty(_DELETE_KNOWLEDGE_ITEM, {"item_id": item_id}, options)

    async def restore_knowledge_item(
        self,
        item_id: str,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeItemView:
        """Restore an item (`POST /knowledge-items/{item_id}/restore`)."""
        return await self._json(_RESTORE_KNOWLEDGE_ITEM, {"item_id": item_id}, options)

    def list_knowledge_item_versions(
        self,
        item_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.KnowledgeItemVersionView, t.PageKnowledgeItemVersionView]:
        """List the versions of an item (`GET /knowledge-items/{item_id}/versions`)."""
        return self._pages(_LIST_KNOWLEDGE_ITEM_VERSIONS, {"item_id": item_id}, options, query={"limit": limit, "cursor": cursor, "offset": offset})

    def list_knowledge_item_chunks(
        self,
        item_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.KnowledgeChunkView, t.PageKnowledgeChunkView]:
        """List the chunks of an item (`GET /knowledge-items/{item_id}/chunks`)."""
        return self._pages(_LIST_KNOWLEDGE_ITEM_CHUNKS, {"item_id": item_id}, options, query={"limit": limit, "cursor": cursor, "offset": offset})

    async def create_knowledge_items(
        self,
        kb_id: str,
        body: t.KnowledgeItemsCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.KnowledgeItemBatchView:
        """Create many items (`POST /knowledge-bases/{kb_id}/items/batch`)."""
        return await self._json(_CREATE_KNOWLEDGE_ITEMS, {"kb_id": kb_id}, options, body=body)

    async def curate_knowledge_items(
        self,
        kb_id: str,
        body: t.KnowledgeItemsCurate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.KnowledgeCurationView:
        """Curate many items (`POST /knowledge-bases/{kb_id}/items/curate`)."""
        return await self._json(_CURATE_KNOWLEDGE_ITEMS, {"kb_id": kb_id}, options, body=body)

    async def curate_knowledge_item(
        self,
        item_id: str,
        body: t.KnowledgeItemCurate,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeItemView:
        """Curate an item (`POST /knowledge-items/{item_id}/curate`)."""
        return await self._json(_CURATE_KNOWLEDGE_ITEM, {"item_id": item_id}, options, body=body)

    def list_knowledge_relations(
        self,
        item_id: str,
        *,
        direction: Literal["in", "out", "both"] | None = None,
        type: Literal["related", "part_of", "derived_from", "supersedes", "contradicts", "duplicate_of", "supports"] | None = None,
        depth: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.KnowledgeRelationView, t.PageKnowledgeRelationView]:
        """List relations (`GET /knowledge-items/{item_id}/relations`)."""
        return self._pages(_LIST_KNOWLEDGE_RELATIONS, {"item_id": item_id}, options, query={"direction": direction, "type": type, "depth": depth, "limit": limit, "cursor": cursor, "offset": offset})

    async def create_knowledge_relation(
        self,
        item_id: str,
        body: t.KnowledgeRelationCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.KnowledgeRelationView:
        """Create a relation (`POST /knowledge-items/{item_id}/relations`)."""
        return await self._json(_CREATE_KNOWLEDGE_RELATION, {"item_id": item_id}, options, body=body)

    async def delete_knowledge_relation(
        self,
        relation_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a relation (`DELETE /knowledge-relations/{relation_id}`)."""
        await self._empty(_DELETE_KNOWLEDGE_RELATION, {"relation_id": relation_id}, options)

    async def search_knowledge_base(
        self,
        kb_id: str,
        body: t.KnowledgeSearch,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeSearchView:
        """Search a knowledge base (`POST /knowledge-bases/{kb_id}/search`)."""
        return await self._json(_SEARCH_KNOWLEDGE_BASE, {"kb_id": kb_id}, options, body=body)

    async def search_knowledge(
        self,
        body: t.KnowledgeSearchAcross,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeSearchView:
        """Search several knowledge bases (`POST /knowledge/search`)."""
        return await self._json(_SEARCH_KNOWLEDGE, {}, options, body=body)

    async def export_knowledge_base(
        self,
        kb_id: str,
        body: t.KnowledgeExport | None = None,
        **options: Unpack[KeyedCallOptions],
    ) -> t.MaintenanceRunView:
        """Export a knowledge base (`POST /knowledge-bases/{kb_id}/export`)."""
        return await self._json(_EXPORT_KNOWLEDGE_BASE, {"kb_id": kb_id}, options, body=body)

    async def import_knowledge_base(
        self,
        kb_id: str,
        body: t.KnowledgeImport,
        **options: Unpack[KeyedCallOptions],
    ) -> t.MaintenanceRunView:
        """Import a bundle into a knowledge base (`POST /knowledge-bases/{kb_id}/import`)."""
        return await self._json(_IMPORT_KNOWLEDGE_BASE, {"kb_id": kb_id}, options, body=body)

    def list_webhook_endpoints(
        self,
        *,
        agent_id: str | None = None,
        is_active: bool | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.WebhookEndpointView, t.PageWebhookEndpointView]:
        """List webhook endpoints (`GET /webhook-endpoints`)."""
        return self._pages(_LIST_WEBHOOK_ENDPOINTS, {}, options, query={"agent_id": agent_id, "is_active": is_active, "q": q, "limit": limit, "cursor": cursor, "offset": offset})

    async def create_webhook_endpoint(
        self,
        body: t.WebhookEndpointCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.WebhookEndpointSecretView:
        """Create a webhook endpoint (`POST /webhook-endpoints`)."""
        return await self._json(_CREATE_WEBHOOK_ENDPOINT, {}, options, body=body)

    async def get_webhook_endpoint(
        self,
        endpoint_id: str,
        **options: Unpack[CallOptions],
    ) -> t.WebhookEndpointView:
        """Read a webhook endpoint (`GET /webhook-endpoints/{endpoint_id}`)."""
        return await self._json(_GET_WEBHOOK_ENDPOINT, {"endpoint_id": endpoint_id}, options)

    async def update_webhook_endpoint(
        self,
        endpoint_id: str,
        body: t.WebhookEndpointUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.WebhookEndpointView:
        """Change a webhook endpoint (`PATCH /webhook-endpoints/{endpoint_id}`)."""
        return await self._json(_UPDATE_WEBHOOK_ENDPOINT, {"endpoint_id": endpoint_id}, options, headers={"If-Match": if_match}, body=body)

    async def delete_webhook_endpoint(
        self,
        endpoint_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a webhook endpoint (`DELETE /webhook-endpoints/{endpoint_id}`)."""
        await self._empty(_DELETE_WEBHOOK_ENDPOINT, {"endpoint_id": endpoint_id}, options)

    async def rotate_webhook_endpoint_secret(
        self,
        endpoint_id: str,
        body: t.WebhookSecretRotate | None = None,
        **options: Unpack[CallOptions],
    ) -> t.WebhookEndpointSecretView:
        """Rotate the secret of an endpoint (`POST /webhook-endpoints/{endpoint_id}/rotate-secret`)."""
        return await self._json(_ROTATE_WEBHOOK_ENDPOINT_SECRET, {"endpoint_id": endpoint_id}, options, body=body)

    async def test_webhook_endpoint(
        self,
        endpoint_id: str,
        body: t.WebhookTest | None = None,
        **options: Unpack[CallOptions],
    ) -> t.WebhookTestView:
        """Test a webhook endpoint (`POST /webhook-endpoints/{endpoint_id}/test`)."""
        return await self._json(_TEST_WEBHOOK_ENDPOINT, {"endpoint_id": endpoint_id}, options, body=body)

    def list_webhook_deliveries(
        self,
        endpoint_id: str,
        *,
        status: Literal["started", "published", "coalescing", "merged", "dropped", "rejected", "failed"] | None = None,
        from_: str | None = None,
        to: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.WebhookDeliveryView, t.PageWebhookDeliveryView]:
        """List the deliveries of an endpoint (`GET /webhook-endpoints/{endpoint_id}/deliveries`)."""
        return self._pages(_LIST_WEBHOOK_DELIVERIES, {"endpoint_id": endpoint_id}, options, query={"status": status, "from": from_, "to": to, "limit": limit, "cursor": cursor, "offset": offset})

    async def replay_webhook_delivery(
        self,
        endpoint_id: str,
        delivery_id: str,
        **options: Unpack[KeyedCallOptions],
    ) -> t.WebhookDeliveryView:
        """Replay a delivery (`POST /webhook-endpoints/{endpoint_id}/deliveries/{delivery_id}/replay`)."""
        return await self._json(_REPLAY_WEBHOOK_DELIVERY, {"endpoint_id": endpoint_id, "delivery_id": delivery_id}, options)

    def list_schedules(
        self,
        *,
        agent_id: str | None = None,
        is_active: bool | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.ScheduleView, t.PageScheduleView]:
        """List schedules (`GET /schedules`)."""
        return self._pages(_LIST_SCHEDULES, {}, options, query={"agent_id": agent_id, "is_active": is_active, "q": q, "limit": limit, "cursor": cursor, "offset": offset})

    async def create_schedule(
        self,
        body: t.ScheduleCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ScheduleView:
        """Create a schedule (`POST /schedules`)."""
        return await self._json(_CREATE_SCHEDULE, {}, options, body=body)

    async def get_schedule(
        self,
        schedule_id: str,
        **options: Unpack[CallOptions],
    ) -> t.ScheduleView:
        """Read a schedule (`GET /schedules/{schedule_id}`)."""
        return await self._json(_GET_SCHEDULE, {"schedule_id": schedule_id}, options)

    async def update_schedule(
        self,
        schedule_id: str,
        body: t.ScheduleUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.ScheduleView:
        """Change a schedule (`PATCH /schedules/{schedule_id}`)."""
        return await self._json(_UPDATE_SCHEDULE, {"schedule_id": schedule_id}, options, headers={"If-Match": if_match}, body=body)

    async def delete_schedule(
        self,
        schedule_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a schedule (`DELETE /schedules/{schedule_id}`)."""
        await self._empty(_DELETE_SCHEDULE, {"schedule_id": schedule_id}, options)

    async def trigger_schedule(
        self,
        schedule_id: str,
        body: t.ScheduleTrigger | None = None,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ScheduleOccurrenceView:
        """Fire a schedule now (`POST /schedules/{schedule_id}/trigger`)."""
        return await self._json(_TRIGGER_SCHEDULE, {"schedule_id": schedule_id}, options, body=body)

    async def backfill_schedule(
        self,
        schedule_id: str,
        body: t.ScheduleBackfill,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ScheduleBackfillView:
        """Start runs for past times (`POST /schedules/{schedule_id}/backfill`)."""
        return await self._json(_BACKFILL_SCHEDULE, {"schedule_id": schedule_id}, options, body=body)

    def list_schedule_occurrences(
        self,
        schedule_id: str,
        *,
        status: Literal["upcoming", "started", "buffered", "skipped_overlap", "skipped_dst", "missed", "failed", "cancelled", "succeeded"] | None = None,
        kind: Literal["regular", "manual", "backfill"] | None = None,
        from_: str | None = None,
        to: str | None = None,
        upcoming: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.ScheduleOccurrenceView, t.PageScheduleOccurrenceView]:
        """List the occurrences of a schedule (`GET /schedules/{schedule_id}/occurrences`)."""
        return self._pages(_LIST_SCHEDULE_OCCURRENCES, {"schedule_id": schedule_id}, options, query={"status": status, "kind": kind, "from": from_, "to": to, "upcoming": upcoming, "limit": limit, "cursor": cursor, "offset": offset})

    async def preview_schedule(
        self,
        body: t.SchedulePreview,
        **options: Unpack[CallOptions],
    ) -> t.SchedulePreviewView:
        """Preview the times of a schedule (`POST /schedules/preview`)."""
        return await self._json(_PREVIEW_SCHEDULE, {}, options, body=body)

    def list_event_triggers(
        self,
        *,
        agent_id: str | None = None,
        is_active: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.EventTriggerView, t.PageEventTriggerView]:
        """List event triggers (`GET /event-triggers`)."""
        return self._pages(_LIST_EVENT_TRIGGERS, {}, options, query={"agent_id": agent_id, "is_active": is_active, "limit": limit, "cursor": cursor, "offset": offset})

    async def create_event_trigger(
        self,
        body: t.EventTriggerCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.EventTriggerView:
        """Create an event trigger (`POST /event-triggers`)."""
        return await self._json(_CREATE_EVENT_TRIGGER, {}, options, body=body)

    async def get_event_trigger(
        self,
        trigger_id: str,
        **options: Unpack[CallOptions],
    ) -> t.EventTriggerView:
        """Read an event trigger (`GET /event-triggers/{trigger_id}`)."""
        return await self._json(_GET_EVENT_TRIGGER, {"trigger_id": trigger_id}, options)

    async def update_event_trigger(
        self,
        trigger_id: str,
        body: t.EventTriggerUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.EventTriggerView:
        """Change an event trigger (`PATCH /event-triggers/{trigger_id}`)."""
        return await self._json(_UPDATE_EVENT_TRIGGER, {"trigger_id": trigger_id}, options, headers={"If-Match": if_match}, body=body)

    async def delete_event_trigger(
        self,
        trigger_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete an event trigger (`DELETE /event-triggers/{trigger_id}`)."""
        await self._empty(_DELETE_EVENT_TRIGGER, {"trigger_id": trigger_id}, options)

    async def publish_event(
        self,
        body: t.EventPublish,
        **options: Unpack[KeyedCallOptions],
    ) -> t.EventView:
        """Publish an event (`POST /events`)."""
        return await self._json(_PUBLISH_EVENT, {}, options, body=body)

    def list_events(
        self,
        *,
        event_kind: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.EventView, t.PageEventView]:
        """List events (`GET /events`)."""
        return self._pages(_LIST_EVENTS, {}, options, query={"event_kind": event_kind, "from": from_, "to": to, "limit": limit, "cursor": cursor, "offset": offset})

    def list_channels(
        self,
        *,
        kind: Literal["slack", "telegram", "discord", "email", "webhook"] | None = None,
        agent_id: str | None = None,
        is_active: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.ChannelView, t.PageChannelView]:
        """List channels (`GET /channels`)."""
        return self._pages(_LIST_CHANNELS, {}, options, query={"kind": kind, "agent_id": agent_id, "is_active": is_active, "limit": limit, "cursor": cursor, "offset": offset})

    async def create_channel(
        self,
        body: t.ChannelCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ChannelView:
        """Create a channel (`POST /channels`)."""
        return await self._json(_CREATE_CHANNEL, {}, options, body=body)

    async def get_channel(
        self,
        channel_id: str,
        **options: Unpack[CallOptions],
    ) -> t.ChannelView:
        """Read a channel (`GET /channels/{channel_id}`)."""
        return await self._json(_GET_CHANNEL, {"channel_id": channel_id}, options)

    async def update_channel(
        self,
        channel_id: str,
        body: t.ChannelUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.ChannelView:
        """Change a channel (`PATCH /channels/{channel_id}`)."""
        return await self._json(_UPDATE_CHANNEL, {"channel_id": channel_id}, options, headers={"If-Match": if_match}, body=body)

    async def delete_channel(
        self,
        channel_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a channel (`DELETE /channels/{channel_id}`)."""
        await self._empty(_DELETE_CHANNEL, {"channel_id": channel_id}, options)

    async def test_channel(
        self,
        channel_id: str,
        body: t.ChannelTest | None = None,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ChannelTestView:
        """Test a channel (`POST /channels/{channel_id}/test`)."""
        return await self._json(_TEST_CHANNEL, {"channel_id": channel_id}, options, body=body)

    async def receive_channel_message(
        self,
        channel_id: str,
        content: bytes,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncContent:
        """Deliver a message (`POST /channels/{channel_id}/inbound`)."""
        return await self._content(_RECEIVE_CHANNEL_MESSAGE, {"channel_id": channel_id}, options, query=query, headers=headers, content=content)

    async def login(
        self,
        body: t.LoginBody,
        *,
        x_refresh_cookie: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.LoginView:
        """Sign in (`POST /auth/login`)."""
        return await self._json(_LOGIN, {}, options, headers={"X-Refresh-Cookie": x_refresh_cookie}, body=body)

    async def refresh_tokens(
        self,
        body: t.RefreshBody,
        *,
        x_refresh_cookie: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.TokenView:
        """Refresh the tokens of a session (`POST /auth/refresh`)."""
        return await self._json(_REFRESH_TOKENS, {}, options, headers={"X-Refresh-Cookie": x_refresh_cookie}, body=body)

    async def logout(
        self,
        *,
        x_refresh_cookie: str | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        """Sign out (`POST /auth/logout`)."""
        await self._empty(_LOGOUT, {}, options, headers={"X-Refresh-Cookie": x_refresh_cookie})

    async def verify_mfa(
        self,
        body: t.MfaVerifyBody,
        *,
        x_refresh_cookie: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.TokenView:
        """Answer a challenge, or step up (`POST /auth/mfa/verify`)."""
        return await self._json(_VERIFY_MFA, {}, options, headers={"X-Refresh-Cookie": x_refresh_cookie}, body=body)

    async def enrol_totp(
        self,
        **options: Unpack[CallOptions],
    ) -> t.TotpEnrolmentView:
        """Start enrolling a second factor (`POST /auth/mfa/totp`)."""
        return await self._json(_ENROL_TOTP, {}, options)

    async def remove_totp(
        self,
        **options: Unpack[CallOptions],
    ) -> None:
        """Remove the second factor (`DELETE /auth/mfa/totp`)."""
        await self._empty(_REMOVE_TOTP, {}, options)

    async def confirm_totp(
        self,
        body: t.TotpConfirmBody,
        **options: Unpack[CallOptions],
    ) -> t.RecoveryCodesView:
        """Confirm a second factor (`POST /auth/mfa/totp/confirm`)."""
        return await self._json(_CONFIRM_TOTP, {}, options, body=body)

    async def regenerate_recovery_codes(
        self,
        **options: Unpack[CallOptions],
    ) -> t.RecoveryCodesView:
        """Create new recovery codes (`POST /auth/mfa/recovery-codes`)."""
        return await self._json(_REGENERATE_RECOVERY_CODES, {}, options)

    async def get_me(
        self,
        **options: Unpack[CallOptions],
    ) -> t.MeView:
        """Read the caller (`GET /auth/me`)."""
        return await self._json(_GET_ME, {}, options)

    async def update_me(
        self,
        body: t.MeUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.MeView:
        """Change your own account (`PATCH /auth/me`)."""
        return await self._json(_UPDATE_ME, {}, options, headers={"If-Match": if_match}, body=body)

    async def confirm_email(
        self,
        body: t.EmailConfirmBody,
        **options: Unpack[CallOptions],
    ) -> None:
        """Confirm an address (`POST /auth/email/confirm`)."""
        await self._empty(_CONFIRM_EMAIL, {}, options, body=body)

    async def change_password(
        self,
        body: t.PasswordChangeBody,
        **options: Unpack[CallOptions],
    ) -> None:
        """Change the password (`POST /auth/password/change`)."""
        await self._empty(_CHANGE_PASSWORD, {}, options, body=body)

    async def forgot_password(
        self,
        body: t.PasswordForgotBody,
        **options: Unpack[CallOptions],
    ) -> None:
        """Request a password reset (`POST /auth/password/forgot`)."""
        await self._empty(_FORGOT_PASSWORD, {}, options, body=body)

    async def reset_password(
        self,
        body: t.PasswordResetBody,
        **options: Unpack[CallOptions],
    ) -> None:
        """Set a forgotten password (`POST /auth/password/reset`)."""
        await self._empty(_RESET_PASSWORD, {}, options, body=body)

    async def create_service_key(
        self,
        body: t.ServiceKeyCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ServiceKeySecretView:
        """Issue a service key (`POST /service-keys`)."""
        return await self._json(_CREATE_SERVICE_KEY, {}, options, body=body)

    def list_service_keys(
        self,
        *,
        q: str | None = None,
        role: Literal["viewer", "member", "admin"] | None = None,
        workspace_id: str | None = None,
        include_revoked: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.ServiceKeyView, t.PageServiceKeyView]:
        """List service keys (`GET /service-keys`)."""
        return self._pages(_LIST_SERVICE_KEYS, {}, options, query={"q": q, "role": role, "workspace_id": workspace_id, "include_revoked": include_revoked, "limit": limit, "cursor": cursor, "offset": offset})

    async def get_service_key(
        self,
        key_id: str,
        **options: Unpack[CallOptions],
    ) -> t.ServiceKeyView:
        """Read a service key (`GET /service-keys/{key_id}`)."""
        return await self._json(_GET_SERVICE_KEY, {"key_id": key_id}, options)

    async def revoke_service_key(
        self,
        key_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Revoke a service key (`DELETE /service-keys/{key_id}`)."""
        await self._empty(_REVOKE_SERVICE_KEY, {"key_id": key_id}, options)

    async def rotate_service_key(
        self,
        key_id: str,
        **options: Unpack[CallOptions],
    ) -> t.ServiceKeySecretView:
        """Rotate a service key (`POST /service-keys/{key_id}/rotate`)."""
        return await self._json(_ROTATE_SERVICE_KEY, {"key_id": key_id}, options)

    def list_organizations(
        self,
        *,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.OrganizationView, t.PageOrganizationView]:
        """List organizations (`GET /organizations`)."""
        return self._pages(_LIST_ORGANIZATIONS, {}, options, query={"q": q, "limit": limit, "cursor": cursor, "offset": offset})

    async def create_organization(
        self,
        body: t.OrganizationCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.OrganizationView:
        """Create an organization (`POST /organizations`)."""
        return await self._json(_CREATE_ORGANIZATION, {}, options, body=body)

    async def get_organization(
        self,
        organization_id: str,
        *,
        if_none_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.OrganizationView:
        """Read an organization (`GET /organizations/{organization_id}`)."""
        return await self._json(_GET_ORGANIZATION, {"organization_id": organization_id}, options, headers={"If-None-Match": if_none_match})

    async def update_organization(
        self,
        organization_id: str,
        body: t.OrganizationUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.OrganizationView:
        """Change an organization (`PATCH /organizations/{organization_id}`)."""
        return await self._json(_UPDATE_ORGANIZATION, {"organization_id": organization_id}, options, headers={"If-Match": if_match}, body=body)

    async def delete_organization(
        self,
        organization_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete an organization (`DELETE /organizations/{organization_id}`)."""
        await self._empty(_DELETE_ORGANIZATION, {"organization_id": organization_id}, options)

    async def get_organization_settings(
        self,
        organization_id: str,
        *,
        if_none_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.OrganizationSettingsView:
        """Read an organization's settings (`GET /organizations/{organization_id}/settings`)."""
        return await self._json(_GET_ORGANIZATION_SETTINGS, {"organization_id": organization_id}, options, headers={"If-None-Match": if_none_match})

    async def update_organization_settings(
        self,
        organization_id: str,
        body: t.OrganizationSettingsUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.OrganizationSettingsView:
        """Change an organization's settings (`PATCH /organizations/{organization_id}/settings`)."""
        return await self._json(_UPDATE_ORGANIZATION_SETTINGS, {"organization_id": organization_id}, options, headers={"If-Match": if_match}, body=body)

    async def transfer_ownership(
        self,
        organization_id: str,
        body: t.OwnershipTransfer,
        **options: Unpack[CallOptions],
    ) -> t.OrganizationView:
        """Transfer the ownership (`POST /organizations/{organization_id}/transfer-ownership`)."""
        return await self._json(_TRANSFER_OWNERSHIP, {"organization_id": organization_id}, options, body=body)

    def list_organization_workspaces(
        self,
        organization_id: str,
        *,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.WorkspaceView, t.PageWorkspaceView]:
        """List the workspaces of an organization (`GET /organizations/{organization_id}/workspaces`)."""
        return self._pages(_LIST_ORGANIZATION_WORKSPACES, {"organization_id": organization_id}, options, query={"q": q, "limit": limit, "cursor": cursor, "offset": offset})

    async def create_workspace(
        self,
        organization_id: str,
        body: t.WorkspaceCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.WorkspaceView:
        """Create a workspace (`POST /organizations/{organization_id}/workspaces`)."""
        return await self._json(_CREATE_WORKSPACE, {"organization_id": organization_id}, options, body=body)

    def list_workspaces(
        self,
        *,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.WorkspaceView, t.PageWorkspaceView]:
        """List workspaces (`GET /workspaces`)."""
        return self._pages(_LIST_WORKSPACES, {}, options, query={"q": q, "limit": limit, "cursor": cursor, "offset": offset})

    async def get_workspace(
        self,
        workspace_id: str,
        *,
        if_none_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.WorkspaceView:
        """Read a workspace (`GET /workspaces/{workspace_id}`)."""
        return await self._json(_GET_WORKSPACE, {"workspace_id": workspace_id}, options, headers={"If-None-Match": if_none_match})

    async def update_workspace(
        self,
        workspace_id: str,
        body: t.WorkspaceUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.WorkspaceView:
        """Change a workspace (`PATCH /workspaces/{workspace_id}`)."""
        return await self._json(_UPDATE_WORKSPACE, {"workspace_id": workspace_id}, options, headers={"If-Match": if_match}, body=body)

    async def archive_workspace(
        self,
        workspace_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Archive a workspace (`DELETE /workspaces/{workspace_id}`)."""
        await self._empty(_ARCHIVE_WORKSPACE, {"workspace_id": workspace_id}, options)

    async def restore_workspace(
        self,
        workspace_id: str,
        **options: Unpack[CallOptions],
    ) -> t.WorkspaceView:
        """Restore a workspace (`POST /workspaces/{workspace_id}/restore`)."""
        return await self._json(_RESTORE_WORKSPACE, {"workspace_id": workspace_id}, options)

    def list_workspace_members(
        self,
        workspace_id: str,
        *,
        q: str | None = None,
        role: Literal["viewer", "member", "admin", "owner"] | None = None,
        source: Literal["home", "grant", "organization"] | None = None,
        is_active: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.WorkspaceMemberView, t.PageWorkspaceMemberView]:
        """List the members of a workspace (`GET /workspaces/{workspace_id}/members`)."""
        return self._pages(_LIST_WORKSPACE_MEMBERS, {"workspace_id": workspace_id}, options, query={"q": q, "role": role, "source": source, "is_active": is_active, "limit": limit, "cursor": cursor, "offset": offset})

    async def set_workspace_member(
        self,
        workspace_id: str,
        user_id: str,
        body: t.WorkspaceMemberPut,
        **options: Unpack[CallOptions],
    ) -> t.WorkspaceMemberView:
        """Grant a role in a workspace (`PUT /workspaces/{workspace_id}/members/{user_id}`)."""
        return await self._json(_SET_WORKSPACE_MEMBER, {"workspace_id": workspace_id, "user_id": user_id}, options, body=body)

    async def remove_workspace_member(
        self,
        workspace_id: str,
        user_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """End a grant in a workspace (`DELETE /workspaces/{workspace_id}/members/{user_id}`)."""
        await self._empty(_REMOVE_WORKSPACE_MEMBER, {"workspace_id": workspace_id, "user_id": user_id}, options)

    def list_users(
        self,
        *,
        q: str | None = None,
        role: Literal["viewer", "member", "admin", "owner", "operator"] | None = None,
        scope: Literal["workspace", "organization", "platform"] | None = None,
        workspace_id: str | None = None,
        is_active: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.UserView, t.PageUserView]:
        """List users (`GET /users`)."""
        return self._pages(_LIST_USERS, {}, options, query={"q": q, "role": role, "scope": scope, "workspace_id": workspace_id, "is_active": is_active, "limit": limit, "cursor": cursor, "offset": offset})

    async def create_user(
        self,
        body: t.UserCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.UserView:
        """Create a user (`POST /users`)."""
        return await self._json(_CREATE_USER, {}, options, body=body)

    async def get_user(
        self,
        user_id: str,
        **options: Unpack[CallOptions],
    ) -> t.UserView:
        """Read a user (`GET /users/{user_id}`)."""
        return await self._json(_GET_USER, {"user_id": user_id}, options)

    async def update_user(
        self,
        user_id: str,
        body: t.UserUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.UserView:
        """Change a user (`PATCH /users/{user_id}`)."""
        return await self._json(_UPDATE_USER, {"user_id": user_id}, options, headers={"If-Match": if_match}, body=body)

    async def delete_user(
        self,
        user_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a user (`DELETE /users/{user_id}`)."""
        await self._empty(_DELETE_USER, {"user_id": user_id}, options)

    async def set_user_role(
        self,
        user_id: str,
        body: t.UserRolePut,
        **options: Unpack[CallOptions],
    ) -> t.UserView:
        """Set role, scope and home of a user (`PUT /users/{user_id}/role`)."""
        return await self._json(_SET_USER_ROLE, {"user_id": user_id}, options, body=body)

    async def deactivate_user(
        self,
        user_id: str,
        **options: Unpack[CallOptions],
    ) -> t.UserView:
        """Deactivate a user (`POST /users/{user_id}/deactivate`)."""
        return await self._json(_DEACTIVATE_USER, {"user_id": user_id}, options)

    async def reactivate_user(
        self,
        user_id: str,
        **options: Unpack[CallOptions],
    ) -> t.UserView:
        """Reactivate a user (`POST /users/{user_id}/reactivate`)."""
        return await self._json(_REACTIVATE_USER, {"user_id": user_id}, options)

    def list_invitations(
        self,
        *,
        status: Literal["pending", "accepted", "revoked", "expired"] | None = None,
        workspace_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.InvitationView, t.PageInvitationView]:
        """List invitations (`GET /invitations`)."""
        return self._pages(_LIST_INVITATIONS, {}, options, query={"status": status, "workspace_id": workspace_id, "limit": limit, "cursor": cursor, "offset": offset})

    async def create_invitation(
        self,
        body: t.InvitationCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.InvitationView:
        """Invite a user (`POST /invitations`)."""
        return await self._json(_CREATE_INVITATION, {}, options, body=body)

    async def get_invitation(
        self,
        invitation_id: str,
        **options: Unpack[CallOptions],
    ) -> t.InvitationView:
        """Read an invitation (`GET /invitations/{invitation_id}`)."""
        return await self._json(_GET_INVITATION, {"invitation_id": invitation_id}, options)

    async def revoke_invitation(
        self,
        invitation_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Revoke an invitation (`DELETE /invitations/{invitation_id}`)."""
        await self._empty(_REVOKE_INVITATION, {"invitation_id": invitation_id}, options)

    async def resend_invitation(
        self,
        invitation_id: str,
        **options: Unpack[CallOptions],
    ) -> t.InvitationView:
        """Resend an invitation (`POST /invitations/{invitation_id}/resend`)."""
        return await self._json(_RESEND_INVITATION, {"invitation_id": invitation_id}, options)

    async def accept_invitation(
        self,
        body: t.InvitationAccept,
        *,
        x_refresh_cookie: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.LoginView:
        """Accept an invitation (`POST /invitations/accept`)."""
        return await self._json(_ACCEPT_INVITATION, {}, options, headers={"X-Refresh-Cookie": x_refresh_cookie}, body=body)

    def list_secrets(
        self,
        *,
        q: str | None = None,
        scope: Literal["workspace", "organization", "platform"] | None = None,
        workspace_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.SecretView, t.PageSecretView]:
        """List secrets (`GET /secrets`)."""
        return self._pages(_LIST_SECRETS, {}, options, query={"q": q, "scope": scope, "workspace_id": workspace_id, "limit": limit, "cursor": cursor, "offset": offset})

    async def put_secret(
        self,
        name: str,
        body: t.SecretPut,
        **options: Unpack[CallOptions],
    ) -> t.SecretView:
        """Set a secret (`PUT /secrets/{name}`)."""
        return await self._json(_PUT_SECRET, {"name": name}, options, body=body)

    async def delete_secret(
        self,
        name: str,
        *,
        scope: Literal["workspace", "organization", "platform"] | None = None,
        workspace_id: str | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a secret (`DELETE /secrets/{name}`)."""
        await self._empty(_DELETE_SECRET, {"name": name}, options, query={"scope": scope, "workspace_id": workspace_id})

    def list_audit_entries(
        self,
        *,
        actor_id: str | None = None,
        action: Literal["create", "update", "delete", "login", "logout", "submit", "approve", "purge", "impersonate"] | None = None,
        resource_type: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.AuditEntryView, t.PageAuditEntryView]:
        """List audit entries (`GET /audit-log`)."""
        return self._pages(_LIST_AUDIT_ENTRIES, {}, options, query={"actor_id": actor_id, "action": action, "resource_type": resource_type, "from": from_, "to": to, "limit": limit, "cursor": cursor, "offset": offset})

    async def get_audit_entry(
        self,
        entry_id: str,
        **options: Unpack[CallOptions],
    ) -> t.AuditEntryView:
        """Read an audit entry (`GET /audit-log/{entry_id}`)."""
        return await self._json(_GET_AUDIT_ENTRY, {"entry_id": entry_id}, options)

    def list_budgets(
        self,
        *,
        period: Literal["month", "day"] | None = None,
        workspace_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.BudgetView, t.PageBudgetView]:
        """List budgets (`GET /budgets`)."""
        return self._pages(_LIST_BUDGETS, {}, options, query={"period": period, "workspace_id": workspace_id, "limit": limit, "cursor": cursor, "offset": offset})

    async def get_budget(
        self,
        workspace_id: str,
        *,
        period: Literal["month", "day"] | None = None,
        if_none_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.BudgetView:
        """Read a budget (`GET /budgets/{workspace_id}`)."""
        return await self._json(_GET_BUDGET, {"workspace_id": workspace_id}, options, query={"period": period}, headers={"If-None-Match": if_none_match})

    async def put_budget(
        self,
        workspace_id: str,
        body: t.BudgetPut,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.BudgetView:
        """Set a budget (`PUT /budgets/{workspace_id}`)."""
        return await self._json(_PUT_BUDGET, {"workspace_id": workspace_id}, options, headers={"If-Match": if_match}, body=body)

    async def delete_budget(
        self,
        workspace_id: str,
        *,
        period: Literal["month", "day"] | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a budget (`DELETE /budgets/{workspace_id}`)."""
        await self._empty(_DELETE_BUDGET, {"workspace_id": workspace_id}, options, query={"period": period})

    async def get_budget_status(
        self,
        workspace_id: str,
        *,
        period: Literal["month", "day"] | None = None,
        **options: Unpack[CallOptions],
    ) -> t.BudgetStatusView:
        """Read the state of a budget (`GET /budgets/{workspace_id}/status`)."""
        return await self._json(_GET_BUDGET_STATUS, {"workspace_id": workspace_id}, options, query={"period": period})

    def list_usage(
        self,
        *,
        group_by: Sequence[Literal["day", "workspace", "agent", "model", "kind", "user", "service_key"]] | None = None,
        from_: str | None = None,
        to: str | None = None,
        timezone: str | None = None,
        workspace_id: str | None = None,
        agent_id: str | None = None,
        model: str | None = None,
        kind: Literal["llm", "embedding", "rerank", "tool", "search", "adjustment"] | None = None,
        user_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.UsageGroupView, t.PageUsageGroupView]:
        """Aggregate usage (`GET /usage`)."""
        return self._pages(_LIST_USAGE, {}, options, query={"group_by": group_by, "from": from_, "to": to, "timezone": timezone, "workspace_id": workspace_id, "agent_id": agent_id, "model": model, "kind": kind, "user_id": user_id, "limit": limit, "cursor": cursor, "offset": offset})

    def list_usage_records(
        self,
        *,
        workspace_id: str | None = None,
        agent_id: str | None = None,
        model: str | None = None,
        kind: Literal["llm", "embedding", "rerank", "tool", "search", "adjustment"] | None = None,
        user_id: str | None = None,
        run_id: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.UsageRecordView, t.PageUsageRecordView]:
        """List the ledger (`GET /usage/records`)."""
        return self._pages(_LIST_USAGE_RECORDS, {}, options, query={"workspace_id": workspace_id, "agent_id": agent_id, "model": model, "kind": kind, "user_id": user_id, "run_id": run_id, "from": from_, "to": to, "limit": limit, "cursor": cursor, "offset": offset})

    async def export_usage(
        self,
        *,
        format: Literal["csv", "ndjson"] | None = None,
        workspace_id: str | None = None,
        agent_id: str | None = None,
        model: str | None = None,
        kind: Literal["llm", "embedding", "rerank", "tool", "search", "adjustment"] | None = None,
        user_id: str | None = None,
        run_id: str | None = None,
        from_: str,
        to: str,
        **options: Unpack[CallOptions],
    ) -> AsyncContent:
        """Export the ledger (`GET /usage/export`)."""
        return await self._content(_EXPORT_USAGE, {}, options, query={"format": format, "workspace_id": workspace_id, "agent_id": agent_id, "model": model, "kind": kind, "user_id": user_id, "run_id": run_id, "from": from_, "to": to})

    def list_prices(
        self,
        *,
        model: str | None = None,
        tier: str | None = None,
        bucket: Literal["input", "cached_read", "cached_write", "output", "reasoning", "call"] | None = None,
        currency: str | None = None,
        at: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.PriceView, t.PagePriceView]:
        """List prices (`GET /prices`)."""
        return self._pages(_LIST_PRICES, {}, options, query={"model": model, "tier": tier, "bucket": bucket, "currency": currency, "at": at, "limit": limit, "cursor": cursor, "offset": offset})

    def list_alert_rules(
        self,
        *,
        q: str | None = None,
        kind: Literal["spend", "run_failures", "run_failure_pct", "run_duration_p95", "runs_waiting", "delivery_failures", "schedule_missed", "unpriced_usage", "budget"] | None = None,
        is_active: bool | None = None,
        workspace_id: str | None = None,
        managed: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.AlertRuleView, t.PageAlertRuleView]:
        """List alert rules (`GET /alert-rules`)."""
        return self._pages(_LIST_ALERT_RULES, {}, options, query={"q": q, "kind": kind, "is_active": is_active, "workspace_id": workspace_id, "managed": managed, "limit": limit, "cursor": cursor, "offset": offset})

    async def create_alert_rule(
        self,
        body: t.AlertRuleCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.AlertRuleView:
        """Create an alert rule (`POST /alert-rules`)."""
        return await self._json(_CREATE_ALERT_RULE, {}, options, body=body)

    async def get_alert_rule(
        self,
        rule_id: str,
        **options: Unpack[CallOptions],
    ) -> t.AlertRuleView:
        """Read an alert rule (`GET /alert-rules/{rule_id}`)."""
        return await self._json(_GET_ALERT_RULE, {"rule_id": rule_id}, options)

    async def update_alert_rule(
        self,
        rule_id: str,
        body: t.AlertRuleUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.AlertRuleView:
        """Change an alert rule (`PATCH /alert-rules/{rule_id}`)."""
        return await self._json(_UPDATE_ALERT_RULE, {"rule_id": rule_id}, options, headers={"If-Match": if_match}, body=body)

    async def delete_alert_rule(
        self,
        rule_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete an alert rule (`DELETE /alert-rules/{rule_id}`)."""
        await self._empty(_DELETE_ALERT_RULE, {"rule_id": rule_id}, options)

    async def test_alert_rule(
        self,
        rule_id: str,
        **options: Unpack[KeyedCallOptions],
    ) -> t.AlertTestView:
        """Test an alert rule (`POST /alert-rules/{rule_id}/test`)."""
        return await self._json(_TEST_ALERT_RULE, {"rule_id": rule_id}, options)

    def list_alerts(
        self,
        *,
        status: Literal["firing", "no_data", "resolved"] | None = None,
        severity: Literal["warning", "critical"] | None = None,
        rule_id: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.AlertView, t.PageAlertView]:
        """List alerts (`GET /alerts`)."""
        return self._pages(_LIST_ALERTS, {}, options, query={"status": status, "severity": severity, "rule_id": rule_id, "from": from_, "to": to, "limit": limit, "cursor": cursor, "offset": offset})

    async def get_alert(
        self,
        alert_id: str,
        **options: Unpack[CallOptions],
    ) -> t.AlertView:
        """Read an alert (`GET /alerts/{alert_id}`)."""
        return await self._json(_GET_ALERT, {"alert_id": alert_id}, options)

    async def update_alert(
        self,
        alert_id: str,
        body: t.AlertUpdate,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.AlertView:
        """Handle an alert (`PATCH /alerts/{alert_id}`)."""
        return await self._json(_UPDATE_ALERT, {"alert_id": alert_id}, options, headers={"If-Match": if_match}, body=body)

    async def create_attachment(
        self,
        file: FileSource,
        *,
        filename: str | None = None,
        workspace_id: str | None = None,
        purpose: str | None = None,
        **options: Unpack[KeyedCallOptions],
    ) -> t.AttachmentView:
        """Upload a file (`POST /attachments`)."""
        return await self._json(_CREATE_ATTACHMENT, {}, options, file=(file, filename, {"workspace_id": workspace_id, "purpose": purpose}))

    async def get_attachment(
        self,
        attachment_id: str,
        *,
        range: str | None = None,
        if_range: str | None = None,
        if_none_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncContent:
        """Download a file (`GET /attachments/{attachment_id}`)."""
        return await self._content(_GET_ATTACHMENT, {"attachment_id": attachment_id}, options, headers={"Range": range, "If-Range": if_range, "If-None-Match": if_none_match})

    async def create_repo_binding(
        self,
        body: t.RepoBindingCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.RepoBindingView:
        """Bind a repository (`POST /repo-bindings`)."""
        return await self._json(_CREATE_REPO_BINDING, {}, options, body=body)

    def list_repo_bindings(
        self,
        *,
        installation_id: int | None = None,
        repo_full_name: str | None = None,
        is_active: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.RepoBindingView, t.PageRepoBindingView]:
        """List bound repositories (`GET /repo-bindings`)."""
        return self._pages(_LIST_REPO_BINDINGS, {}, options, query={"installation_id": installation_id, "repo_full_name": repo_full_name, "is_active": is_active, "limit": limit, "cursor": cursor, "offset": offset})

    async def get_repo_binding(
        self,
        binding_id: str,
        *,
        if_none_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.RepoBindingView:
        """Read a bound repository (`GET /repo-bindings/{binding_id}`)."""
        return await self._json(_GET_REPO_BINDING, {"binding_id": binding_id}, options, headers={"If-None-Match": if_none_match})

    async def update_repo_binding(
        self,
        binding_id: str,
        body: t.RepoBindingUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.RepoBindingView:
        """Change a bound repository (`PATCH /repo-bindings/{binding_id}`)."""
        return await self._json(_UPDATE_REPO_BINDING, {"binding_id": binding_id}, options, headers={"If-Match": if_match}, body=body)

    async def delete_repo_binding(
        self,
        binding_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Unbind a repository (`DELETE /repo-bindings/{binding_id}`)."""
        await self._empty(_DELETE_REPO_BINDING, {"binding_id": binding_id}, options)

    def list_review_playbooks(
        self,
        *,
        scope: Literal["workspace", "organization", "platform"] | None = None,
        is_active: bool | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.ReviewPlaybookView, t.PageReviewPlaybookView]:
        """List playbooks (`GET /review-playbooks`)."""
        return self._pages(_LIST_REVIEW_PLAYBOOKS, {}, options, query={"scope": scope, "is_active": is_active, "q": q, "limit": limit, "cursor": cursor, "offset": offset})

    async def create_review_playbook(
        self,
        body: t.ReviewPlaybookCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ReviewPlaybookView:
        """Create a playbook (`POST /review-playbooks`)."""
        return await self._json(_CREATE_REVIEW_PLAYBOOK, {}, options, body=body)

    async def get_review_playbook(
        self,
        playbook_id: str,
        *,
        if_none_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.ReviewPlaybookView:
        """Read a playbook (`GET /review-playbooks/{playbook_id}`)."""
        return await self._json(_GET_REVIEW_PLAYBOOK, {"playbook_id": playbook_id}, options, headers={"If-None-Match": if_none_match})

    async def update_review_playbook(
        self,
        playbook_id: str,
        body: t.ReviewPlaybookUpdate | None = None,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.ReviewPlaybookView:
        """Change a playbook (`PATCH /review-playbooks/{playbook_id}`)."""
        return await self._json(_UPDATE_REVIEW_PLAYBOOK, {"playbook_id": playbook_id}, options, headers={"If-Match": if_match}, body=body)

    async def delete_review_playbook(
        self,
        playbook_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a playbook (`DELETE /review-playbooks/{playbook_id}`)."""
        await self._empty(_DELETE_REVIEW_PLAYBOOK, {"playbook_id": playbook_id}, options)

    async def clone_review_playbook(
        self,
        playbook_id: str,
        body: t.PlaybookClone,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ReviewPlaybookView:
        """Clone a playbook (`POST /review-playbooks/{playbook_id}/clone`)."""
        return await self._json(_CLONE_REVIEW_PLAYBOOK, {"playbook_id": playbook_id}, options, body=body)

    def list_review_playbook_revisions(
        self,
        playbook_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.ReviewPlaybookRevisionView, t.PageReviewPlaybookRevisionView]:
        """List the revisions of a playbook (`GET /review-playbooks/{playbook_id}/revisions`)."""
        return self._pages(_LIST_REVIEW_PLAYBOOK_REVISIONS, {"playbook_id": playbook_id}, options, query={"limit": limit, "cursor": cursor, "offset": offset})

    async def create_review_playbook_revision(
        self,
        playbook_id: str,
        body: t.ReviewPlaybookRevisionCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ReviewPlaybookRevisionView:
        """Add a revision to a playbook (`POST /review-playbooks/{playbook_id}/revisions`)."""
        return await self._json(_CREATE_REVIEW_PLAYBOOK_REVISION, {"playbook_id": playbook_id}, options, body=body)

    def list_evaluations(
        self,
        *,
        agent_id: str | None = None,
        status: Literal["queued", "running", "succeeded", "failed", "cancelled"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.EvaluationRunView, t.PageEvaluationRunView]:
        """List evaluations (`GET /evaluations`)."""
        return self._pages(_LIST_EVALUATIONS, {}, options, query={"agent_id": agent_id, "status": status, "limit": limit, "cursor": cursor, "offset": offset})

    async def create_evaluation(
        self,
        body: t.EvaluationCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.EvaluationRunDetailView:
        """Evaluate an agent (`POST /evaluations`)."""
        return await self._json(_CREATE_EVALUATION, {}, options, body=body)

    async def get_evaluation(
        self,
        evaluation_run_id: str,
        **options: Unpack[CallOptions],
    ) -> t.EvaluationRunDetailView:
        """Read an evaluation (`GET /evaluations/{evaluation_run_id}`)."""
        return await self._json(_GET_EVALUATION, {"evaluation_run_id": evaluation_run_id}, options)

    def list_feedback(
        self,
        *,
        agent_id: str | None = None,
        rating: Literal["up", "down"] | None = None,
        from_: str | None = None,
        to: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.FeedbackAggregateView, t.PageFeedbackAggregateView]:
        """Count votes (`GET /feedback`)."""
        return self._pages(_LIST_FEEDBACK, {}, options, query={"agent_id": agent_id, "rating": rating, "from": from_, "to": to, "limit": limit, "cursor": cursor, "offset": offset})

    async def put_run_feedback(
        self,
        run_id: str,
        body: t.FeedbackPut,
        **options: Unpack[CallOptions],
    ) -> t.FeedbackView:
        """Vote on a run (`PUT /runs/{run_id}/feedback`)."""
        return await self._json(_PUT_RUN_FEEDBACK, {"run_id": run_id}, options, body=body)

    async def withdraw_run_feedback(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Withdraw a vote (`DELETE /runs/{run_id}/feedback`)."""
        await self._empty(_WITHDRAW_RUN_FEEDBACK, {"run_id": run_id}, options)

    async def receive_hook_by_get(
        self,
        workspace_id: str,
        slug: str,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncContent:
        """Deliver by GET (`GET /hooks/{workspace_id}/{slug}`)."""
        return await self._content(_RECEIVE_HOOK_BY_GET, {"workspace_id": workspace_id, "slug": slug}, options, query=query, headers=headers)

    async def receive_hook(
        self,
        workspace_id: str,
        slug: str,
        content: bytes,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
        **options: Unpack[KeyedCallOptions],
    ) -> AsyncContent:
        """Deliver a webhook (`POST /hooks/{workspace_id}/{slug}`)."""
        return await self._content(_RECEIVE_HOOK, {"workspace_id": workspace_id, "slug": slug}, options, query=query, headers=headers, content=content)

    async def create_maintenance_run(
        self,
        kb_id: str,
        body: t.MaintenanceRunCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.MaintenanceRunView:
        """Maintain a knowledge base (`POST /knowledge-bases/{kb_id}/maintenance-runs`)."""
        return await self._json(_CREATE_MAINTENANCE_RUN, {"kb_id": kb_id}, options, body=body)

    def list_maintenance_runs(
        self,
        *,
        kb_id: str | None = None,
        kind: Literal["ingest", "reembed", "import", "export", "maintenance", "purge"] | None = None,
        status: Literal["queued", "running", "paused", "cancelling", "succeeded", "failed", "cancelled"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.MaintenanceRunView, t.PageMaintenanceRunView]:
        """List knowledge runs (`GET /knowledge-maintenance-runs`)."""
        return self._pages(_LIST_MAINTENANCE_RUNS, {}, options, query={"kb_id": kb_id, "kind": kind, "status": status, "limit": limit, "cursor": cursor, "offset": offset})

    async def get_maintenance_run(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> t.MaintenanceRunView:
        """Read a knowledge run (`GET /knowledge-maintenance-runs/{run_id}`)."""
        return await self._json(_GET_MAINTENANCE_RUN, {"run_id": run_id}, options)

    async def cancel_maintenance_run(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> t.MaintenanceRunView:
        """Cancel a knowledge run (`POST /knowledge-maintenance-runs/{run_id}/cancel`)."""
        return await self._json(_CANCEL_MAINTENANCE_RUN, {"run_id": run_id}, options)

    async def get_maintenance_policy(
        self,
        kb_id: str,
        *,
        if_none_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.MaintenancePolicyView:
        """Read a maintenance policy (`GET /knowledge-bases/{kb_id}/maintenance-policy`)."""
        return await self._json(_GET_MAINTENANCE_POLICY, {"kb_id": kb_id}, options, headers={"If-None-Match": if_none_match})

    async def put_maintenance_policy(
        self,
        kb_id: str,
        body: t.MaintenancePolicyPut,
        *,
        if_match: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.MaintenancePolicyView:
        """Set a maintenance policy (`PUT /knowledge-bases/{kb_id}/maintenance-policy`)."""
        return await self._json(_PUT_MAINTENANCE_POLICY, {"kb_id": kb_id}, options, headers={"If-Match": if_match}, body=body)

    def list_knowledge_findings(
        self,
        *,
        kb_id: str | None = None,
        kind: Literal["duplicate", "contradiction", "stale", "orphan", "low_evidence", "injection_suspect", "integrity"] | None = None,
        state: Literal["open", "resolved", "dismissed"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.KnowledgeFindingView, t.PageKnowledgeFindingView]:
        """List findings (`GET /knowledge-findings`)."""
        return self._pages(_LIST_KNOWLEDGE_FINDINGS, {}, options, query={"kb_id": kb_id, "kind": kind, "state": state, "limit": limit, "cursor": cursor, "offset": offset})

    async def resolve_knowledge_finding(
        self,
        finding_id: str,
        body: t.FindingResolve,
        **options: Unpack[CallOptions],
    ) -> t.KnowledgeFindingView:
        """Resolve a finding (`POST /knowledge-findings/{finding_id}/resolve`)."""
        return await self._json(_RESOLVE_KNOWLEDGE_FINDING, {"finding_id": finding_id}, options, body=body)

    async def purge_knowledge_base(
        self,
        kb_id: str,
        body: t.KnowledgePurge,
        **options: Unpack[KeyedCallOptions],
    ) -> t.MaintenanceRunView:
        """Purge a knowledge base (`POST /knowledge-bases/{kb_id}/purge`)."""
        return await self._json(_PURGE_KNOWLEDGE_BASE, {"kb_id": kb_id}, options, body=body)

    async def call_mcp(
        self,
        body: Any,
        **options: Unpack[CallOptions],
    ) -> AsyncContent:
        """Send an MCP message (`POST /mcp`)."""
        return await self._content(_CALL_MCP, {}, options, body=body)

    async def stream_mcp(
        self,
        **options: Unpack[CallOptions],
    ) -> AsyncContent:
        """Listen to the MCP server (`GET /mcp`)."""
        return await self._content(_STREAM_MCP, {}, options)

    async def end_mcp(
        self,
        **options: Unpack[CallOptions],
    ) -> None:
        """End an MCP session (`DELETE /mcp`)."""
        await self._empty(_END_MCP, {}, options)

    async def discover_mcp_server(
        self,
        body: t.McpDiscover,
        **options: Unpack[CallOptions],
    ) -> t.McpDiscoveryView:
        """Probe an MCP server (`POST /mcp/discover`)."""
        return await self._json(_DISCOVER_MCP_SERVER, {}, options, body=body)

    async def sync_mcp_toolkit(
        self,
        toolkit_id: str,
        body: t.McpSync | None = None,
        **options: Unpack[KeyedCallOptions],
    ) -> t.ToolkitRevisionView:
        """Sync an MCP toolkit (`POST /mcp/toolkits/{toolkit_id}/sync`)."""
        return await self._json(_SYNC_MCP_TOOLKIT, {"toolkit_id": toolkit_id}, options, body=body)

    async def get_mcp_toolkit_status(
        self,
        toolkit_id: str,
        **options: Unpack[CallOptions],
    ) -> t.McpToolkitStatusView:
        """Read the state of an MCP toolkit (`GET /mcp/toolkits/{toolkit_id}/status`)."""
        return await self._json(_GET_MCP_TOOLKIT_STATUS, {"toolkit_id": toolkit_id}, options)

    async def get_oauth_server_metadata(
        self,
        **options: Unpack[CallOptions],
    ) -> t.OauthServerMetadata:
        """Read the metadata of the authorization server (`GET /.well-known/oauth-authorization-server`)."""
        return await self._json(_GET_OAUTH_SERVER_METADATA, {}, options)

    async def get_oauth_resource_metadata(
        self,
        **options: Unpack[CallOptions],
    ) -> t.OauthResourceMetadata:
        """Read the metadata of the API as a protected resource (`GET /.well-known/oauth-protected-resource`)."""
        return await self._json(_GET_OAUTH_RESOURCE_METADATA, {}, options)

    async def get_oauth_resource_metadata_for(
        self,
        resource_path: str,
        **options: Unpack[CallOptions],
    ) -> t.OauthResourceMetadata:
        """Read the metadata of another protected resource (`GET /.well-known/oauth-protected-resource/{resource_path}`)."""
        return await self._json(_GET_OAUTH_RESOURCE_METADATA_FOR, {"resource_path": resource_path}, options)

    async def get_oauth_keys(
        self,
        **options: Unpack[CallOptions],
    ) -> t.JsonWebKeySet:
        """Read the public keys that sign tokens (`GET /oauth/jwks`)."""
        return await self._json(_GET_OAUTH_KEYS, {}, options)

    async def start_authorization(
        self,
        *,
        response_type: Literal["code"],
        client_id: str,
        redirect_uri: str,
        scope: str | None = None,
        state: str | None = None,
        code_challenge: str,
        code_challenge_method: Literal["S256"],
        resource: str | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncContent:
        """Ask a user for access (`GET /oauth/authorize`)."""
        return await self._content(_START_AUTHORIZATION, {}, options, query={"response_type": response_type, "client_id": client_id, "redirect_uri": redirect_uri, "scope": scope, "state": state, "code_challenge": code_challenge, "code_challenge_method": code_challenge_method, "resource": resource})

    async def decide_authorization(
        self,
        body: t.AuthorizationDecisionBody,
        **options: Unpack[CallOptions],
    ) -> t.AuthorizationDecisionView:
        """Decide on a request for access (`POST /oauth/authorize`)."""
        return await self._json(_DECIDE_AUTHORIZATION, {}, options, body=body)

    async def issue_oauth_token(
        self,
        body: t.OauthTokenForm,
        **options: Unpack[CallOptions],
    ) -> t.OauthTokenView:
        """Get tokens (`POST /oauth/token`)."""
        return await self._json(_ISSUE_OAUTH_TOKEN, {}, options, body=body)

    async def revoke_oauth_token(
        self,
        body: t.OauthTokenReference,
        **options: Unpack[CallOptions],
    ) -> None:
        """Revoke a token (`POST /oauth/revoke`)."""
        await self._empty(_REVOKE_OAUTH_TOKEN, {}, options, body=body)

    async def introspect_oauth_token(
        self,
        body: t.OauthTokenReference,
        **options: Unpack[CallOptions],
    ) -> t.OauthIntrospectionView:
        """Introspect a token (`POST /oauth/introspect`)."""
        return await self._json(_INTROSPECT_OAUTH_TOKEN, {}, options, body=body)

    async def register_oauth_client(
        self,
        body: t.ClientRegistrationRequest,
        **options: Unpack[CallOptions],
    ) -> t.OauthClientRegistrationView:
        """Register a client (`POST /oauth/register`)."""
        return await self._json(_REGISTER_OAUTH_CLIENT, {}, options, body=body)

    async def get_oauth_client_registration(
        self,
        client_id: str,
        registration_token: str,
        **options: Unpack[CallOptions],
    ) -> t.OauthClientRegistrationView:
        """Read a registration (`GET /oauth/register/{client_id}`)."""
        return await self._json(_GET_OAUTH_CLIENT_REGISTRATION, {"client_id": client_id}, options, bearer=registration_token)

    async def delete_oauth_client_registration(
        self,
        client_id: str,
        registration_token: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a registration (`DELETE /oauth/register/{client_id}`)."""
        await self._empty(_DELETE_OAUTH_CLIENT_REGISTRATION, {"client_id": client_id}, options, bearer=registration_token)

    async def get_liveness(
        self,
        **options: Unpack[CallOptions],
    ) -> t.HealthView:
        """Check liveness (`GET /health/live`)."""
        return await self._json(_GET_LIVENESS, {}, options)

    async def get_readiness(
        self,
        **options: Unpack[CallOptions],
    ) -> t.HealthView:
        """Check readiness (`GET /health/ready`)."""
        return await self._json(_GET_READINESS, {}, options)

    async def get_startup(
        self,
        **options: Unpack[CallOptions],
    ) -> t.HealthView:
        """Check startup (`GET /health/startup`)."""
        return await self._json(_GET_STARTUP, {}, options)

    async def get_metrics(
        self,
        **options: Unpack[CallOptions],
    ) -> AsyncContent:
        """Scrape the metrics (`GET /metrics`)."""
        return await self._content(_GET_METRICS, {}, options)

    async def get_version(
        self,
        **options: Unpack[CallOptions],
    ) -> t.VersionView:
        """Read the version (`GET /version`)."""
        return await self._json(_GET_VERSION, {}, options)

    async def get_openapi(
        self,
        **options: Unpack[CallOptions],
    ) -> dict[str, Any]:
        """Read the OpenAPI document (`GET /openapi.json`)."""
        return await self._json(_GET_OPENAPI, {}, options)

    async def get_redoc(
        self,
        **options: Unpack[CallOptions],
    ) -> str:
        """Browse the public reference (`GET /redoc`)."""
        return await self._text(_GET_REDOC, {}, options)

    async def get_llms_text(
        self,
        **options: Unpack[CallOptions],
    ) -> str:
        """Read the public reference as text (`GET /llms.txt`)."""
        return await self._text(_GET_LLMS_TEXT, {}, options)

    async def list_error_codes(
        self,
        **options: Unpack[CallOptions],
    ) -> t.ErrorCatalogueView:
        """List the error codes (`GET /error-codes`)."""
        return await self._json(_LIST_ERROR_CODES, {}, options)

    async def get_stream_protocol(
        self,
        **options: Unpack[CallOptions],
    ) -> t.StreamProtocolView:
        """Read the stream protocol (`GET /stream-protocol`)."""
        return await self._json(_GET_STREAM_PROTOCOL, {}, options)

    def list_deprecations(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.DeprecationView, t.PageDeprecationView]:
        """List deprecations (`GET /deprecations`)."""
        return self._pages(_LIST_DEPRECATIONS, {}, options, query={"limit": limit, "cursor": cursor, "offset": offset})

    async def get_capabilities(
        self,
        **options: Unpack[CallOptions],
    ) -> t.CapabilitiesView:
        """Read the capabilities (`GET /capabilities`)."""
        return await self._json(_GET_CAPABILITIES, {}, options)

    async def get_system_status(
        self,
        **options: Unpack[CallOptions],
    ) -> t.SystemStatusView:
        """Read the state of the deployment (`GET /system/status`)."""
        return await self._json(_GET_SYSTEM_STATUS, {}, options)

    async def suspend_organization(
        self,
        organization_id: str,
        body: t.OrganizationSuspend,
        **options: Unpack[CallOptions],
    ) -> t.OrganizationView:
        """Suspend an organization (`POST /organizations/{organization_id}/suspend`)."""
        return await self._json(_SUSPEND_ORGANIZATION, {"organization_id": organization_id}, options, body=body)

    async def resume_organization(
        self,
        organization_id: str,
        **options: Unpack[CallOptions],
    ) -> t.OrganizationView:
        """Resume an organization (`POST /organizations/{organization_id}/resume`)."""
        return await self._json(_RESUME_ORGANIZATION, {"organization_id": organization_id}, options)

    async def purge_organization(
        self,
        organization_id: str,
        body: t.OrganizationPurge,
        **options: Unpack[KeyedCallOptions],
    ) -> t.PurgeView:
        """Purge an organization (`POST /organizations/{organization_id}/purge`)."""
        return await self._json(_PURGE_ORGANIZATION, {"organization_id": organization_id}, options, body=body)

    async def start_impersonation(
        self,
        body: t.ImpersonationStart,
        **options: Unpack[CallOptions],
    ) -> t.ImpersonationTokenView:
        """Work as a user (`POST /impersonations`)."""
        return await self._json(_START_IMPERSONATION, {}, options, body=body)

    def list_impersonations(
        self,
        *,
        organization_id: str | None = None,
        operator_user_id: str | None = None,
        target_user_id: str | None = None,
        active: bool | None = None,
        from_: str | None = None,
        to: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.ImpersonationView, t.PageImpersonationView]:
        """List impersonations (`GET /impersonations`)."""
        return self._pages(_LIST_IMPERSONATIONS, {}, options, query={"organization_id": organization_id, "operator_user_id": operator_user_id, "target_user_id": target_user_id, "active": active, "from": from_, "to": to, "limit": limit, "cursor": cursor, "offset": offset})

    async def end_impersonation(
        self,
        impersonation_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """End an impersonation (`DELETE /impersonations/{impersonation_id}`)."""
        await self._empty(_END_IMPERSONATION, {"impersonation_id": impersonation_id}, options)

    async def create_model_price(
        self,
        body: t.PriceCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.PriceView:
        """Set a price (`POST /model-prices`)."""
        return await self._json(_CREATE_MODEL_PRICE, {}, options, body=body)

    async def import_model_prices(
        self,
        body: t.PriceImport,
        **options: Unpack[KeyedCallOptions],
    ) -> t.PriceImportView:
        """Import prices (`POST /model-prices/import`)."""
        return await self._json(_IMPORT_MODEL_PRICES, {}, options, body=body)

    async def delete_model_price(
        self,
        price_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a future price (`DELETE /model-prices/{price_id}`)."""
        await self._empty(_DELETE_MODEL_PRICE, {"price_id": price_id}, options)

    def list_oauth_clients(
        self,
        *,
        q: str | None = None,
        kind: Literal["preregistered", "registered", "document"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[t.OauthClientView, t.PageOauthClientView]:
        """List OAuth clients (`GET /oauth-clients`)."""
        return self._pages(_LIST_OAUTH_CLIENTS, {}, options, query={"q": q, "kind": kind, "limit": limit, "cursor": cursor, "offset": offset})

    async def create_oauth_client(
        self,
        body: t.OauthClientCreate,
        **options: Unpack[KeyedCallOptions],
    ) -> t.OauthClientSecretView:
        """Pre-register an OAuth client (`POST /oauth-clients`)."""
        return await self._json(_CREATE_OAUTH_CLIENT, {}, options, body=body)

    async def rotate_oauth_client_secret(
        self,
        client_id: str,
        **options: Unpack[CallOptions],
    ) -> t.OauthClientSecretView:
        """Rotate the secret of an OAuth client (`POST /oauth-clients/{client_id}/rotate-secret`)."""
        return await self._json(_ROTATE_OAUTH_CLIENT_SECRET, {"client_id": client_id}, options)

    async def delete_oauth_client(
        self,
        client_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete an OAuth client (`DELETE /oauth-clients/{client_id}`)."""
        await self._empty(_DELETE_OAUTH_CLIENT, {"client_id": client_id}, options)
