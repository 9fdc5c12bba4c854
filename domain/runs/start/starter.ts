import { invalid } from '../../../workflows/contracts/failure.ts';
import { attachmentsForRuns } from '../../attachments/run-attachments.ts';
import type { AttachmentRef } from '../../../db/attachments/run-attachments.ts';
import { refuseRank } from '../../../db/caller-scope.ts';
import type { Scoped } from '../../../db/scope.ts';
import { usersSeen } from '../../../db/identity/people/users.ts';
import type { RunInitiator, StartRun } from '../../../db/runs/start/start-run.ts';

export interface StartScope {
  readonly organizationId: string;
  readonly workspaceId: string;
}

/** What a start names beside its agent, looked up. */
export interface NamedThings {
  /**
   * Throws 403 when the starter's role is below the floor, 422 for a user whom the starter can't see, 403 for another user as subject when the starter is below
   * admin.
   */
  refusePlace(): void;
  /** Returns the files that the start's input names, in its order; throws when one of them may not be used. */
  attachments(): readonly AttachmentRef[];
}

interface Placed {
  readonly start: StartRun;
  readonly place: StartScope | null;
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Looks up the users and files that starts name, each kind in one statement for all starts. All starts have the same starter, or none when the platform starts
 * them.
 */
export async function readNamed(starts: readonly Placed[]): Promise<(n: number) => NamedThings> {
  const starter = starts.find(({ start }) => start.starter)?.start.starter ?? null;
  const seen = await readSubjects(starter, starts);
  const files = await readFiles(starter, starts);

  return (n) => {
    const { start, place } = starts[n] ?? { start: null, place: null };
    return {
      refusePlace: () => {
        if (start?.starter && place) refusePlace(start.starter, { start, place }, seen);
      },
      attachments: () => (start?.starter ? files(n) : (start?.input.attachments ?? [])),
    };
  };
}

function refusePlace(
  { ctx, floor }: RunInitiator,
  { start, place }: { start: StartRun; place: StartScope },
  seen: ReadonlySet<string>,
): void {
  refuseRank(ctx.caller, place.workspaceId, floor);
  const other = otherUser(ctx, start);
  if (other === null) return;
  if (!seen.has(`${place.organizationId}/${other}`))
    throw invalid('/subject/id', 'reference', 'The user does not exist.', { kind: 'user' });
  refuseRank(ctx.caller, place.workspaceId, 'admin');
}

/** The subject of the run when it is another user than the caller. */
function otherUser({ caller }: Scoped, { subject }: StartRun): string | null {
  return subject?.kind === 'user' && subject.id !== caller.userId ? subject.id : null;
}

function readSubjects(starter: RunInitiator | null, starts: readonly Placed[]): Promise<ReadonlySet<string>> {
  const users = starts.flatMap(({ start, place }) => {
    const userId = starter && otherUser(starter.ctx, start);
    return place && userId && uuid.test(userId) ? [{ userId, organizationId: place.organizationId }] : [];
  });
  return starter && users.length > 0 ? usersSeen(starter.ctx, users) : Promise.resolve(new Set());
}

function readFiles(starter: RunInitiator | null, starts: readonly Placed[]): Promise<(n: number) => readonly AttachmentRef[]> {
  const asked = starts.map(({ start, place }) => ({ ids: start.attachmentIds ?? [], workspaceId: place?.workspaceId ?? null }));
  return starter && asked.some(({ ids }) => ids.length > 0) ? attachmentsForRuns(starter.ctx, asked) : Promise.resolve(() => []);
}
