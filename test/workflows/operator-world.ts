import { expect } from '@jest/globals';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { startStack, type ProcessName, type Stack } from '../support/stack.ts';
import { withAdmin } from '../support/template.ts';

/** A deployment of real processes whose organizations are stopped and purged. */
export interface OperatorWorld {
  readonly stack: Stack;
  readonly models: ModelServer;
  /** A statement as the database's administrator; gives its rows. */
  admin(sql: string, params?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** JSON request of the operator; throws unless it succeeds. */
  operate(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<Record<string, unknown>>;
  /** How many runs have each status. */
  statuses(): Promise<Record<string, number>>;
  slug(): Promise<string>;
  close(): Promise<void>;
}

export async function openOperatorWorld(processes: readonly ProcessName[], egressPorts: readonly number[] = []): Promise<OperatorWorld> {
  const models = await startModelServer();
  const stack = await startStack({ processes, modelBaseUrl: models.baseUrl, egressPorts }).catch(async (error: unknown) => {
    await models.close();
    throw error;
  });
  const { organizationId, tokens } = stack.tenant;
  const admin: OperatorWorld['admin'] = (sql, params = []) =>
    withAdmin(stack.adminUrl, async (client) => (await client.query<Record<string, unknown>>(sql, [...params])).rows);

  return {
    stack,
    models,
    admin,
    async operate(method, path, body, headers = {}) {
      const answer: { status: number; body: Record<string, unknown> } = await stack.request(method, path, {
        credential: tokens.operator,
        headers,
        ...(body ? { body } : {}),
      });
      expect([method, path, answer.status, answer.status < 300 || answer.body]).toEqual([method, path, answer.status, true]);
      return answer.body;
    },
    async statuses() {
      const found = await admin('select status, count(*)::int as count from runs where organization_id = $1 group by status', [
        organizationId,
      ]);
      return Object.fromEntries(found.map((row) => [String(row['status']), Number(row['count'])]));
    },
    async slug() {
      const [row] = await admin('select slug from organizations where id = $1', [organizationId]);
      return String(row?.['slug']);
    },
    async close() {
      await stack.stop();
      await models.close();
    },
  };
}
