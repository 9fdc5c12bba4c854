import { expect } from '@jest/globals';
import { streamKeys } from '../../db/streams/keys.ts';
import { connectRedis } from '../../db/streams/redis.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { startOwnStack, startStack, type ProcessName, type Stack } from '../support/stack.ts';
import { testServices } from '../support/services.ts';
import { keepAdmin } from '../support/template.ts';
import { pauseSweeps, resumeSweeps } from '../support/temporal.ts';

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
  /** Has Redis hold a frame of each run of a place, as if all had just been live; what it gives tells how many are left. */
  cacheFrames(column: 'organization_id' | 'workspace_id', id: string): Promise<() => Promise<number>>;
  close(): Promise<void>;
}

interface WorldOptions {
  readonly egressPorts?: readonly number[];
  /** Where rows that no product would write are planted, nobody else may work on them. */
  readonly isOwn?: boolean;
}

export async function openOperatorWorld(
  processes: readonly ProcessName[],
  { egressPorts = [], isOwn = false }: WorldOptions = {},
): Promise<OperatorWorld> {
  const models = await startModelServer();
  const stack = await (isOwn ? startOwnStack : startStack)({ processes, modelBaseUrl: models.baseUrl, egressPorts }).catch(
    async (error: unknown) => {
      await models.close();
      throw error;
    },
  );
  await pauseSweeps(stack.temporal);
  const { organizationId, tokens } = stack.tenant;
  const { query: admin, close: closeAdmin } = keepAdmin(stack.adminUrl);

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
    cacheFrames: (column, id) => cacheFrames({ admin, prefix: stack.redisPrefix }, column, id),
    async close() {
      await closeAdmin();
      await resumeSweeps(stack.temporal);
      await stack.stop();
      await models.close();
    },
  };
}

async function cacheFrames({ admin, prefix }: Pick<OperatorWorld, 'admin'> & { readonly prefix: string }, column: string, id: string) {
  const runs = await admin(`select id from runs where ${column} = $1`, [id]);
  const names = runs.map((run) => streamKeys(prefix).run(String(run['id'])));
  expect(names).not.toEqual([]);
  const withRedis = async <R>(work: (redis: ReturnType<typeof connectRedis>) => Promise<R>): Promise<R> => {
    const redis = connectRedis(testServices().redisUrl, 'commands');
    return work(redis).finally(() => redis.disconnect());
  };
  await withRedis((redis) => Promise.all(names.map((name) => redis.xadd(name, '*', 'f', '{}'))));
  return () => withRedis(async (redis) => (await Promise.all(names.map((name) => redis.exists(name)))).reduce((sum, one) => sum + one, 0));
}
