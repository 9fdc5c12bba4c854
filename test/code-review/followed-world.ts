import type { FakePull } from '../fakes/github/state.ts';
import { deliver, payloadOf, type HookFacts } from '../fakes/github/hooks.ts';
import { openPull, pushTo, sendPullEvent } from '../fakes/github/scene.ts';
import { created } from '../support/scenario.ts';
import { until } from '../support/temporal.ts';
import { openReviews, type ReviewWorld, type ReviewWorldOptions } from './review-world.ts';

/** A run of a pull request as its row says. */
export interface FollowedRun {
  readonly id: string;
  readonly status: string;
  readonly finish_reason: string | null;
  readonly review_head_sha: string | null;
  readonly playbook_revision_id: string;
  readonly review: Readonly<Record<string, unknown>>;
}

/** A deployment that hears of what happens at the host: the App's hook is an endpoint of it. */
export interface FollowedWorld extends ReviewWorld {
  /** Opens a pull request and tells of it. */
  opened(branch: string, files: Readonly<Record<string, string>>): Promise<FakePull>;
  /** Pushes and tells of it. */
  pushed(pull: FakePull, files: Readonly<Record<string, string>>): Promise<string>;
  tell(pull: FakePull, action: string, more?: object): Promise<void>;
  say(pull: FakePull, event: string, action: string, facts: Partial<HookFacts>): Promise<void>;
  runsOf(pull: FakePull): Promise<FollowedRun[]>;
  /** Waits until so many runs are there and all of them have ended. */
  settled(pull: FakePull, count: number): Promise<FollowedRun[]>;
}

export async function openFollowed(options: ReviewWorldOptions = {}): Promise<FollowedWorld> {
  const world = await openReviews(options);
  const { stack, scene, host } = world;
  const slug = 'github';
  const body = { agent_id: world.agentId, slug, event_kind: 'github', response_mode: 'ack', rate_limit_per_minute: 10_000 };
  const { secret } = (await created(stack, '/webhook-endpoints', body)) as { id: string; secret: string };
  scene.app.hook = { url: `${stack.url('api')}/hooks/${stack.tenant.workspaceId}/${slug}`, secret };

  const runsOf = (pull: FakePull) =>
    world.sql<FollowedRun>(
      `select r.id, r.status, r.finish_reason, r.review_head_sha, r.playbook_revision_id, r.review from runs r join review_pull_requests p on p.id = r.review_pull_request_id
        where p.pull_number = ? and p.binding_id = ? order by r.review_round`,
      [pull.number, world.bindingId],
    );
  const tell = async (pull: FakePull, action: string, more: object = {}) => {
    const { statusCode } = await sendPullEvent(host, scene, { pull, action, more });
    if (statusCode !== 200) throw new Error(`the hook answered ${statusCode}`);
  };

  return {
    ...world,
    // Members that tests set are those of the world itself.
    get answers() {
      return world.answers;
    },
    set answers(answers) {
      world.answers = answers;
    },
    async opened(branch, files) {
      const pull = openPull(scene.repository, { branch, files });
      await tell(pull, 'opened');
      return pull;
    },
    async pushed(pull, files) {
      const sha = pushTo(scene.repository, pull, { files });
      await tell(pull, 'synchronize');
      return sha;
    },
    tell,
    async say(pull, event, action, facts) {
      const payload = payloadOf(event, action, { installation: scene.installation, repository: scene.repository, ...facts });
      const { statusCode } = await deliver(host.state, scene.app, { event, payload });
      if (statusCode !== 200) throw new Error(`the hook answered ${statusCode}`);
    },
    runsOf,
    async settled(pull, count) {
      let last: FollowedRun[] = [];
      await until(async () => {
        last = await runsOf(pull);
        return last.length >= count && last.every(({ status }) => ['succeeded', 'failed', 'cancelled'].includes(status));
      });
      return last;
    },
  };
}
