import type { AlertRule } from '../../db/alerts/alert-rule.entity.ts';
import { alertSnapshot } from '../../db/alerts/alert-snapshot.ts';
import { writeDeliveries, type WrittenDelivery } from '../../db/alerts/deliveries.ts';
import { countTests, nextTestSeq, type TestDelivery } from '../../db/alerts/tests.ts';
import type { AlertTarget } from '../../db/alerts/alert-target.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { fail } from '../../workflows/contracts/failure.ts';

/** The most tests of one rule in a minute. */
const maxTests = 5;

/** The result of a test at one target. */
export interface TestResult {
  readonly targetIndex: number;
  readonly kind: AlertTarget['kind'];
  readonly outcome: 'sent' | 'failed' | 'pending';
  readonly statusCode: number | null;
  readonly latencyMs: number | null;
  readonly error: string | null;
}

/** Writes a test message to each target of a locked rule. Throws 429 for the sixth test in a minute. */
export async function startTest(tx: TenantTransaction, rule: AlertRule, at: Date): Promise<WrittenDelivery[]> {
  const { tests, freeInS } = await countTests(tx, rule.id);
  if (tests >= maxTests)
    throw fail('rate_limited', { detail: `A rule can be tested at most ${maxTests} times a minute.`, retryAfterS: freeInS });

  const seq = await nextTestSeq(tx, rule.id);
  return writeDeliveries(tx, { alertId: null, seq, event: 'test', snapshot: sampleOf(rule, at), targets: rule.targets });
}

/** A sample alert of the rule, with its threshold as the value. */
function sampleOf(rule: AlertRule, at: Date) {
  const { organizationId, workspaceId, threshold } = rule;
  return alertSnapshot(
    {
      id: null,
      organizationId,
      workspaceId,
      ruleId: rule.id,
      labels: {},
      status: 'firing',
      severity: 'critical',
      title: `Test of the alert rule ${rule.name}: nothing has happened`,
      value: threshold,
      threshold,
      openedAt: at,
      lastSeenAt: at,
      acknowledgedAt: null,
      acknowledgedByUserId: null,
      snoozedUntil: null,
      resolvedAt: null,
      resolvedByUserId: null,
      resolution: null,
      updatedAt: at,
    },
    rule,
  );
}

/** The results of a test by target: the worst of several recipients. */
export function resultsOf(
  targets: readonly AlertTarget[],
  written: readonly WrittenDelivery[],
  found: readonly TestDelivery[],
): TestResult[] {
  return targets.map((target, targetIndex) => {
    const own = written.filter((delivery) => delivery.targetIndex === targetIndex).map(({ id }) => found.find((one) => one.id === id));
    return { targetIndex, kind: target.kind, ...(own.length === 0 ? nobody : worst(own.map(resultOf))) };
  });
}

type Outcome = Omit<TestResult, 'targetIndex' | 'kind'>;

const pending: Outcome = { outcome: 'pending', statusCode: null, latencyMs: null, error: null };
const nobody: Outcome = {
  outcome: 'failed',
  statusCode: null,
  latencyMs: null,
  error: 'there is no one to notify, or another target already covers them',
};

function resultOf(delivery: TestDelivery | undefined): Outcome {
  if (!delivery || delivery.status === 'queued') return pending;
  const { lastStatus: statusCode, latencyMs, lastError } = delivery;
  const outcome = delivery.status === 'sent' ? 'sent' : 'failed';
  return { outcome, statusCode, latencyMs, error: outcome === 'sent' ? null : lastError };
}

function worst(outcomes: readonly Outcome[]): Outcome {
  return (
    outcomes.find(({ outcome }) => outcome === 'failed') ?? outcomes.find(({ outcome }) => outcome === 'pending') ?? outcomes[0] ?? pending
  );
}
