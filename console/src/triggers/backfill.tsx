import { useState } from 'react';
import { Button } from 'react-aria-components';
import { api, type Views } from '../app/api.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { FormFields, type Values } from '../ui/form-fields.tsx';
import { Fault, Notice } from '../ui/notice.tsx';
import { Time } from '../ui/time.tsx';
import { useIntent } from '../ui/use-intent.ts';
import { choices, instantOf } from '../ui/form-values.ts';
import { triggerTexts as x } from './messages.ts';

const s = x.schedule;

interface BackfillProps {
  readonly scheduleId: string;
  readonly onDone: () => void;
}

/** Starts runs for times that have passed. What it would start is counted first, and only what was counted can be started. */
export function Backfill({ scheduleId, onDone }: BackfillProps) {
  const [values, setValues] = useState<Values>({ order: 'sequential', max_runs: '100' });
  const [counted, setCounted] = useState<{ readonly of: string; readonly view: Views['ScheduleBackfillView'] } | null>(null);
  const [begun, setBegun] = useState<number | null>(null);
  const content = contentOf(scheduleId, values);
  const current = counted !== null && counted.of === JSON.stringify(content) ? counted.view : null;
  const count = useIntent(async (asked: NonNullable<typeof content>, options) => {
    const view = await api.backfillSchedule({ ...asked, dry_run: true }, options);
    setCounted({ of: JSON.stringify(asked), view });
  });
  return (
    <>
      <ActionDialog
        label={s.backfill}
        title={s.backfillTitle}
        submit={s.startRuns(current?.planned ?? 0)}
        content={current !== null && current.planned > 0 ? content : null}
        write={async (asked, options) => setBegun((await api.backfillSchedule(asked, options)).planned)}
        onOpen={() => setCounted(null)}
        onDone={onDone}
      >
        {count.error !== null && <Fault error={count.error} />}
        <FormFields
          fields={[
            { kind: 'moment', name: 'from', label: s.from },
            { kind: 'moment', name: 'to', label: s.to },
            { kind: 'choice', name: 'order', label: s.order, options: choices(s.orders) },
            { name: 'max_runs', label: s.max, inputMode: 'numeric' },
          ]}
          values={values}
          errors={{}}
          onChange={(name, value) => setValues((all) => ({ ...all, [name]: value }))}
        />
        <Button isDisabled={content === null} isPending={count.isBusy} onPress={() => content !== null && void count.send(content)}>
          {s.dryRun}
        </Button>
        <p role="status">{current === null ? '' : s.planned(current.planned, current.already_run)}</p>
        {current !== null && current.instants.length > 0 && (
          <ol aria-label={s.firstTimes}>
            {current.instants.slice(0, 10).map((at) => (
              <li key={at}>
                <Time at={at} />
              </li>
            ))}
          </ol>
        )}
      </ActionDialog>
      {begun !== null && <Notice tone="plain" text={s.started(begun)} />}
    </>
  );
}

function contentOf(schedule_id: string, values: Values) {
  const from = instantOf(values['from']);
  const to = instantOf(values['to']);
  if (from === null || to === null) return null;
  const overlap = values['order'] === 'allow_all' ? ('allow_all' as const) : ('sequential' as const);
  return { schedule_id, from, to, overlap, max_runs: Number(values['max_runs']) };
}
