import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Button } from 'react-aria-components';
import { etagOf } from '@longhaul/client';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { Fault } from '../ui/notice.tsx';
import { useIntent } from '../ui/use-intent.ts';
import { Backfill } from './backfill.tsx';
import { triggerTexts as x } from './messages.ts';
import { scheduleRoute } from './routes.ts';
import { EditSchedule } from './schedule-forms.tsx';

const s = x.schedule;

export function ScheduleActions({ schedule }: { readonly schedule: Views['ScheduleView'] }) {
  const { workspaceId } = scheduleRoute.useParams();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const mayWrite = useMay('member');
  const mayBackfill = useMay('admin');
  const { id, is_active } = schedule;
  const refresh = () => {
    void queries.invalidateQueries({ queryKey: ['schedule', id] });
    void queries.invalidateQueries({ queryKey: ['occurrences', id] });
  };
  const pause = useIntent(async (content: { readonly is_active: boolean }, options) => {
    await api.updateSchedule({ schedule_id: id, ...content }, { ...options, ifMatch: etagOf(schedule) }).finally(refresh);
  });
  if (!mayWrite) return null;
  return (
    <>
      {pause.error !== null && <Fault error={pause.error} />}
      <div className="actions">
        <EditSchedule scheduleId={id} />
        <Button isPending={pause.isBusy} onPress={() => void pause.send({ is_active: !is_active })}>
          {is_active ? s.pause : s.resume}
        </Button>
        <ActionDialog
          label={s.trigger}
          title={s.triggerTitle}
          submit={s.triggerSubmit}
          content={{ schedule_id: id }}
          write={(content, options) => api.triggerSchedule(content, options)}
          onDone={refresh}
        >
          <p>{s.triggerText}</p>
        </ActionDialog>
        {mayBackfill && <Backfill scheduleId={id} onDone={refresh} />}
        <ActionDialog
          label={x.delete}
          title={s.deleteTitle}
          submit={s.deleteSubmit}
          tone="danger"
          content={{ schedule_id: id }}
          write={(content) => api.deleteSchedule(content)}
          onDone={() => void navigate({ to: '/w/$workspaceId/schedules', params: { workspaceId } })}
        >
          <p>{s.deleteText}</p>
        </ActionDialog>
      </div>
    </>
  );
}
