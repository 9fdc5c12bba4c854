import { t } from '../messages/en.ts';
import { Choice } from '../ui/choice.tsx';

export type RevisionChosen = 'pinned' | 'current';

/** Whether a run that repeats another takes its revision, or the one that is active now. */
export function RevisionChoice({
  value,
  onChange,
}: {
  readonly value: RevisionChosen;
  readonly onChange: (value: RevisionChosen) => void;
}) {
  return (
    <Choice
      label={t.run.revision}
      value={value}
      onChange={onChange}
      options={[
        { id: 'pinned', label: t.run.pinned },
        { id: 'current', label: t.run.current },
      ]}
    />
  );
}
