import { pino } from 'pino';
import { createDeliveryActivities } from '../../activities/delivery/send-mail.ts';
import { randomKeyRing, type KeyRing } from '../../db/key-ring.ts';
import { newId } from '../../db/ids.ts';
import { addMail, type QueuedMail } from '../../db/mail.ts';
import { change, row } from '../../db/sql.ts';
import { nobodyTenant, organizationTenant, sweep, systemActor, transact } from '../../db/transaction.ts';
import { createMailer } from '../../ports/mail.ts';
import { createActivityMetrics, type ActivityMetrics } from '../../ports/metrics/activity-metrics.ts';
import type { DeliveryResult } from '../../workflows/contracts/upkeep/delivery.ts';
import type { MailRequest } from '../../workflows/contracts/upkeep/mail.ts';
import { startMailServer, type MailServer } from '../fakes/mail-server.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { makeTenant, type TestTenant } from '../support/tenant.ts';

export const publicUrl = 'https://longhaul.test';

interface DeliverOptions {
  readonly linkUrl?: string | null;
  readonly keys?: KeyRing;
  readonly hasMailer?: boolean;
}

/** A database with a tenant, a mail server, and the activity that stands between them. */
export interface DeliveryWorld {
  readonly database: TestDatabase;
  readonly keys: KeyRing;
  readonly tenant: TestTenant;
  readonly server: MailServer;
  readonly log: string[];
  readonly metrics: ActivityMetrics;
  /** Writes a mail as a handler does. */
  queue(mail: MailRequest, organizationId?: string | null): Promise<QueuedMail>;
  deliver(outboxId: string, options?: DeliverOptions): Promise<DeliveryResult>;
  one<T>(sql: string, params?: readonly unknown[]): Promise<T | null>;
  write(sql: string, params?: readonly unknown[]): Promise<number>;
  /** The challenge that the handler of a password_set or email_confirm writes. */
  challenge(mail: QueuedMail, options: { readonly userId: string; readonly purpose: string; readonly endsIn: string }): Promise<number>;
  invite(mail: QueuedMail, options: { readonly id: string; readonly email: string; readonly endsIn: string }): Promise<number>;
  close(): Promise<void>;
}

export async function openDeliveryWorld(): Promise<DeliveryWorld> {
  const keys = randomKeyRing();
  const database = await testDatabase();
  const tenant = await makeTenant(database.db, keys);
  const server = await startMailServer();
  const log: string[] = [];
  const destination = { write: (line: string) => void log.push(line) };
  const mailer = createMailer({ kind: 'smtp', url: server.url, from: 'Longhaul <us@longhaul.test>', linkUrl: null });
  const metrics = createActivityMetrics([]);
  const one: DeliveryWorld['one'] = (sql, params = []) => sweep(database.db, (em) => row(em, sql, params));
  const write: DeliveryWorld['write'] = (sql, params = []) => sweep(database.db, (em) => change(em, sql, params));

  return {
    database,
    keys,
    tenant,
    server,
    log,
    metrics,
    one,
    write,
    async queue(mail, organizationId = null) {
      const home = organizationId === null ? nobodyTenant : organizationTenant(organizationId);
      const { value } = await transact(database.db, { tenant: home, actor: systemActor, correlationId: newId() }, (tx) =>
        addMail(tx, keys, { mail, rowScope: { organizationId, workspaceId: null } }),
      );
      return value;
    },
    deliver: (outboxId, { linkUrl = null, keys: ring = keys, hasMailer = true }: DeliverOptions = {}) =>
      createDeliveryActivities({
        db: database.db,
        keys: ring,
        log: pino({ level: 'debug' }, destination),
        metrics,
        mail: hasMailer ? { mailer, publicUrl, linkUrl } : null,
      }).sendMail({ outboxId }),
    challenge: ({ tokenHash }, { userId, purpose, endsIn }) =>
      write(
        `insert into auth_challenges (id, purpose, user_id, organization_id, token_hash, attempts, payload, expires_at)
        select ?, ?, u.id, u.organization_id, ?, 0, '{}', now() + ?::interval from users u where u.id = ?`,
        [newId(), purpose, tokenHash, endsIn, userId],
      ),
    invite: ({ tokenHash }, { id, email, endsIn }) =>
      write(
        `insert into invitations (id, organization_id, workspace_id, scope, email, role, token_hash, invited_by_user_id, expires_at)
        values (?, ?, ?, 'workspace', ?, 'member', ?, ?, now() + ?::interval)`,
        [id, tenant.organizationId, tenant.workspaceId, email, tokenHash, tenant.organizationOwner.id, endsIn],
      ),
    close: async () => {
      await server.close();
      await database.drop();
    },
  };
}

/** The token that a mail names. */
export function tokenIn(text: string | undefined): string {
  return /lh_ml_[A-Za-z0-9_-]{43}/.exec(text ?? '')?.[0] ?? '';
}
