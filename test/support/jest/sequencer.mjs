import { relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/** Seconds of the files that took over 15 s and spent less than a third of it working; of the others below. For a checkout that has not run them yet. */
const waiting = {
  'test/workflows/worker-lost.test.ts': 120,
  'test/e2e/approval-waits.test.ts': 99,
  'test/chaos/worker-killed.test.ts': 93,
  'test/e2e/frozen.test.ts': 86,
  'test/workflows/budget.test.ts': 79,
  'test/api/endings/ending-access.test.ts': 75,
  'test/workflows/bulk-cancel.test.ts': 69,
  'test/e2e/tool-secrets.test.ts': 61,
  'test/e2e/web-tools.test.ts': 57,
  'test/streams/hub.test.ts': 56,
  'test/chaos/frozen-postgres.test.ts': 55,
  'test/ports/work-pool.test.ts': 54,
  'test/cli/processes.test.ts': 52,
  'test/db/pg-silence.test.ts': 49,
  'test/workflows/agent-layers.test.ts': 46,
  'test/api/runs/live-runs.test.ts': 45,
  'test/workflows/delivery-killed.test.ts': 42,
  'test/workflows/waits-model.test.ts': 40,
  'test/e2e/told-results.test.ts': 36,
  'test/sub-agents/ends.test.ts': 31,
  'test/access/rollback.test.ts': 30,
  'test/workflows/agent-run-children.test.ts': 29,
  'test/api/mcp/clients.test.ts': 29,
  'test/access/frozen.test.ts': 29,
  'test/api/operator/streams.test.ts': 28,
  'test/e2e/code-exec.test.ts': 28,
  'test/sub-agents/client-calls.test.ts': 27,
  'test/api/mcp/batch.test.ts': 24,
  'test/api/system/health.test.ts': 24,
  'test/e2e/late-tries.test.ts': 24,
  'test/metrics/deployment.test.ts': 23,
  'test/ports/sandbox-strict.test.ts': 22,
  'test/workflows/agent-run-waits.test.ts': 20,
  'test/api/mcp/conformance.test.ts': 20,
  'test/workflows/given-up.test.ts': 19,
  'test/api/endings/waiting.test.ts': 19,
  'test/streams/redis-faults.test.ts': 18,
  'test/streams/stalled.test.ts': 18,
  'test/api/mcp/toolkits.test.ts': 17,
  'test/api/oauth/consent-page.test.ts': 16,
  'test/streams/openings.test.ts': 15,
  'test/sub-agents/handed.test.ts': 15,
};

/** Files that took over 15 s of work. Any that is named nowhere counts by its size. */
const working = {
  'test/chaos/mixed.test.ts': 115,
  'test/chaos/services.test.ts': 110,
  'test/chaos/temporal-lost.test.ts': 78,
  'test/workflows/schedules.test.ts': 68,
  'test/workflows/purge.test.ts': 68,
  'test/e2e/tools.test.ts': 65,
  'test/workflows/stop.test.ts': 61,
  'test/cli/up.test.ts': 59,
  'test/chaos/child-killed.test.ts': 50,
  'test/ports/sandbox.test.ts': 50,
  'test/workflows/toolkit-sync.test.ts': 50,
  'test/api/attachments/memory.test.ts': 48,
  'test/cli/lean-install.test.ts': 45,
  'test/cli/strange-state.test.ts': 44,
  'test/ports/hostile-work.test.ts': 41,
  'test/workflows/attachments.test.ts': 40,
  'test/metrics/processes.test.ts': 38,
  'test/workflows/audit-seal.test.ts': 38,
  'test/access/itself.test.ts': 37,
  'test/access/foreign.test.ts': 37,
  'test/access/table.test.ts': 37,
  'test/e2e/steering.test.ts': 33,
  'test/workflows/published-mcp-servers.test.ts': 30,
  'test/api/http/walk.test.ts': 30,
  'test/cli/seed.test.ts': 28,
  'test/access/predicates.test.ts': 27,
  'test/workflows/agent-run-history.test.ts': 26,
  'test/workflows/due.test.ts': 25,
  'test/contract/lint.test.ts': 25,
  'test/workflows/worker-process.test.ts': 24,
  'test/cli/audit.test.ts': 22,
  'test/chaos/api-killed.test.ts': 21,
  'test/e2e/untrusted-work.test.ts': 21,
  'test/e2e/models.test.ts': 19,
  'test/workflows/skills.test.ts': 18,
  'test/sub-agents/gated.test.ts': 17,
  'test/workflows/strange-database.test.ts': 16,
  'test/e2e/mails.test.ts': 16,
  'test/cli/services.test.ts': 16,
  'test/e2e/code-samples.test.ts': 15,
  'test/e2e/approval-consent.test.ts': 15,
  'test/cli/users.test.ts': 15,
};

/**
 * The longest first, so that none is left alone at the end, and those that wait beside those that work: both kinds go forward by the same part
 * of their time, so that neither processors nor places stand idle. Before all others those that failed the last time.
 */
export default class LongestFirst extends Sequencer {
  sort(tests) {
    const kinds = [[], []];
    for (const test of tests) {
      const seconds = this.#seconds(test);
      const rank = this.hasFailed(test) ? Infinity : seconds;
      kinds[nameOf(test) in waiting ? 0 : 1].push({ test: { ...test, duration: this.time(test) }, seconds, rank });
    }
    return interleave(kinds.map(longestFirst)).map(({ test }) => test);
  }

  #seconds(test) {
    const ms = this.time(test);
    if (ms) return ms / 1_000;
    const name = nameOf(test);
    return waiting[name] ?? working[name] ?? (test.context.hasteFS.getSize(test.path) ?? 0) / 10_000;
  }
}

function nameOf({ context, path }) {
  return relative(context.config.rootDir, path);
}

function longestFirst(kind) {
  return kind.toSorted((a, b) => (a.rank === b.rank ? 0 : b.rank - a.rank));
}

/** One list of both: the next comes from whichever has begun the smaller part of its time. */
function interleave(kinds) {
  const left = kinds
    .map((files) => ({ files: [...files], begun: 0, all: files.reduce((sum, { seconds }) => sum + seconds, 0) }))
    .filter(({ files }) => files.length > 0);
  const order = [];
  while (left.length > 0) {
    const next = left.reduce((a, b) => (b.begun / b.all < a.begun / a.all ? b : a));
    const [first, ...others] = next.files;
    order.push(first);
    next.files = others;
    next.begun += first.seconds;
    if (others.length === 0) left.splice(left.indexOf(next), 1);
  }
  return order;
}
