// Made from the served document by clients/generate. Do not edit.

import type { CallOptions, Pages, WithIfMatch } from '../options.ts';
import type { RunStream, StreamOptions } from '../run-stream.ts';
import type { Upload } from '../upload.ts';
import type { components } from './types.ts';

type Schemas = components['schemas'];

/** One call per operation of the contract, named by its id. */
export interface Calls {
  /** List runs: `GET /runs` */
  listRuns(
    args?: {
      workspace_id?: string;
      agent_id?: string;
      status?: 'queued' | 'running' | 'waiting' | 'cancelling' | 'succeeded' | 'failed' | 'cancelled';
      waiting_on?: 'approval' | 'input' | 'client_tool' | 'auth' | 'budget' | 'timer';
      session_key?: string;
      subject_id?: string;
      trigger_id?: string;
      parent_run_id?: string;
      evaluation_run_id?: string;
      binding_id?: string;
      from?: string;
      to?: string;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_RunView_']>;
  /** Start a run: `POST /runs` */
  createRun(args?: Schemas['RunCreate'], options?: CallOptions): Promise<Schemas['RunView']>;
  /** Read a run: `GET /runs/{run_id}` */
  getRun(args: { run_id: string }, options?: CallOptions): Promise<Schemas['RunView']>;
  /** Purge a run: `DELETE /runs/{run_id}` */
  purgeRun(args: { run_id: string }, options?: CallOptions): Promise<void>;
  /** Cancel a run: `POST /runs/{run_id}/cancel` */
  cancelRun(args: { run_id: string } & Schemas['RunCancel'], options?: CallOptions): Promise<Schemas['RunView']>;
  /** Add input to a run: `POST /runs/{run_id}/input` */
  addRunInput(args: { run_id: string } & Schemas['RunInputAdd'], options?: CallOptions): Promise<Schemas['RunView']>;
  /** List the approvals of a run: `GET /runs/{run_id}/approvals` */
  listRunApprovals(
    args: {
      run_id: string;
      status?: 'pending' | 'approved' | 'rejected' | 'edited' | 'responded' | 'expired' | 'cancelled';
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_ApprovalView_']>;
  /** Answer approvals of a run: `POST /runs/{run_id}/approvals` */
  resolveRunApprovals(
    args: { run_id: string } & Schemas['RunApprovalsResolve'],
    options?: CallOptions,
  ): Promise<Schemas['ApprovalResolutionView']>;
  /** Wait for a run: `GET /runs/{run_id}/wait` */
  waitForRun(args: { run_id: string; timeout_s?: number }, options?: CallOptions): Promise<Schemas['RunView']>;
  /** List the messages of a run: `GET /runs/{run_id}/messages` */
  listRunMessages(
    args: {
      run_id: string;
      scope?: 'run' | 'conversation';
      include_discarded?: boolean;
      message_id?: string;
      tool_call_id?: string;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_MessageView_']>;
  /** List the steps of a run: `GET /runs/{run_id}/steps` */
  listRunSteps(
    args: {
      run_id: string;
      kind?: 'model' | 'tool' | 'sub_agent' | 'system';
      tool_call_id?: string;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_RunStepView_']>;
  /** Start many runs: `POST /runs/batch` */
  createRunBatch(args: Schemas['RunBatchCreate'], options?: CallOptions): Promise<Schemas['RunBatchView']>;
  /** Cancel many runs: `POST /runs/cancel` */
  cancelRuns(args?: Schemas['RunBulkCancel'], options?: CallOptions): Promise<Schemas['RunBulkCancelView']>;
  /** Retry or fork a run: `POST /runs/{run_id}/retry` */
  retryRun(args: { run_id: string } & Schemas['RunRetry'], options?: CallOptions): Promise<Schemas['RunView']>;
  /** Watch a run: `GET /runs/{run_id}/stream` */
  streamRun(args: { run_id: string; after_seq?: number; replay?: boolean }, options?: StreamOptions): RunStream;
  /** Create a stream token: `POST /runs/{run_id}/stream-token` */
  createStreamToken(args: { run_id: string }, options?: CallOptions): Promise<Schemas['StreamTokenView']>;
  /** List your sessions: `GET /sessions` */
  listSessions(
    args?: { kind?: 'login' | 'oauth'; include_revoked?: boolean; limit?: number; cursor?: string; offset?: number },
    options?: CallOptions,
  ): Pages<Schemas['Page_SessionView_']>;
  /** Read the current session: `GET /sessions/current` */
  getCurrentSession(args?: Record<string, never>, options?: CallOptions): Promise<Schemas['SessionView']>;
  /** Read one of your sessions: `GET /sessions/{session_id}` */
  getSession(args: { session_id: string }, options?: CallOptions): Promise<Schemas['SessionView']>;
  /** Sign a device out: `DELETE /sessions/{session_id}` */
  revokeSession(args: { session_id: string }, options?: CallOptions): Promise<void>;
  /** Sign every other device out: `POST /sessions/revoke-others` */
  revokeOtherSessions(args?: Record<string, never>, options?: CallOptions): Promise<Schemas['SessionRevocationView']>;
  /** Sign a user out everywhere: `POST /users/{user_id}/sessions/revoke-all` */
  revokeUserSessions(args: { user_id: string }, options?: CallOptions): Promise<Schemas['SessionRevocationView']>;
  /** List agents: `GET /agents` */
  listAgents(
    args?: {
      q?: string;
      scope?: 'workspace' | 'organization' | 'platform';
      is_active?: boolean;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_AgentView_']>;
  /** Create an agent: `POST /agents` */
  createAgent(args: Schemas['AgentCreate'], options?: CallOptions): Promise<Schemas['AgentView']>;
  /** Read an agent: `GET /agents/{agent_id}` */
  getAgent(args: { agent_id: string }, options?: CallOptions): Promise<Schemas['AgentView']>;
  /** Change an agent: `PATCH /agents/{agent_id}` */
  updateAgent(args: { agent_id: string } & Schemas['AgentUpdate'], options?: CallOptions): Promise<Schemas['AgentView']>;
  /** Delete an agent: `DELETE /agents/{agent_id}` */
  deleteAgent(args: { agent_id: string; force?: boolean }, options?: CallOptions): Promise<void>;
  /** List agents that an agent can call: `GET /agents/{agent_id}/available-sub-agents` */
  listAvailableSubAgents(args: { agent_id: string; q?: string }, options?: CallOptions): Promise<Schemas['Page_AgentSummary_']>;
  /** Import an agent: `POST /agents/import` */
  importAgent(args: Schemas['AgentImport'], options?: CallOptions): Promise<Schemas['AgentView']>;
  /** Export an agent: `GET /agents/{agent_id}/export` */
  exportAgent(args: { agent_id: string; revision_id?: string }, options?: CallOptions): Promise<Schemas['AgentExportView']>;
  /** Clone an agent: `POST /agents/{agent_id}/clone` */
  cloneAgent(args: { agent_id: string } & Schemas['AgentClone'], options?: CallOptions): Promise<Schemas['AgentView']>;
  /** List the revisions of an agent: `GET /agents/{agent_id}/revisions` */
  listAgentRevisions(
    args: { agent_id: string; limit?: number; cursor?: string; offset?: number },
    options?: CallOptions,
  ): Pages<Schemas['Page_AgentRevisionView_']>;
  /** Add a revision to an agent: `POST /agents/{agent_id}/revisions` */
  createAgentRevision(
    args: { agent_id: string } & Schemas['AgentRevisionCreate'],
    options?: CallOptions,
  ): Promise<Schemas['AgentRevisionView']>;
  /** Read a revision: `GET /agents/{agent_id}/revisions/{revision_id}` */
  getAgentRevision(args: { agent_id: string; revision_id: string }, options?: CallOptions): Promise<Schemas['AgentRevisionView']>;
  /** Activate a revision: `POST /agents/{agent_id}/revisions/{revision_id}/activate` */
  activateAgentRevision(args: { agent_id: string; revision_id: string }, options: WithIfMatch): Promise<Schemas['AgentView']>;
  /** Compare two revisions: `GET /agents/{agent_id}/revisions/{revision_id}/diff` */
  diffAgentRevisions(
    args: { agent_id: string; revision_id: string; against?: string },
    options?: CallOptions,
  ): Promise<Schemas['RevisionDiffView']>;
  /** Validate a revision without storing it: `POST /agents/{agent_id}/validate` */
  validateAgentRevision(
    args: { agent_id: string } & Schemas['RevisionValidate'],
    options?: CallOptions,
  ): Promise<Schemas['RevisionValidationView']>;
  /** Read what a run would use: `GET /agents/{agent_id}/effective` */
  getEffectiveAgent(
    args: { agent_id: string; revision_id?: string; persona_slug?: string },
    options?: CallOptions,
  ): Promise<Schemas['EffectiveAgentView']>;
  /** List the personas of an agent: `GET /agents/{agent_id}/personas` */
  listPersonas(
    args: { agent_id: string; limit?: number; cursor?: string; offset?: number },
    options?: CallOptions,
  ): Pages<Schemas['Page_PersonaView_']>;
  /** Add a persona to an agent: `POST /agents/{agent_id}/personas` */
  createPersona(args: { agent_id: string } & Schemas['PersonaCreate'], options?: CallOptions): Promise<Schemas['PersonaView']>;
  /** Change a persona: `PATCH /agents/{agent_id}/personas/{persona_id}` */
  updatePersona(
    args: { agent_id: string; persona_id: string } & Schemas['PersonaUpdate'],
    options?: CallOptions,
  ): Promise<Schemas['PersonaView']>;
  /** Delete a persona: `DELETE /agents/{agent_id}/personas/{persona_id}` */
  deletePersona(args: { agent_id: string; persona_id: string }, options?: CallOptions): Promise<void>;
  /** List skills: `GET /skills` */
  listSkills(
    args?: {
      q?: string;
      curation_state?: 'pending' | 'reviewed' | 'promoted' | 'superseded' | 'retired';
      origin?: 'human' | 'agent' | 'import' | 'derived';
      owner_agent_id?: string;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_SkillView_']>;
  /** Create a skill: `POST /skills` */
  createSkill(args: Schemas['SkillCreate'], options?: CallOptions): Promise<Schemas['SkillView']>;
  /** Import a skill: `POST /skills/import` */
  importSkill(args?: Schemas['SkillImport'], options?: CallOptions): Promise<Schemas['SkillView']>;
  /** Read a skill: `GET /skills/{skill_id}` */
  getSkill(args: { skill_id: string }, options?: CallOptions): Promise<Schemas['SkillView']>;
  /** Change a skill: `PATCH /skills/{skill_id}` */
  updateSkill(args: { skill_id: string } & Schemas['SkillUpdate'], options?: CallOptions): Promise<Schemas['SkillView']>;
  /** Delete a skill: `DELETE /skills/{skill_id}` */
  deleteSkill(args: { skill_id: string }, options?: CallOptions): Promise<void>;
  /** Curate a skill: `POST /skills/{skill_id}/curate` */
  curateSkill(args: { skill_id: string } & Schemas['SkillCurate'], options?: CallOptions): Promise<Schemas['SkillView']>;
  /** List the versions of a skill: `GET /skills/{skill_id}/versions` */
  listSkillVersions(
    args: { skill_id: string; limit?: number; cursor?: string; offset?: number },
    options?: CallOptions,
  ): Pages<Schemas['Page_SkillVersionView_']>;
  /** List tools: `GET /tools` */
  listTools(
    args?: {
      q?: string;
      kind?: 'http' | 'remote_protocol' | 'builtin' | 'code_exec' | 'web_search' | 'web_fetch' | 'delegate' | 'schedule';
      effect?: 'read' | 'write';
      critical?: boolean;
      toolkit_id?: string;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_ToolView_']>;
  /** Create a tool: `POST /tools` */
  createTool(args: Schemas['ToolCreate'], options?: CallOptions): Promise<Schemas['ToolView']>;
  /** Read a tool: `GET /tools/{tool_id}` */
  getTool(args: { tool_id: string }, options?: CallOptions): Promise<Schemas['ToolView']>;
  /** Change a tool: `PATCH /tools/{tool_id}` */
  updateTool(args: { tool_id: string } & Schemas['ToolUpdate'], options?: CallOptions): Promise<Schemas['ToolView']>;
  /** Delete a tool: `DELETE /tools/{tool_id}` */
  deleteTool(args: { tool_id: string; force?: boolean }, options?: CallOptions): Promise<void>;
  /** Test a tool: `POST /tools/{tool_id}/test` */
  testTool(args: { tool_id: string } & Schemas['ToolTest'], options?: CallOptions): Promise<Schemas['ToolTestView']>;
  /** Set secrets of a tool: `PUT /tools/{tool_id}/secrets` */
  setToolSecrets(args: { tool_id: string } & Schemas['ToolSecretsPut'], options?: CallOptions): Promise<Schemas['ToolView']>;
  /** Delete a secret of a tool: `DELETE /tools/{tool_id}/secrets/{name}` */
  deleteToolSecret(args: { tool_id: string; name: string }, options?: CallOptions): Promise<void>;
  /** List toolkits: `GET /toolkits` */
  listToolkits(args?: { limit?: number; cursor?: string; offset?: number }, options?: CallOptions): Pages<Schemas['Page_ToolkitView_']>;
  /** Create a toolkit: `POST /toolkits` */
  createToolkit(args: Schemas['ToolkitCreate'], options?: CallOptions): Promise<Schemas['ToolkitView']>;
  /** Read a toolkit: `GET /toolkits/{toolkit_id}` */
  getToolkit(args: { toolkit_id: string }, options?: CallOptions): Promise<Schemas['ToolkitView']>;
  /** Change a toolkit: `PATCH /toolkits/{toolkit_id}` */
  updateToolkit(args: { toolkit_id: string } & Schemas['ToolkitUpdate'], options?: CallOptions): Promise<Schemas['ToolkitView']>;
  /** Delete a toolkit: `DELETE /toolkits/{toolkit_id}` */
  deleteToolkit(args: { toolkit_id: string }, options?: CallOptions): Promise<void>;
  /** List the revisions of a toolkit: `GET /toolkits/{toolkit_id}/revisions` */
  listToolkitRevisions(
    args: { toolkit_id: string; limit?: number; cursor?: string; offset?: number },
    options?: CallOptions,
  ): Pages<Schemas['Page_ToolkitRevisionView_']>;
  /** Add a revision to a toolkit: `POST /toolkits/{toolkit_id}/revisions` */
  createToolkitRevision(
    args: { toolkit_id: string } & Schemas['ToolkitRevisionCreate'],
    options?: CallOptions,
  ): Promise<Schemas['ToolkitRevisionView']>;
  /** Activate a revision of a toolkit: `POST /toolkits/{toolkit_id}/revisions/{revision_id}/activate` */
  activateToolkitRevision(
    args: { toolkit_id: string; revision_id: string } & Schemas['ToolkitRevisionActivate'],
    options?: CallOptions,
  ): Promise<Schemas['ToolkitView']>;
  /** List knowledge bases: `GET /knowledge-bases` */
  listKnowledgeBases(
    args?: {
      scope?: 'workspace' | 'organization' | 'platform';
      kind?: 'documents' | 'memory' | 'faq' | 'playbook' | 'code';
      owner_agent_id?: string;
      owner_persona_id?: string;
      subject_kind?: 'user' | 'guest';
      subject_id?: string;
      is_private?: boolean;
      is_frozen?: boolean;
      q?: string;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_KnowledgeBaseView_']>;
  /** Create a knowledge base: `POST /knowledge-bases` */
  createKnowledgeBase(args: Schemas['KnowledgeBaseCreate'], options?: CallOptions): Promise<Schemas['KnowledgeBaseView']>;
  /** Read a knowledge base: `GET /knowledge-bases/{kb_id}` */
  getKnowledgeBase(args: { kb_id: string }, options?: CallOptions): Promise<Schemas['KnowledgeBaseView']>;
  /** Change a knowledge base: `PATCH /knowledge-bases/{kb_id}` */
  updateKnowledgeBase(
    args: { kb_id: string } & Schemas['KnowledgeBaseUpdate'],
    options?: CallOptions,
  ): Promise<Schemas['KnowledgeBaseView']>;
  /** Delete a knowledge base: `DELETE /knowledge-bases/{kb_id}` */
  deleteKnowledgeBase(args: { kb_id: string }, options?: CallOptions): Promise<void>;
  /** Read the contents of a knowledge base: `GET /knowledge-bases/{kb_id}/stats` */
  getKnowledgeBaseStats(args: { kb_id: string }, options?: CallOptions): Promise<Schemas['KnowledgeBaseStatsView']>;
  /** Re-embed a knowledge base: `POST /knowledge-bases/{kb_id}/reembed` */
  reembedKnowledgeBase(args: { kb_id: string } & Schemas['Reembed'], options?: CallOptions): Promise<Schemas['KnowledgeBaseView']>;
  /** List the grants of a knowledge base: `GET /knowledge-bases/{kb_id}/grants` */
  listKnowledgeGrants(
    args: { kb_id: string; limit?: number; cursor?: string; offset?: number },
    options?: CallOptions,
  ): Pages<Schemas['Page_KnowledgeGrantView_']>;
  /** Grant access to a knowledge base: `POST /knowledge-bases/{kb_id}/grants` */
  createKnowledgeGrant(
    args: { kb_id: string } & Schemas['KnowledgeGrantCreate'],
    options?: CallOptions,
  ): Promise<Schemas['KnowledgeGrantView']>;
  /** Change a grant: `PATCH /knowledge-grants/{grant_id}` */
  updateKnowledgeGrant(
    args: { grant_id: string } & Schemas['KnowledgeGrantUpdate'],
    options?: CallOptions,
  ): Promise<Schemas['KnowledgeGrantView']>;
  /** Revoke a grant: `DELETE /knowledge-grants/{grant_id}` */
  deleteKnowledgeGrant(args: { grant_id: string }, options?: CallOptions): Promise<void>;
  /** List sources: `GET /knowledge-bases/{kb_id}/sources` */
  listKnowledgeSources(
    args: {
      kb_id: string;
      state?: 'queued' | 'fetching' | 'parsing' | 'indexing' | 'ready' | 'failed';
      kind?: 'attachment' | 'url' | 'text';
      q?: string;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_KnowledgeSourceView_']>;
  /** Add a source: `POST /knowledge-bases/{kb_id}/sources` */
  createKnowledgeSource(
    args: { kb_id: string } & Schemas['KnowledgeSourceCreate'],
    options?: CallOptions,
  ): Promise<Schemas['KnowledgeSourceView']>;
  /** Read a source: `GET /knowledge-sources/{source_id}` */
  getKnowledgeSource(args: { source_id: string }, options?: CallOptions): Promise<Schemas['KnowledgeSourceView']>;
  /** Delete a source: `DELETE /knowledge-sources/{source_id}` */
  deleteKnowledgeSource(args: { source_id: string; keep_items?: boolean }, options?: CallOptions): Promise<void>;
  /** Sync a source: `POST /knowledge-sources/{source_id}/sync` */
  syncKnowledgeSource(args: { source_id: string }, options?: CallOptions): Promise<Schemas['KnowledgeSourceView']>;
  /** List items: `GET /knowledge-bases/{kb_id}/items` */
  listKnowledgeItems(
    args: {
      kb_id: string;
      curation_state?: 'pending' | 'reviewed' | 'promoted' | 'superseded' | 'retired';
      kind?: 'document' | 'fact' | 'preference' | 'procedure' | 'event' | 'qa' | 'summary';
      origin?: 'human' | 'agent' | 'import' | 'derived';
      tag?: string;
      source_id?: string;
      q?: string;
      valid_at?: string;
      include_deleted?: boolean;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_KnowledgeItemView_']>;
  /** Create an item: `POST /knowledge-bases/{kb_id}/items` */
  createKnowledgeItem(
    args: { kb_id: string } & Schemas['KnowledgeItemCreate'],
    options?: CallOptions,
  ): Promise<Schemas['KnowledgeItemView']>;
  /** Read an item: `GET /knowledge-items/{item_id}` */
  getKnowledgeItem(args: { item_id: string }, options?: CallOptions): Promise<Schemas['KnowledgeItemView']>;
  /** Change an item: `PATCH /knowledge-items/{item_id}` */
  updateKnowledgeItem(
    args: { item_id: string } & Schemas['KnowledgeItemUpdate'],
    options?: CallOptions,
  ): Promise<Schemas['KnowledgeItemView']>;
  /** Delete an item: `DELETE /knowledge-items/{item_id}` */
  deleteKnowledgeItem(args: { item_id: string }, options?: CallOptions): Promise<void>;
  /** Restore an item: `POST /knowledge-items/{item_id}/restore` */
  restoreKnowledgeItem(args: { item_id: string }, options?: CallOptions): Promise<Schemas['KnowledgeItemView']>;
  /** List the versions of an item: `GET /knowledge-items/{item_id}/versions` */
  listKnowledgeItemVersions(
    args: { item_id: string; limit?: number; cursor?: string; offset?: number },
    options?: CallOptions,
  ): Pages<Schemas['Page_KnowledgeItemVersionView_']>;
  /** List the chunks of an item: `GET /knowledge-items/{item_id}/chunks` */
  listKnowledgeItemChunks(
    args: { item_id: string; limit?: number; cursor?: string; offset?: number },
    options?: CallOptions,
  ): Pages<Schemas['Page_KnowledgeChunkView_']>;
  /** Create many items: `POST /knowledge-bases/{kb_id}/items/batch` */
  createKnowledgeItems(
    args: { kb_id: string } & Schemas['KnowledgeItemsCreate'],
    options?: CallOptions,
  ): Promise<Schemas['KnowledgeItemBatchView']>;
  /** Curate many items: `POST /knowledge-bases/{kb_id}/items/curate` */
  curateKnowledgeItems(
    args: { kb_id: string } & Schemas['KnowledgeItemsCurate'],
    options?: CallOptions,
  ): Promise<Schemas['KnowledgeCurationView']>;
  /** Curate an item: `POST /knowledge-items/{item_id}/curate` */
  curateKnowledgeItem(
    args: { item_id: string } & Schemas['KnowledgeItemCurate'],
    options?: CallOptions,
  ): Promise<Schemas['KnowledgeItemView']>;
  /** List relations: `GET /knowledge-items/{item_id}/relations` */
  listKnowledgeRelations(
    args: {
      item_id: string;
      direction?: 'in' | 'out' | 'both';
      type?: 'related' | 'part_of' | 'derived_from' | 'supersedes' | 'contradicts' | 'duplicate_of' | 'supports';
      depth?: number;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_KnowledgeRelationView_']>;
  /** Create a relation: `POST /knowledge-items/{item_id}/relations` */
  createKnowledgeRelation(
    args: { item_id: string } & Schemas['KnowledgeRelationCreate'],
    options?: CallOptions,
  ): Promise<Schemas['KnowledgeRelationView']>;
  /** Delete a relation: `DELETE /knowledge-relations/{relation_id}` */
  deleteKnowledgeRelation(args: { relation_id: string }, options?: CallOptions): Promise<void>;
  /** Search a knowledge base: `POST /knowledge-bases/{kb_id}/search` */
  searchKnowledgeBase(args: { kb_id: string } & Schemas['KnowledgeSearch'], options?: CallOptions): Promise<Schemas['KnowledgeSearchView']>;
  /** Search several knowledge bases: `POST /knowledge/search` */
  searchKnowledge(args: Schemas['KnowledgeSearchAcross'], options?: CallOptions): Promise<Schemas['KnowledgeSearchView']>;
  /** Export a knowledge base: `POST /knowledge-bases/{kb_id}/export` */
  exportKnowledgeBase(args: { kb_id: string } & Schemas['KnowledgeExport'], options?: CallOptions): Promise<Schemas['MaintenanceRunView']>;
  /** Import a bundle into a knowledge base: `POST /knowledge-bases/{kb_id}/import` */
  importKnowledgeBase(args: { kb_id: string } & Schemas['KnowledgeImport'], options?: CallOptions): Promise<Schemas['MaintenanceRunView']>;
  /** List webhook endpoints: `GET /webhook-endpoints` */
  listWebhookEndpoints(
    args?: { agent_id?: string; is_active?: boolean; q?: string; limit?: number; cursor?: string; offset?: number },
    options?: CallOptions,
  ): Pages<Schemas['Page_WebhookEndpointView_']>;
  /** Create a webhook endpoint: `POST /webhook-endpoints` */
  createWebhookEndpoint(args: Schemas['WebhookEndpointCreate'], options?: CallOptions): Promise<Schemas['WebhookEndpointSecretView']>;
  /** Read a webhook endpoint: `GET /webhook-endpoints/{endpoint_id}` */
  getWebhookEndpoint(args: { endpoint_id: string }, options?: CallOptions): Promise<Schemas['WebhookEndpointView']>;
  /** Change a webhook endpoint: `PATCH /webhook-endpoints/{endpoint_id}` */
  updateWebhookEndpoint(
    args: { endpoint_id: string } & Schemas['WebhookEndpointUpdate'],
    options?: CallOptions,
  ): Promise<Schemas['WebhookEndpointView']>;
  /** Delete a webhook endpoint: `DELETE /webhook-endpoints/{endpoint_id}` */
  deleteWebhookEndpoint(args: { endpoint_id: string }, options?: CallOptions): Promise<void>;
  /** Rotate the secret of an endpoint: `POST /webhook-endpoints/{endpoint_id}/rotate-secret` */
  rotateWebhookEndpointSecret(
    args: { endpoint_id: string } & Schemas['WebhookSecretRotate'],
    options?: CallOptions,
  ): Promise<Schemas['WebhookEndpointSecretView']>;
  /** Test a webhook endpoint: `POST /webhook-endpoints/{endpoint_id}/test` */
  testWebhookEndpoint(args: { endpoint_id: string } & Schemas['WebhookTest'], options?: CallOptions): Promise<Schemas['WebhookTestView']>;
  /** List the deliveries of an endpoint: `GET /webhook-endpoints/{endpoint_id}/deliveries` */
  listWebhookDeliveries(
    args: {
      endpoint_id: string;
      status?: 'started' | 'published' | 'coalescing' | 'merged' | 'dropped' | 'rejected' | 'failed';
      from?: string;
      to?: string;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_WebhookDeliveryView_']>;
  /** Replay a delivery: `POST /webhook-endpoints/{endpoint_id}/deliveries/{delivery_id}/replay` */
  replayWebhookDelivery(args: { endpoint_id: string; delivery_id: string }, options?: CallOptions): Promise<Schemas['WebhookDeliveryView']>;
  /** List schedules: `GET /schedules` */
  listSchedules(
    args?: { agent_id?: string; is_active?: boolean; q?: string; limit?: number; cursor?: string; offset?: number },
    options?: CallOptions,
  ): Pages<Schemas['Page_ScheduleView_']>;
  /** Create a schedule: `POST /schedules` */
  createSchedule(args: Schemas['ScheduleCreate'], options?: CallOptions): Promise<Schemas['ScheduleView']>;
  /** Read a schedule: `GET /schedules/{schedule_id}` */
  getSchedule(args: { schedule_id: string }, options?: CallOptions): Promise<Schemas['ScheduleView']>;
  /** Change a schedule: `PATCH /schedules/{schedule_id}` */
  updateSchedule(args: { schedule_id: string } & Schemas['ScheduleUpdate'], options?: CallOptions): Promise<Schemas['ScheduleView']>;
  /** Delete a schedule: `DELETE /schedules/{schedule_id}` */
  deleteSchedule(args: { schedule_id: string }, options?: CallOptions): Promise<void>;
  /** Fire a schedule now: `POST /schedules/{schedule_id}/trigger` */
  triggerSchedule(
    args: { schedule_id: string } & Schemas['ScheduleTrigger'],
    options?: CallOptions,
  ): Promise<Schemas['ScheduleOccurrenceView']>;
  /** Start runs for past times: `POST /schedules/{schedule_id}/backfill` */
  backfillSchedule(
    args: { schedule_id: string } & Schemas['ScheduleBackfill'],
    options?: CallOptions,
  ): Promise<Schemas['ScheduleBackfillView']>;
  /** List the occurrences of a schedule: `GET /schedules/{schedule_id}/occurrences` */
  listScheduleOccurrences(
    args: {
      schedule_id: string;
      status?: 'upcoming' | 'started' | 'buffered' | 'skipped_overlap' | 'skipped_dst' | 'missed' | 'failed' | 'cancelled' | 'succeeded';
      kind?: 'regular' | 'manual' | 'backfill';
      from?: string;
      to?: string;
      upcoming?: number;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_ScheduleOccurrenceView_']>;
  /** Preview the times of a schedule: `POST /schedules/preview` */
  previewSchedule(args?: Schemas['SchedulePreview'], options?: CallOptions): Promise<Schemas['SchedulePreviewView']>;
  /** List event triggers: `GET /event-triggers` */
  listEventTriggers(
    args?: { agent_id?: string; is_active?: boolean; limit?: number; cursor?: string; offset?: number },
    options?: CallOptions,
  ): Pages<Schemas['Page_EventTriggerView_']>;
  /** Create an event trigger: `POST /event-triggers` */
  createEventTrigger(args: Schemas['EventTriggerCreate'], options?: CallOptions): Promise<Schemas['EventTriggerView']>;
  /** Read an event trigger: `GET /event-triggers/{trigger_id}` */
  getEventTrigger(args: { trigger_id: string }, options?: CallOptions): Promise<Schemas['EventTriggerView']>;
  /** Change an event trigger: `PATCH /event-triggers/{trigger_id}` */
  updateEventTrigger(
    args: { trigger_id: string } & Schemas['EventTriggerUpdate'],
    options?: CallOptions,
  ): Promise<Schemas['EventTriggerView']>;
  /** Delete an event trigger: `DELETE /event-triggers/{trigger_id}` */
  deleteEventTrigger(args: { trigger_id: string }, options?: CallOptions): Promise<void>;
  /** Publish an event: `POST /events` */
  publishEvent(args: Schemas['EventPublish'], options?: CallOptions): Promise<Schemas['EventView']>;
  /** List events: `GET /events` */
  listEvents(
    args?: { event_kind?: string; from?: string; to?: string; limit?: number; cursor?: string; offset?: number },
    options?: CallOptions,
  ): Pages<Schemas['Page_EventView_']>;
  /** List channels: `GET /channels` */
  listChannels(
    args?: {
      kind?: 'slack' | 'telegram' | 'discord' | 'email' | 'webhook';
      agent_id?: string;
      is_active?: boolean;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_ChannelView_']>;
  /** Create a channel: `POST /channels` */
  createChannel(args: Schemas['ChannelCreate'], options?: CallOptions): Promise<Schemas['ChannelView']>;
  /** Read a channel: `GET /channels/{channel_id}` */
  getChannel(args: { channel_id: string }, options?: CallOptions): Promise<Schemas['ChannelView']>;
  /** Change a channel: `PATCH /channels/{channel_id}` */
  updateChannel(args: { channel_id: string } & Schemas['ChannelUpdate'], options?: CallOptions): Promise<Schemas['ChannelView']>;
  /** Delete a channel: `DELETE /channels/{channel_id}` */
  deleteChannel(args: { channel_id: string }, options?: CallOptions): Promise<void>;
  /** Test a channel: `POST /channels/{channel_id}/test` */
  testChannel(args: { channel_id: string } & Schemas['ChannelTest'], options?: CallOptions): Promise<Schemas['ChannelTestView']>;
  /** Deliver a message: `POST /channels/{channel_id}/inbound` */
  receiveChannelMessage(args: { channel_id: string; body: unknown }, options?: CallOptions): Promise<Schemas['ChannelAckView']>;
  /** Sign in: `POST /auth/login` */
  login(args: Schemas['LoginBody'], options?: CallOptions): Promise<Schemas['LoginView']>;
  /** Refresh the tokens of a session: `POST /auth/refresh` */
  refreshTokens(args: Schemas['RefreshBody'], options?: CallOptions): Promise<Schemas['TokenView']>;
  /** Sign out: `POST /auth/logout` */
  logout(args?: Record<string, never>, options?: CallOptions): Promise<void>;
  /** Answer a challenge, or step up: `POST /auth/mfa/verify` */
  verifyMfa(args: Schemas['MfaVerifyBody'], options?: CallOptions): Promise<Schemas['TokenView']>;
  /** Start enrolling a second factor: `POST /auth/mfa/totp` */
  enrolTotp(args?: Record<string, never>, options?: CallOptions): Promise<Schemas['TotpEnrolmentView']>;
  /** Remove the second factor: `DELETE /auth/mfa/totp` */
  removeTotp(args?: Record<string, never>, options?: CallOptions): Promise<void>;
  /** Confirm a second factor: `POST /auth/mfa/totp/confirm` */
  confirmTotp(args: Schemas['TotpConfirmBody'], options?: CallOptions): Promise<Schemas['RecoveryCodesView']>;
  /** Create new recovery codes: `POST /auth/mfa/recovery-codes` */
  regenerateRecoveryCodes(args?: Record<string, never>, options?: CallOptions): Promise<Schemas['RecoveryCodesView']>;
  /** Read the caller: `GET /auth/me` */
  getMe(args?: Record<string, never>, options?: CallOptions): Promise<Schemas['MeView']>;
  /** Change your own account: `PATCH /auth/me` */
  updateMe(args?: Schemas['MeUpdate'], options?: CallOptions): Promise<Schemas['MeView']>;
  /** Confirm an address: `POST /auth/email/confirm` */
  confirmEmail(args: Schemas['EmailConfirmBody'], options?: CallOptions): Promise<void>;
  /** Change the password: `POST /auth/password/change` */
  changePassword(args: Schemas['PasswordChangeBody'], options?: CallOptions): Promise<void>;
  /** Request a password reset: `POST /auth/password/forgot` */
  forgotPassword(args: Schemas['PasswordForgotBody'], options?: CallOptions): Promise<void>;
  /** Set a forgotten password: `POST /auth/password/reset` */
  resetPassword(args: Schemas['PasswordResetBody'], options?: CallOptions): Promise<void>;
  /** Issue a service key: `POST /service-keys` */
  createServiceKey(args: Schemas['ServiceKeyCreate'], options?: CallOptions): Promise<Schemas['ServiceKeySecretView']>;
  /** List service keys: `GET /service-keys` */
  listServiceKeys(
    args?: {
      q?: string;
      role?: 'viewer' | 'member' | 'admin';
      workspace_id?: string;
      include_revoked?: boolean;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_ServiceKeyView_']>;
  /** Read a service key: `GET /service-keys/{key_id}` */
  getServiceKey(args: { key_id: string }, options?: CallOptions): Promise<Schemas['ServiceKeyView']>;
  /** Revoke a service key: `DELETE /service-keys/{key_id}` */
  revokeServiceKey(args: { key_id: string }, options?: CallOptions): Promise<void>;
  /** Rotate a service key: `POST /service-keys/{key_id}/rotate` */
  rotateServiceKey(args: { key_id: string }, options?: CallOptions): Promise<Schemas['ServiceKeySecretView']>;
  /** List organizations: `GET /organizations` */
  listOrganizations(
    args?: { q?: string; limit?: number; cursor?: string; offset?: number },
    options?: CallOptions,
  ): Pages<Schemas['Page_OrganizationView_']>;
  /** Create an organization: `POST /organizations` */
  createOrganization(args: Schemas['OrganizationCreate'], options?: CallOptions): Promise<Schemas['OrganizationView']>;
  /** Read an organization: `GET /organizations/{organization_id}` */
  getOrganization(args: { organization_id: string }, options?: CallOptions): Promise<Schemas['OrganizationView']>;
  /** Change an organization: `PATCH /organizations/{organization_id}` */
  updateOrganization(
    args: { organization_id: string } & Schemas['OrganizationUpdate'],
    options?: CallOptions,
  ): Promise<Schemas['OrganizationView']>;
  /** Delete an organization: `DELETE /organizations/{organization_id}` */
  deleteOrganization(args: { organization_id: string }, options?: CallOptions): Promise<void>;
  /** Read an organization's settings: `GET /organizations/{organization_id}/settings` */
  getOrganizationSettings(args: { organization_id: string }, options?: CallOptions): Promise<Schemas['OrganizationSettingsView']>;
  /** Change an organization's settings: `PATCH /organizations/{organization_id}/settings` */
  updateOrganizationSettings(
    args: { organization_id: string } & Schemas['OrganizationSettingsUpdate'],
    options?: CallOptions,
  ): Promise<Schemas['OrganizationSettingsView']>;
  /** Transfer the ownership: `POST /organizations/{organization_id}/transfer-ownership` */
  transferOwnership(
    args: { organization_id: string } & Schemas['OwnershipTransfer'],
    options?: CallOptions,
  ): Promise<Schemas['OrganizationView']>;
  /** List the workspaces of an organization: `GET /organizations/{organization_id}/workspaces` */
  listOrganizationWorkspaces(
    args: { organization_id: string; q?: string; limit?: number; cursor?: string; offset?: number },
    options?: CallOptions,
  ): Pages<Schemas['Page_WorkspaceView_']>;
  /** Create a workspace: `POST /organizations/{organization_id}/workspaces` */
  createWorkspace(args: { organization_id: string } & Schemas['WorkspaceCreate'], options?: CallOptions): Promise<Schemas['WorkspaceView']>;
  /** List workspaces: `GET /workspaces` */
  listWorkspaces(
    args?: { q?: string; limit?: number; cursor?: string; offset?: number },
    options?: CallOptions,
  ): Pages<Schemas['Page_WorkspaceView_']>;
  /** Read a workspace: `GET /workspaces/{workspace_id}` */
  getWorkspace(args: { workspace_id: string }, options?: CallOptions): Promise<Schemas['WorkspaceView']>;
  /** Change a workspace: `PATCH /workspaces/{workspace_id}` */
  updateWorkspace(args: { workspace_id: string } & Schemas['WorkspaceUpdate'], options?: CallOptions): Promise<Schemas['WorkspaceView']>;
  /** Archive a workspace: `DELETE /workspaces/{workspace_id}` */
  archiveWorkspace(args: { workspace_id: string }, options?: CallOptions): Promise<void>;
  /** Restore a workspace: `POST /workspaces/{workspace_id}/restore` */
  restoreWorkspace(args: { workspace_id: string }, options?: CallOptions): Promise<Schemas['WorkspaceView']>;
  /** List the members of a workspace: `GET /workspaces/{workspace_id}/members` */
  listWorkspaceMembers(
    args: {
      workspace_id: string;
      q?: string;
      role?: 'viewer' | 'member' | 'admin' | 'owner';
      source?: 'home' | 'grant' | 'organization';
      is_active?: boolean;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_WorkspaceMemberView_']>;
  /** Grant a role in a workspace: `PUT /workspaces/{workspace_id}/members/{user_id}` */
  setWorkspaceMember(
    args: { workspace_id: string; user_id: string } & Schemas['WorkspaceMemberPut'],
    options?: CallOptions,
  ): Promise<Schemas['WorkspaceMemberView']>;
  /** End a grant in a workspace: `DELETE /workspaces/{workspace_id}/members/{user_id}` */
  removeWorkspaceMember(args: { workspace_id: string; user_id: string }, options?: CallOptions): Promise<void>;
  /** List users: `GET /users` */
  listUsers(
    args?: {
      q?: string;
      role?: 'viewer' | 'member' | 'admin' | 'owner' | 'operator';
      scope?: 'workspace' | 'organization' | 'platform';
      workspace_id?: string;
      is_active?: boolean;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_UserView_']>;
  /** Create a user: `POST /users` */
  createUser(args: Schemas['UserCreate'], options?: CallOptions): Promise<Schemas['UserView']>;
  /** Read a user: `GET /users/{user_id}` */
  getUser(args: { user_id: string }, options?: CallOptions): Promise<Schemas['UserView']>;
  /** Change a user: `PATCH /users/{user_id}` */
  updateUser(args: { user_id: string } & Schemas['UserUpdate'], options?: CallOptions): Promise<Schemas['UserView']>;
  /** Delete a user: `DELETE /users/{user_id}` */
  deleteUser(args: { user_id: string }, options?: CallOptions): Promise<void>;
  /** Set role, scope and home of a user: `PUT /users/{user_id}/role` */
  setUserRole(args: { user_id: string } & Schemas['UserRolePut'], options?: CallOptions): Promise<Schemas['UserView']>;
  /** Deactivate a user: `POST /users/{user_id}/deactivate` */
  deactivateUser(args: { user_id: string }, options?: CallOptions): Promise<Schemas['UserView']>;
  /** Reactivate a user: `POST /users/{user_id}/reactivate` */
  reactivateUser(args: { user_id: string }, options?: CallOptions): Promise<Schemas['UserView']>;
  /** List invitations: `GET /invitations` */
  listInvitations(
    args?: {
      status?: 'pending' | 'accepted' | 'revoked' | 'expired';
      workspace_id?: string;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_InvitationView_']>;
  /** Invite a user: `POST /invitations` */
  createInvitation(args: Schemas['InvitationCreate'], options?: CallOptions): Promise<Schemas['InvitationView']>;
  /** Read an invitation: `GET /invitations/{invitation_id}` */
  getInvitation(args: { invitation_id: string }, options?: CallOptions): Promise<Schemas['InvitationView']>;
  /** Revoke an invitation: `DELETE /invitations/{invitation_id}` */
  revokeInvitation(args: { invitation_id: string }, options?: CallOptions): Promise<void>;
  /** Resend an invitation: `POST /invitations/{invitation_id}/resend` */
  resendInvitation(args: { invitation_id: string }, options?: CallOptions): Promise<Schemas['InvitationView']>;
  /** Accept an invitation: `POST /invitations/accept` */
  acceptInvitation(args: Schemas['InvitationAccept'], options?: CallOptions): Promise<Schemas['LoginView']>;
  /** List secrets: `GET /secrets` */
  listSecrets(
    args?: {
      q?: string;
      scope?: 'workspace' | 'organization' | 'platform';
      workspace_id?: string;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_SecretView_']>;
  /** Set a secret: `PUT /secrets/{name}` */
  putSecret(args: { name: string } & Schemas['SecretPut'], options?: CallOptions): Promise<Schemas['SecretView']>;
  /** Delete a secret: `DELETE /secrets/{name}` */
  deleteSecret(
    args: { name: string; scope?: 'workspace' | 'organization' | 'platform'; workspace_id?: string },
    options?: CallOptions,
  ): Promise<void>;
  /** List audit entries: `GET /audit-log` */
  listAuditEntries(
    args?: {
      actor_id?: string;
      action?: 'create' | 'update' | 'delete' | 'login' | 'logout' | 'submit' | 'approve' | 'purge' | 'impersonate';
      resource_type?: string;
      from?: string;
      to?: string;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_AuditEntryView_']>;
  /** Read an audit entry: `GET /audit-log/{entry_id}` */
  getAuditEntry(args: { entry_id: string }, options?: CallOptions): Promise<Schemas['AuditEntryView']>;
  /** List budgets: `GET /budgets` */
  listBudgets(
    args?: { period?: 'month' | 'day'; workspace_id?: string; limit?: number; cursor?: string; offset?: number },
    options?: CallOptions,
  ): Pages<Schemas['Page_BudgetView_']>;
  /** Read a budget: `GET /budgets/{workspace_id}` */
  getBudget(args: { workspace_id: string; period?: 'month' | 'day' }, options?: CallOptions): Promise<Schemas['BudgetView']>;
  /** Set a budget: `PUT /budgets/{workspace_id}` */
  putBudget(args: { workspace_id: string } & Schemas['BudgetPut'], options?: CallOptions): Promise<Schemas['BudgetView']>;
  /** Delete a budget: `DELETE /budgets/{workspace_id}` */
  deleteBudget(args: { workspace_id: string; period?: 'month' | 'day' }, options?: CallOptions): Promise<void>;
  /** Read the state of a budget: `GET /budgets/{workspace_id}/status` */
  getBudgetStatus(args: { workspace_id: string; period?: 'month' | 'day' }, options?: CallOptions): Promise<Schemas['BudgetStatusView']>;
  /** Aggregate usage: `GET /usage` */
  listUsage(
    args?: {
      group_by?: readonly ('day' | 'workspace' | 'agent' | 'model' | 'kind' | 'user' | 'service_key')[];
      from?: string;
      to?: string;
      timezone?: string;
      workspace_id?: string;
      agent_id?: string;
      model?: string;
      kind?: 'llm' | 'embedding' | 'rerank' | 'tool' | 'search' | 'adjustment';
      user_id?: string;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_UsageGroupView_']>;
  /** List the ledger: `GET /usage/records` */
  listUsageRecords(
    args?: {
      workspace_id?: string;
      agent_id?: string;
      model?: string;
      kind?: 'llm' | 'embedding' | 'rerank' | 'tool' | 'search' | 'adjustment';
      user_id?: string;
      run_id?: string;
      from?: string;
      to?: string;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_UsageRecordView_']>;
  /** Export the ledger: `GET /usage/export` */
  exportUsage(
    args: {
      format?: 'csv' | 'ndjson';
      workspace_id?: string;
      agent_id?: string;
      model?: string;
      kind?: 'llm' | 'embedding' | 'rerank' | 'tool' | 'search' | 'adjustment';
      user_id?: string;
      run_id?: string;
      from: string;
      to: string;
    },
    options?: CallOptions,
  ): Promise<Response>;
  /** List prices: `GET /prices` */
  listPrices(
    args?: {
      model?: string;
      tier?: string;
      bucket?: 'input' | 'cached_read' | 'cached_write' | 'output' | 'reasoning' | 'call';
      currency?: string;
      at?: string;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_PriceView_']>;
  /** List alert rules: `GET /alert-rules` */
  listAlertRules(
    args?: {
      q?: string;
      kind?:
        | 'spend'
        | 'run_failures'
        | 'run_failure_pct'
        | 'run_duration_p95'
        | 'runs_waiting'
        | 'delivery_failures'
        | 'schedule_missed'
        | 'unpriced_usage'
        | 'budget';
      is_active?: boolean;
      workspace_id?: string;
      managed?: boolean;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_AlertRuleView_']>;
  /** Create an alert rule: `POST /alert-rules` */
  createAlertRule(args: Schemas['AlertRuleCreate'], options?: CallOptions): Promise<Schemas['AlertRuleView']>;
  /** Read an alert rule: `GET /alert-rules/{rule_id}` */
  getAlertRule(args: { rule_id: string }, options?: CallOptions): Promise<Schemas['AlertRuleView']>;
  /** Change an alert rule: `PATCH /alert-rules/{rule_id}` */
  updateAlertRule(args: { rule_id: string } & Schemas['AlertRuleUpdate'], options?: CallOptions): Promise<Schemas['AlertRuleView']>;
  /** Delete an alert rule: `DELETE /alert-rules/{rule_id}` */
  deleteAlertRule(args: { rule_id: string }, options?: CallOptions): Promise<void>;
  /** Test an alert rule: `POST /alert-rules/{rule_id}/test` */
  testAlertRule(args: { rule_id: string }, options?: CallOptions): Promise<Schemas['AlertTestView']>;
  /** List alerts: `GET /alerts` */
  listAlerts(
    args?: {
      status?: 'firing' | 'no_data' | 'resolved';
      severity?: 'warning' | 'critical';
      rule_id?: string;
      from?: string;
      to?: string;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_AlertView_']>;
  /** Read an alert: `GET /alerts/{alert_id}` */
  getAlert(args: { alert_id: string }, options?: CallOptions): Promise<Schemas['AlertView']>;
  /** Handle an alert: `PATCH /alerts/{alert_id}` */
  updateAlert(args: { alert_id: string } & Schemas['AlertUpdate'], options?: CallOptions): Promise<Schemas['AlertView']>;
  /** Upload a file: `POST /attachments` */
  createAttachment(
    args: Omit<Schemas['AttachmentForm'], 'file'> & { file: Upload; filename?: string },
    options?: CallOptions,
  ): Promise<Schemas['AttachmentView']>;
  /** Download a file: `GET /attachments/{attachment_id}` */
  getAttachment(args: { attachment_id: string }, options?: CallOptions): Promise<Response>;
  /** Bind a repository: `POST /repo-bindings` */
  createRepoBinding(args: Schemas['RepoBindingCreate'], options?: CallOptions): Promise<Schemas['RepoBindingView']>;
  /** List bound repositories: `GET /repo-bindings` */
  listRepoBindings(
    args?: { installation_id?: number; repo_full_name?: string; is_active?: boolean; limit?: number; cursor?: string; offset?: number },
    options?: CallOptions,
  ): Pages<Schemas['Page_RepoBindingView_']>;
  /** Read a bound repository: `GET /repo-bindings/{binding_id}` */
  getRepoBinding(args: { binding_id: string }, options?: CallOptions): Promise<Schemas['RepoBindingView']>;
  /** Change a bound repository: `PATCH /repo-bindings/{binding_id}` */
  updateRepoBinding(
    args: { binding_id: string } & Schemas['RepoBindingUpdate'],
    options?: CallOptions,
  ): Promise<Schemas['RepoBindingView']>;
  /** Unbind a repository: `DELETE /repo-bindings/{binding_id}` */
  deleteRepoBinding(args: { binding_id: string }, options?: CallOptions): Promise<void>;
  /** List playbooks: `GET /review-playbooks` */
  listReviewPlaybooks(
    args?: {
      scope?: 'workspace' | 'organization' | 'platform';
      is_active?: boolean;
      q?: string;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_ReviewPlaybookView_']>;
  /** Create a playbook: `POST /review-playbooks` */
  createReviewPlaybook(args: Schemas['ReviewPlaybookCreate'], options?: CallOptions): Promise<Schemas['ReviewPlaybookView']>;
  /** Read a playbook: `GET /review-playbooks/{playbook_id}` */
  getReviewPlaybook(args: { playbook_id: string }, options?: CallOptions): Promise<Schemas['ReviewPlaybookView']>;
  /** Change a playbook: `PATCH /review-playbooks/{playbook_id}` */
  updateReviewPlaybook(
    args: { playbook_id: string } & Schemas['ReviewPlaybookUpdate'],
    options?: CallOptions,
  ): Promise<Schemas['ReviewPlaybookView']>;
  /** Delete a playbook: `DELETE /review-playbooks/{playbook_id}` */
  deleteReviewPlaybook(args: { playbook_id: string }, options?: CallOptions): Promise<void>;
  /** Clone a playbook: `POST /review-playbooks/{playbook_id}/clone` */
  cloneReviewPlaybook(
    args: { playbook_id: string } & Schemas['PlaybookClone'],
    options?: CallOptions,
  ): Promise<Schemas['ReviewPlaybookView']>;
  /** List the revisions of a playbook: `GET /review-playbooks/{playbook_id}/revisions` */
  listReviewPlaybookRevisions(
    args: { playbook_id: string; limit?: number; cursor?: string; offset?: number },
    options?: CallOptions,
  ): Pages<Schemas['Page_ReviewPlaybookRevisionView_']>;
  /** Add a revision to a playbook: `POST /review-playbooks/{playbook_id}/revisions` */
  createReviewPlaybookRevision(
    args: { playbook_id: string } & Schemas['ReviewPlaybookRevisionCreate'],
    options?: CallOptions,
  ): Promise<Schemas['ReviewPlaybookRevisionView']>;
  /** List evaluations: `GET /evaluations` */
  listEvaluations(
    args?: {
      agent_id?: string;
      status?: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_EvaluationRunView_']>;
  /** Evaluate an agent: `POST /evaluations` */
  createEvaluation(args: Schemas['EvaluationCreate'], options?: CallOptions): Promise<Schemas['EvaluationRunDetailView']>;
  /** Read an evaluation: `GET /evaluations/{evaluation_run_id}` */
  getEvaluation(args: { evaluation_run_id: string }, options?: CallOptions): Promise<Schemas['EvaluationRunDetailView']>;
  /** Count votes: `GET /feedback` */
  listFeedback(
    args?: { agent_id?: string; rating?: 'up' | 'down'; from?: string; to?: string; limit?: number; cursor?: string; offset?: number },
    options?: CallOptions,
  ): Pages<Schemas['Page_FeedbackAggregateView_']>;
  /** Vote on a run: `PUT /runs/{run_id}/feedback` */
  putRunFeedback(args: { run_id: string } & Schemas['FeedbackPut'], options?: CallOptions): Promise<Schemas['FeedbackView']>;
  /** Withdraw a vote: `DELETE /runs/{run_id}/feedback` */
  withdrawRunFeedback(args: { run_id: string }, options?: CallOptions): Promise<void>;
  /** Deliver by GET: `GET /hooks/{workspace_id}/{slug}` */
  receiveHookByGet(args: { workspace_id: string; slug: string }, options?: CallOptions): Promise<Schemas['HookAnswer']>;
  /** Deliver a webhook: `POST /hooks/{workspace_id}/{slug}` */
  receiveHook(args: { workspace_id: string; slug: string; body: unknown }, options?: CallOptions): Promise<Schemas['HookAnswer']>;
  /** Maintain a knowledge base: `POST /knowledge-bases/{kb_id}/maintenance-runs` */
  createMaintenanceRun(
    args: { kb_id: string } & Schemas['MaintenanceRunCreate'],
    options?: CallOptions,
  ): Promise<Schemas['MaintenanceRunView']>;
  /** List knowledge runs: `GET /knowledge-maintenance-runs` */
  listMaintenanceRuns(
    args?: {
      kb_id?: string;
      kind?: 'ingest' | 'reembed' | 'import' | 'export' | 'maintenance' | 'purge';
      status?: 'queued' | 'running' | 'paused' | 'cancelling' | 'succeeded' | 'failed' | 'cancelled';
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_MaintenanceRunView_']>;
  /** Read a knowledge run: `GET /knowledge-maintenance-runs/{run_id}` */
  getMaintenanceRun(args: { run_id: string }, options?: CallOptions): Promise<Schemas['MaintenanceRunView']>;
  /** Cancel a knowledge run: `POST /knowledge-maintenance-runs/{run_id}/cancel` */
  cancelMaintenanceRun(args: { run_id: string }, options?: CallOptions): Promise<Schemas['MaintenanceRunView']>;
  /** Read a maintenance policy: `GET /knowledge-bases/{kb_id}/maintenance-policy` */
  getMaintenancePolicy(args: { kb_id: string }, options?: CallOptions): Promise<Schemas['MaintenancePolicyView']>;
  /** Set a maintenance policy: `PUT /knowledge-bases/{kb_id}/maintenance-policy` */
  putMaintenancePolicy(
    args: { kb_id: string } & Schemas['MaintenancePolicyPut'],
    options?: CallOptions,
  ): Promise<Schemas['MaintenancePolicyView']>;
  /** List findings: `GET /knowledge-findings` */
  listKnowledgeFindings(
    args?: {
      kb_id?: string;
      kind?: 'duplicate' | 'contradiction' | 'stale' | 'orphan' | 'low_evidence' | 'injection_suspect' | 'integrity';
      state?: 'open' | 'resolved' | 'dismissed';
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_KnowledgeFindingView_']>;
  /** Resolve a finding: `POST /knowledge-findings/{finding_id}/resolve` */
  resolveKnowledgeFinding(
    args: { finding_id: string } & Schemas['FindingResolve'],
    options?: CallOptions,
  ): Promise<Schemas['KnowledgeFindingView']>;
  /** Purge a knowledge base: `POST /knowledge-bases/{kb_id}/purge` */
  purgeKnowledgeBase(args: { kb_id: string } & Schemas['KnowledgePurge'], options?: CallOptions): Promise<Schemas['MaintenanceRunView']>;
  /** Send an MCP message: `POST /mcp` */
  callMcp(args: { body: unknown }, options?: CallOptions): Promise<Response>;
  /** Listen to the MCP server: `GET /mcp` */
  streamMcp(args?: Record<string, never>, options?: CallOptions): Promise<Response>;
  /** End an MCP session: `DELETE /mcp` */
  endMcp(args?: Record<string, never>, options?: CallOptions): Promise<void>;
  /** Probe an MCP server: `POST /mcp/discover` */
  discoverMcpServer(args: Schemas['McpDiscover'], options?: CallOptions): Promise<Schemas['McpDiscoveryView']>;
  /** Sync an MCP toolkit: `POST /mcp/toolkits/{toolkit_id}/sync` */
  syncMcpToolkit(args: { toolkit_id: string } & Schemas['McpSync'], options?: CallOptions): Promise<Schemas['ToolkitRevisionView']>;
  /** Read the state of an MCP toolkit: `GET /mcp/toolkits/{toolkit_id}/status` */
  getMcpToolkitStatus(args: { toolkit_id: string }, options?: CallOptions): Promise<Schemas['McpToolkitStatusView']>;
  /** Read the metadata of the authorization server: `GET /.well-known/oauth-authorization-server` */
  getOauthServerMetadata(args?: Record<string, never>, options?: CallOptions): Promise<Schemas['OauthServerMetadata']>;
  /** Read the metadata of the API as a protected resource: `GET /.well-known/oauth-protected-resource` */
  getOauthResourceMetadata(args?: Record<string, never>, options?: CallOptions): Promise<Schemas['OauthResourceMetadata']>;
  /** Read the metadata of another protected resource: `GET /.well-known/oauth-protected-resource/{resource_path}` */
  getOauthResourceMetadataFor(args: { resource_path: string }, options?: CallOptions): Promise<Schemas['OauthResourceMetadata']>;
  /** Read the public keys that sign tokens: `GET /oauth/jwks` */
  getOauthKeys(args?: Record<string, never>, options?: CallOptions): Promise<Schemas['JsonWebKeySet']>;
  /** Ask a user for access: `GET /oauth/authorize` */
  startAuthorization(
    args: {
      response_type: 'code';
      client_id: string;
      redirect_uri: string;
      scope?: string;
      state?: string;
      code_challenge: string;
      code_challenge_method: 'S256';
      resource?: string;
    },
    options?: CallOptions,
  ): Promise<Schemas['AuthorizationTransactionView']>;
  /** Decide on a request for access: `POST /oauth/authorize` */
  decideAuthorization(args: Schemas['AuthorizationDecisionBody'], options?: CallOptions): Promise<Schemas['AuthorizationDecisionView']>;
  /** Get tokens: `POST /oauth/token` */
  issueOauthToken(args: Schemas['OauthTokenForm'], options?: CallOptions): Promise<Schemas['OauthTokenView']>;
  /** Revoke a token: `POST /oauth/revoke` */
  revokeOauthToken(args: Schemas['OauthTokenReference'], options?: CallOptions): Promise<void>;
  /** Introspect a token: `POST /oauth/introspect` */
  introspectOauthToken(args: Schemas['OauthTokenReference'], options?: CallOptions): Promise<Schemas['OauthIntrospectionView']>;
  /** Register a client: `POST /oauth/register` */
  registerOauthClient(args: Schemas['ClientRegistrationRequest'], options?: CallOptions): Promise<Schemas['OauthClientRegistrationView']>;
  /** Read a registration: `GET /oauth/register/{client_id}` */
  getOauthClientRegistration(args: { client_id: string }, options?: CallOptions): Promise<Schemas['OauthClientRegistrationView']>;
  /** Delete a registration: `DELETE /oauth/register/{client_id}` */
  deleteOauthClientRegistration(args: { client_id: string }, options?: CallOptions): Promise<void>;
  /** Check liveness: `GET /health/live` */
  getLiveness(args?: Record<string, never>, options?: CallOptions): Promise<Schemas['HealthView']>;
  /** Check readiness: `GET /health/ready` */
  getReadiness(args?: Record<string, never>, options?: CallOptions): Promise<Schemas['HealthView']>;
  /** Check startup: `GET /health/startup` */
  getStartup(args?: Record<string, never>, options?: CallOptions): Promise<Schemas['HealthView']>;
  /** Scrape the metrics: `GET /metrics` */
  getMetrics(args?: Record<string, never>, options?: CallOptions): Promise<Response>;
  /** Read the version: `GET /version` */
  getVersion(args?: Record<string, never>, options?: CallOptions): Promise<Schemas['VersionView']>;
  /** Read the OpenAPI document: `GET /openapi.json` */
  getOpenapi(args?: Record<string, never>, options?: CallOptions): Promise<unknown>;
  /** Browse the public reference: `GET /redoc` */
  getRedoc(args?: Record<string, never>, options?: CallOptions): Promise<string>;
  /** Read the public reference as text: `GET /llms.txt` */
  getLlmsText(args?: Record<string, never>, options?: CallOptions): Promise<string>;
  /** List the error codes: `GET /error-codes` */
  listErrorCodes(args?: Record<string, never>, options?: CallOptions): Promise<Schemas['ErrorCatalogueView']>;
  /** Read the stream protocol: `GET /stream-protocol` */
  getStreamProtocol(args?: Record<string, never>, options?: CallOptions): Promise<Schemas['StreamProtocolView']>;
  /** List deprecations: `GET /deprecations` */
  listDeprecations(
    args?: { limit?: number; cursor?: string; offset?: number },
    options?: CallOptions,
  ): Pages<Schemas['Page_DeprecationView_']>;
  /** Read the capabilities: `GET /capabilities` */
  getCapabilities(args?: Record<string, never>, options?: CallOptions): Promise<Schemas['CapabilitiesView']>;
  /** Read the state of the deployment: `GET /system/status` */
  getSystemStatus(args?: Record<string, never>, options?: CallOptions): Promise<Schemas['SystemStatusView']>;
  /** Suspend an organization: `POST /organizations/{organization_id}/suspend` */
  suspendOrganization(
    args: { organization_id: string } & Schemas['OrganizationSuspend'],
    options?: CallOptions,
  ): Promise<Schemas['OrganizationView']>;
  /** Resume an organization: `POST /organizations/{organization_id}/resume` */
  resumeOrganization(args: { organization_id: string }, options?: CallOptions): Promise<Schemas['OrganizationView']>;
  /** Purge an organization: `POST /organizations/{organization_id}/purge` */
  purgeOrganization(args: { organization_id: string } & Schemas['OrganizationPurge'], options?: CallOptions): Promise<Schemas['PurgeView']>;
  /** Work as a user: `POST /impersonations` */
  startImpersonation(args: Schemas['ImpersonationStart'], options?: CallOptions): Promise<Schemas['ImpersonationTokenView']>;
  /** List impersonations: `GET /impersonations` */
  listImpersonations(
    args?: {
      organization_id?: string;
      operator_user_id?: string;
      target_user_id?: string;
      active?: boolean;
      from?: string;
      to?: string;
      limit?: number;
      cursor?: string;
      offset?: number;
    },
    options?: CallOptions,
  ): Pages<Schemas['Page_ImpersonationView_']>;
  /** End an impersonation: `DELETE /impersonations/{impersonation_id}` */
  endImpersonation(args: { impersonation_id: string }, options?: CallOptions): Promise<void>;
  /** Set a price: `POST /model-prices` */
  createModelPrice(args: Schemas['PriceCreate'], options?: CallOptions): Promise<Schemas['PriceView']>;
  /** Import prices: `POST /model-prices/import` */
  importModelPrices(args: Schemas['PriceImport'], options?: CallOptions): Promise<Schemas['PriceImportView']>;
  /** Delete a future price: `DELETE /model-prices/{price_id}` */
  deleteModelPrice(args: { price_id: string }, options?: CallOptions): Promise<void>;
  /** List OAuth clients: `GET /oauth-clients` */
  listOauthClients(
    args?: { q?: string; kind?: 'preregistered' | 'registered' | 'document'; limit?: number; cursor?: string; offset?: number },
    options?: CallOptions,
  ): Pages<Schemas['Page_OauthClientView_']>;
  /** Pre-register an OAuth client: `POST /oauth-clients` */
  createOauthClient(args: Schemas['OauthClientCreate'], options?: CallOptions): Promise<Schemas['OauthClientSecretView']>;
  /** Rotate the secret of an OAuth client: `POST /oauth-clients/{client_id}/rotate-secret` */
  rotateOauthClientSecret(args: { client_id: string }, options?: CallOptions): Promise<Schemas['OauthClientSecretView']>;
  /** Delete an OAuth client: `DELETE /oauth-clients/{client_id}` */
  deleteOauthClient(args: { client_id: string }, options?: CallOptions): Promise<void>;
}
