import type { Logger } from 'pino';
import type { Databases } from '../db/orm.ts';
import type { CancelBus } from '../db/streams/cancel-bus.ts';
import type { Emitter } from '../db/streams/emitter.ts';
import type { Outgoing } from '../db/unit.ts';
import type { Egress } from '../ports/egress.ts';
import type { TenantSchemas } from '../ports/json-schema.ts';
import type { ModelRegistry } from '../ports/models.ts';
import type { Templates } from '../ports/templates.ts';
import type { Providers } from './model/providers.ts';
import type { WebPages } from './tools/web-fetch.ts';

/** Everything an activity may use, built once by a worker process. */
export interface ActivityDeps {
  readonly db: Databases;
  readonly emitter: Emitter;
  readonly cancelBus: CancelBus;
  readonly models: ModelRegistry;
  readonly providers: Providers;
  readonly egress: Egress;
  readonly schemas: TenantSchemas;
  readonly templates: Templates;
  readonly pages: WebPages;
  readonly log: Logger;
  readonly env: {
    /** `EGRESS_ALLOW_HTTP`. */
    readonly allowHttp: boolean;
    /** `BILLING_CURRENCY`. */
    readonly billingCurrency: string;
  };
  /** Publishes frames and sends outbox rows after a commit; never throws. */
  readonly dispatch: (outgoing: Outgoing) => Promise<void>;
}
