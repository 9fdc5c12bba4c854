import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { api, type Views } from '../app/api.ts';
import { Fault, Notice } from '../ui/notice.tsx';
import { triggerTexts as x } from './messages.ts';

const settleMs = 400;

/** The next times of a cadence, as its author types, in plain words, with what the clocks do to them. null: nothing to ask yet. */
export function NextTimes({ cadence }: { readonly cadence: Views['SchedulePreview'] | null }) {
  const text = JSON.stringify(cadence);
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    if (text === settled) return;
    const timer = setTimeout(() => setSettled(text), settleMs);
    return () => clearTimeout(timer);
  }, [text, settled]);
  const asked = JSON.parse(settled) as Views['SchedulePreview'] | null; // written above
  const { data, error, isFetching } = useQuery({
    queryKey: ['schedule-preview', settled],
    queryFn: ({ signal }) => api.previewSchedule({ ...asked, count: 10 }, { signal }),
    enabled: asked !== null,
    retry: false,
    staleTime: 30_000,
  });
  if (asked === null) return null;
  return (
    <section aria-label={x.schedule.preview} className="stack">
      <h3>{x.schedule.preview}</h3>
      <p role="status">{isFetching && data === undefined ? x.schedule.previewing : (data?.description ?? '')}</p>
      {error !== null && <Fault error={error} />}
      {data?.instants.length === 0 && <p className="hint">{x.schedule.noTimes}</p>}
      {data !== undefined && data.instants.length > 0 && (
        <ol>
          {data.instants.map(({ at, local_time, note }) => (
            <li key={at}>
              <time dateTime={at}>{local_time}</time> {note?.replaceAll('_', ' ')}
            </li>
          ))}
        </ol>
      )}
      {data !== undefined && data.warnings.length > 0 && (
        <Notice tone="warn" text={x.endpoint.warnings} detail={data.warnings.map(({ message }) => message)} />
      )}
    </section>
  );
}
