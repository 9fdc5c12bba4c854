import { activityInfo } from '@temporalio/activity';
import { filesToFetch, readAnswered } from '../../db/channels/answered.ts';
import { fillAwaited, giveUpAwaited } from '../../domain/attachments/attachments.ts';
import { storeFile } from '../../ports/storage/attachment-bytes.ts';
import { serviceOf } from '../../ports/channels/services.ts';
import { deadlineIn } from '../../ports/deadline.ts';
import { EgressRefused, EgressUnreachable } from '../../ports/egress/egress.ts';
import type { ChannelReplyInput } from '../../workflows/contracts/triggers/channels.ts';
import { Failure, fail } from '../../workflows/contracts/failure.ts';
import type { ActivityDeps } from '../deps.ts';
import { readAsSystem, transactAsSystem } from '../support/as-system.ts';
import { readyChannel, serviceDeps, type ReadyChannel } from './channel-deps.ts';

const maxFileBytes = 20 * 1024 * 1024;
const maxFileMs = 50_000;
/** As many attempts as the workflow makes. */
const maxAttempts = 3;

type FileToFetch = Awaited<ReturnType<typeof filesToFetch>>[number];

/** Stores the files of the messages of a run. A file that can't be fetched is rejected, and the run goes on without it. */
export async function fetchFiles(deps: ActivityDeps, { messageId }: ChannelReplyInput): Promise<void> {
  const found = await readAsSystem(deps, async (tx) => {
    const message = await readAnswered(tx, messageId);
    const files = message?.runId ? await filesToFetch(tx, message.runId) : [];
    const ready = message && files.length > 0 ? await readyChannel(deps, tx, message.channelId) : null;
    return { files, ready };
  });
  let fault: unknown = null;
  for (const file of found.files) {
    try {
      await fetchOne(deps, found.ready, file);
    } catch (error) {
      if (!mayPass(error)) throw error;
      if (activityInfo().attempt < maxAttempts) fault = error;
      else await transactAsSystem(deps, (tx) => giveUpAwaited(tx, file.attachmentId));
    }
  }
  if (fault !== null) throw fault;
}

async function fetchOne(deps: ActivityDeps, ready: ReadyChannel | null, file: FileToFetch): Promise<void> {
  const stored = ready && (await store(deps, ready, file));
  await transactAsSystem(deps, (tx) =>
    stored
      ? fillAwaited(tx, file.attachmentId, { ...stored, isScanned: deps.env.attachments.scan !== null })
      : giveUpAwaited(tx, file.attachmentId),
  );
}

/** Returns null when the file may not be fetched, or not be stored. */
async function store(deps: ActivityDeps, { channel, policy }: ReadyChannel, { source, name, storageKey }: FileToFetch) {
  const service = serviceOf(channel.kind);
  const address = (await service.fileAt?.(serviceDeps(deps, policy), channel, source)) ?? null;
  if (address === null) return null;
  const signal = deadlineIn(maxFileMs);
  try {
    const answer = await deps.egress.open({
      method: 'GET',
      url: address.url,
      headers: address.headers,
      policy: address.policy,
      redirects: 0,
      signal,
    });
    if (answer.status === 429 || answer.status >= 500) {
      answer.body.destroy();
      throw fail('upstream_failed', { detail: `The file server answered ${answer.status}.` });
    }
    if (answer.status !== 200) {
      answer.body.destroy();
      return null;
    }
    const maxBytes = Math.min(maxFileBytes, deps.env.attachments.maxBytes);
    return await storeFile(deps.storage, storageKey, { filename: name, bytes: answer.body }, { maxBytes, signal });
  } catch (error) {
    if (error instanceof EgressRefused) return null;
    if (error instanceof Failure && (error.code === 'payload_too_large' || error.code === 'unsupported_media_type')) return null;
    throw error;
  }
}

function mayPass(error: unknown): boolean {
  if (error instanceof EgressUnreachable || (error instanceof Error && error.name === 'TimeoutError')) return true;
  return error instanceof Failure && error.code === 'upstream_failed';
}
