import { cancellationSignal } from '@temporalio/activity';
import { readCommandState, type CommandState } from '../../../db/code-review/posts/command-state.ts';
import { readRepositoryPlace } from '../../../db/code-review/bindings/bindings.ts';
import { obeyCommand, obeyedBefore, refuseCommand } from '../../../domain/code-review/obey-command.ts';
import { permissionOf } from '../../../ports/github/collaborators.ts';
import type { ObeyedCommand } from '../../../workflows/contracts/review/pull-requests.ts';
import type { ActivityDeps } from '../../deps.ts';
import { readAsSystem, transactAsSystem } from '../../support/as-system.ts';
import { onHost } from './host-failure.ts';
import { openRepository } from '../read/open-repository.ts';

/**
 * Decides on a queued command: a sender who may write to the repository is obeyed, any other gets no answer. The host is asked before the transaction that
 * obeys. What is then written to the host is left to the posting activities.
 */
export async function takeCommand(deps: ActivityDeps, { commandId }: { readonly commandId: string }): Promise<ObeyedCommand> {
  const command = await readAsSystem(deps, (tx) => readCommandState(tx, commandId));
  if (command === null) return { isAccepted: false, hasReply: false, threads: false };
  if (command.state !== 'queued') return obeyedBefore(command);
  if (!(await mayCommand(deps, command))) {
    await transactAsSystem(deps, (tx) => refuseCommand(tx, command.id, 'no_permission'));
    return { isAccepted: false, hasReply: false, threads: false };
  }
  return transactAsSystem(deps, (tx) => obeyCommand(tx, command, { currency: deps.env.billingCurrency }));
}

async function mayCommand(deps: ActivityDeps, { bindingId, sender }: CommandState): Promise<boolean> {
  const repository = await readAsSystem(deps, (tx) => readRepositoryPlace(tx, bindingId));
  if (repository === null || sender === '') return false;
  return onHost(async () => {
    const client = await openRepository(deps, repository);
    const permission = await permissionOf(client, sender, cancellationSignal());
    return permission === 'write' || permission === 'admin';
  });
}
