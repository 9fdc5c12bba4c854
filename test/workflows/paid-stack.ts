import { newId } from '../../db/ids.ts';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { startEmbeddingServer, type EmbeddingServer } from '../fakes/embedding-server.ts';
import { registryFile } from '../ports/embeddings/registry.ts';
import { testBudgets, type TestBudgets } from '../support/budgets.ts';
import { startOwnStack, type Stack, type StackOptions } from '../support/stack.ts';

/** The embedding model of these stacks, which a server outside of them answers: 20 dollars a million tokens. */
export const paid = { id: 'acme/paid', dim: 8 } as const;

/** A deployment with an embedding model that costs money. */
export interface PaidStack {
  readonly server: EmbeddingServer;
  readonly stack: Stack;
  readonly budgets: TestBudgets;
  /** Every text that was sent to the model since the last reset. */
  inputs(): string[];
  /** A server that answers and was asked nothing, and no budget. */
  reset(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts it with these processes. */
export async function startPaidStack(options: StackOptions): Promise<PaidStack> {
  const server = await startEmbeddingServer(paid.dim);
  const registry = registryFile(server.baseUrl, [{ name: 'paid', dim: paid.dim, max_tokens: 512, max_batch: 4 }]);
  const stack = await startOwnStack({ ...options, env: { LONGHAUL_MODEL_REGISTRY: registry, ACME_API_KEY: 'k', ...options.env } });
  const budgets = testBudgets(stack.db, stack.tenant);
  await sweep(stack.db, (em) =>
    rows(
      em,
      `insert into model_prices (id, model, tier, bucket, unit, price, currency, effective_from) values (?, ?, 'standard', 'input', '1m_tokens', 20, 'USD', now() - interval '1 minute')`,
      [newId(), paid.id],
    ),
  );
  return {
    server,
    stack,
    budgets,
    inputs: () => server.calls.flatMap(({ body }) => body.input),
    async reset() {
      server.reply = null;
      server.calls.length = 0;
      await budgets.day(null);
    },
    async stop() {
      await stack.stop();
      await server.close();
    },
  };
}
