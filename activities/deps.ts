import type { Logger } from 'pino';
import type { UnpricedRule } from '../db/billing/prices/prices.ts';
import type { KeyRing } from '../db/key-ring.ts';
import type { Databases } from '../db/databases.ts';
import type { CancelBus } from '../db/streams/cancel-bus.ts';
import type { Emitter } from '../domain/streams/emitter.ts';
import type { Outgoing } from '../db/tenant-transaction.ts';
import type { ChannelUrls } from '../ports/channels/service.ts';
import type { Egress } from '../ports/egress/egress.ts';
import type { Embedder } from '../ports/embeddings/index.ts';
import type { Mirrors } from '../ports/git/mirrors.ts';
import type { GitHub } from '../ports/github/client.ts';
import type { GitHubSettings } from '../ports/github/settings.ts';
import type { SchemasByTenant } from '../ports/json/schema.ts';
import type { Mailer } from '../ports/mail.ts';
import type { ActivityMetrics } from '../ports/metrics/activity-metrics.ts';
import type { McpSessions } from '../ports/mcp/sessions.ts';
import type { ModelRegistry } from '../ports/models/models.ts';
import type { ModelPermits } from '../ports/models/permits/permits.ts';
import type { Sandbox } from '../ports/sandbox/sandbox.ts';
import type { AttachmentSettings } from '../ports/storage/settings.ts';
import type { Storage } from '../ports/storage/storage.ts';
import type { TemplatesByTenant } from '../ports/templates/templates.ts';
import type { WorkPool } from '../ports/untrusted/pool.ts';
import type { Measurement } from '../workflows/contracts/measurements.ts';
import type { Anchor } from './maintenance/anchor.ts';
import type { ToolsChanged } from './mcp/list-changed.ts';
import type { Providers } from './model/wire/providers.ts';
import type { WebPages } from './tools/builtin/web-fetch.ts';

/** Everything an activity may use, built once by a worker process. */
export interface ActivityDeps {
  readonly db: Databases;
  readonly keys: KeyRing;
  readonly emitter: Emitter;
  readonly cancelBus: CancelBus;
  readonly models: ModelRegistry;
  readonly embedder: Embedder;
  /** Permits for calls of models with limits. */
  readonly permits: ModelPermits;
  readonly providers: Providers;
  readonly egress: Egress;
  /** Where schemas, templates, pages and files of tenants are processed. */
  readonly work: Pick<WorkPool, 'ended' | 'run'>;
  readonly schemas: SchemasByTenant;
  readonly templates: TemplatesByTenant;
  readonly pages: WebPages;
  readonly sandbox: Sandbox | null;
  readonly mcp: McpSessions;
  readonly toolsChanged: ToolsChanged;
  /** The Git host of code review. */
  readonly github: GitHub;
  /** Mirrors of repositories on the disk of this worker. */
  readonly mirrors: Mirrors;
  readonly storage: Storage;
  /** The mailer and the addresses that its readers are sent to; null: the deployment has no mailer. */
  readonly mail: { readonly mailer: Mailer; readonly publicUrl: string; readonly linkUrl: string | null } | null;
  /** Writes the heads of the audit log outside the database. */
  readonly anchor: Anchor;
  readonly log: Logger;
  readonly metrics: ActivityMetrics;
  /** Adds to the metrics of what lies around runs. */
  readonly measure: (measurement: Measurement) => void;
  readonly env: {
    /** `EGRESS_ALLOW_HTTP`. */
    readonly allowHttp: boolean;
    /** Whether this deployment lets organizations have texts in their spans. */
    readonly tracesContent: boolean;
    /** `BILLING_CURRENCY`. */
    readonly billingCurrency: string;
    /** `UNPRICED_MODEL`. */
    readonly unpricedModel: UnpricedRule;
    /** `DATABASE_OWNER_URL`, set for bulk workers: the owner of the tables may index them. Null: nothing is indexed, and vectors are scanned. */
    readonly databaseOwnerUrl: string | null;
    /** `MCP_OAUTH_REDIRECT_URI`; null: no toolkit can get a person's consent. */
    readonly mcpRedirectUri: string | null;
    /** `PUBLIC_URL`, under which people and chat services reach the API; null: not configured for this worker. */
    readonly publicUrl: string | null;
    /** Addresses of the chat services of channels. */
    readonly channelUrls: ChannelUrls;
    /** Address of the Git host, and the deployment's own App there. */
    readonly github: GitHubSettings;
    /** Limits of stored files, and their scanner. */
    readonly attachments: AttachmentSettings;
  };
  /** Deletes what Redis holds of these runs. Rejects while Redis is unavailable; repeatable. */
  readonly eraseStreams: (runIds: readonly string[]) => Promise<void>;
  /** Publishes frames and sends outbox rows after a commit; never throws. */
  readonly dispatch: (outgoing: Outgoing) => Promise<void>;
}
