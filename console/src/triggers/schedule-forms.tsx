import { useQueryClient } from '@tanstack/react-query';
import { etagOf } from '@longhaul/client';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import type { FormField, Values } from '../ui/form-fields.tsx';
import { useAgents } from '../app/use-agents.ts';
import { choices, instantOf, isTrue, momentOf, textOf } from '../ui/form-values.ts';
import { templateFields, templatesOf, templateValues } from './definition.ts';
import { triggerTexts as x } from './messages.ts';
import { NextTimes } from './next-times.tsx';

const s = x.schedule;

const byCadence: Readonly<Record<keyof typeof s.cadences, FormField>> = {
  cron: { name: 'cron', label: s.cron, hint: s.cronHint },
  every: { name: 'every_seconds', label: s.every, inputMode: 'numeric' },
  once: { kind: 'moment', name: 'run_at', label: s.runAt },
};

/** Of the cadences, that which is chosen alone has its field. */
const own = ({ cadence }: Values): readonly FormField[] => [
  { kind: 'choice', name: 'cadence', label: s.cadence, options: choices(s.cadences) },
  byCadence[cadence === 'every' || cadence === 'once' ? cadence : 'cron'],
  { name: 'timezone', label: s.timezone },
  { kind: 'choice', name: 'gap', label: s.gap, options: choices(s.gaps) },
  { kind: 'choice', name: 'repeat', label: s.repeat, options: choices(s.repeats) },
  { kind: 'choice', name: 'overlap', label: s.overlap, options: choices(s.overlaps) },
  { name: 'catch_up_seconds', label: s.catchUp, inputMode: 'numeric' },
  { name: 'jitter_seconds', label: s.jitter, inputMode: 'numeric' },
  { kind: 'moment', name: 'starts_at', label: s.starts },
  { kind: 'moment', name: 'ends_at', label: s.ends },
  { name: 'pause_after_failures', label: s.failures, inputMode: 'numeric' },
  { kind: 'check', name: 'is_active', label: x.active },
];

/** When it runs, as the preview and both writes take it: one cadence alone. */
export function cadenceOf(values: Values) {
  const cadence = values['cadence'];
  const shared = {
    timezone: textOf(values['timezone']) ?? 'UTC',
    dst: { gap: values['gap'] === 'skip' ? 'skip' : 'shift', repeat: values['repeat'] === 'twice' ? 'twice' : 'once' },
    starts_at: instantOf(values['starts_at']),
    ends_at: instantOf(values['ends_at']),
  } as const;
  const cron = textOf(values['cron']);
  const run_at = instantOf(values['run_at']);
  if (cadence === 'cron') return cron === null ? null : { ...shared, cron };
  if (cadence === 'once') return run_at === null ? null : { ...shared, run_at };
  return textOf(values['every_seconds']) === null ? null : { ...shared, every_seconds: Number(values['every_seconds']) };
}

const overlaps = ['skip', 'buffer_one', 'cancel_other', 'allow_all'] as const;

function toFields(values: Values) {
  const cadence = cadenceOf(values);
  const templates = templatesOf(values);
  const name = textOf(values['name']);
  const prompt_template = values['prompt_template'] ?? '';
  if (cadence === null || templates === null || name === null || prompt_template.trim() === '') return null;
  return {
    ...cadence,
    ...templates,
    name,
    prompt_template,
    overlap: overlaps.find((one) => one === values['overlap']) ?? 'skip',
    catch_up_seconds: Number(values['catch_up_seconds']),
    jitter_seconds: Number(values['jitter_seconds']),
    pause_after_failures: Number(values['pause_after_failures']),
    is_active: isTrue(values['is_active']),
  };
}

const preview = (values: Values) => <NextTimes cadence={cadenceOf(values)} />;

export function AddSchedule({ workspaceId }: { readonly workspaceId: string }) {
  const queries = useQueryClient();
  const agents = useAgents();
  return (
    <FormDialog<Views['ScheduleCreate']>
      label={s.add}
      title={s.addTitle}
      submit={t.actions.save}
      isPrimary
      fields={(values) => [
        { name: 'name', label: x.name },
        { kind: 'choice', name: 'agent_id', label: x.agent, options: agents.options },
        ...own(values),
        ...templateFields,
      ]}
      preview={preview}
      initial={{
        agent_id: agents.options[0]?.id ?? '',
        cadence: 'cron',
        timezone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
        gap: 'shift',
        repeat: 'once',
        overlap: 'skip',
        catch_up_seconds: '600',
        jitter_seconds: '0',
        pause_after_failures: '0',
        is_active: 'true',
        subject_kind: 'none',
      }}
      toContent={(values) => {
        const fields = toFields(values);
        const agent_id = values['agent_id'] ?? '';
        return fields === null || agent_id === '' ? null : { ...fields, agent_id, workspace_id: workspaceId };
      }}
      write={(content, options) => api.createSchedule(content, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['schedules'] })}
    />
  );
}

export function EditSchedule({ scheduleId }: { readonly scheduleId: string }) {
  const queries = useQueryClient();
  return (
    <FormDialog
      label={x.edit}
      title={s.editTitle}
      submit={t.actions.save}
      fields={(values) => [{ name: 'name', label: x.name }, ...own(values), ...templateFields]}
      preview={preview}
      read={async () => {
        const now = await api.getSchedule({ schedule_id: scheduleId });
        return { values: valuesOf(now), etag: etagOf(now) };
      }}
      toContent={toFields}
      write={(content, options) => api.updateSchedule({ schedule_id: scheduleId, ...content }, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['schedule', scheduleId] })}
    />
  );
}

function valuesOf(now: Views['ScheduleView']): Values {
  return {
    ...templateValues(now),
    name: now.name,
    cadence: now.cron !== null ? 'cron' : now.run_at !== null ? 'once' : 'every',
    cron: now.cron ?? '',
    every_seconds: now.every_seconds === null ? '' : String(now.every_seconds),
    run_at: momentOf(now.run_at),
    timezone: now.timezone,
    gap: now.dst.gap,
    repeat: now.dst.repeat,
    overlap: now.overlap,
    catch_up_seconds: String(now.catch_up_seconds),
    jitter_seconds: String(now.jitter_seconds),
    starts_at: momentOf(now.starts_at),
    ends_at: momentOf(now.ends_at),
    pause_after_failures: String(now.pause_after_failures),
    is_active: now.is_active ? 'true' : '',
  };
}
