import { useQueryClient } from '@tanstack/react-query';
import { useImperativeHandle, type Ref } from 'react';
import { Button } from 'react-aria-components';
import { api } from '../app/api.ts';
import { approvalTexts } from './messages.ts';
import { Fault } from '../ui/notice.tsx';
import { useIntent } from '../ui/use-intent.ts';
import styles from './approvals.module.css';
import type { Question } from './question.ts';

export interface ApproveSelectedHandle {
  approve(): void;
}

interface ApproveSelectedProps {
  readonly questions: readonly Question[];
  readonly ref?: Ref<ApproveSelectedHandle>;
  readonly onDone: (count: number) => void;
  readonly onClear: () => void;
}

/** Approves what is selected, each with the hash of the arguments on screen. The questions of one run are answered together, all or none. */
export function ApproveSelected({ questions, ref, onDone, onClear }: ApproveSelectedProps) {
  const queries = useQueryClient();
  const { send, isBusy, error } = useIntent(approveAll);
  const approve = async () => {
    const isDone = await send(partsOf(questions));
    if (isDone) onDone(questions.length);
    await queries.invalidateQueries({ queryKey: ['approvals'] });
  };
  useImperativeHandle(ref, () => ({ approve: () => void (questions.length > 0 && approve()) }));
  if (questions.length === 0 && error === null) return null;
  return (
    <section className={styles.selected} aria-label={approvalTexts.selected(questions.length)}>
      {error !== null && <Fault error={error} />}
      <p role="status">
        {approvalTexts.selected(questions.length)} <span className="hint">{approvalTexts.together}</span>
      </p>
      {questions.length > 0 && (
        <div className="actions">
          <Button className="react-aria-Button primary" isPending={isBusy} onPress={() => void approve()}>
            {approvalTexts.approveSelected(questions.length)}
          </Button>
          <Button isDisabled={isBusy} onPress={onClear}>
            {approvalTexts.clearSelected}
          </Button>
        </div>
      )}
    </section>
  );
}

interface Part {
  readonly runId: string;
  readonly questions: readonly { readonly approval_id: string; readonly args_hash: string | null }[];
}

function partsOf(questions: readonly Question[]): Part[] {
  const byRun = Map.groupBy(questions, ({ runId }) => runId);
  return [...byRun].map(([runId, asked]) => ({
    runId,
    questions: asked.map(({ id, argsHash }) => ({ approval_id: id, args_hash: argsHash })),
  }));
}

/** One request for each run, under a key of its own: sent again, what was done answers as it did. */
async function approveAll(parts: readonly Part[], { idempotencyKey }: { readonly idempotencyKey: string }): Promise<void> {
  for (const { runId, questions } of parts)
    await api.resolveRunApprovals(
      {
        run_id: runId,
        resolutions: questions.map(({ approval_id, args_hash }) => ({
          approval_id,
          decision: 'approve' as const,
          ...(args_hash !== null && { args_hash }),
        })),
      },
      { idempotencyKey: `${idempotencyKey}:${runId}` },
    );
}
