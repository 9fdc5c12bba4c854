import { api, type Views } from '../app/api.ts';
import { JsonDiff } from '../ui/json-diff.tsx';
import { ListState, Section } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { Time } from '../ui/time.tsx';
import { skillTexts as k } from './messages.ts';

type Version = Views['SkillVersionView'];

/** The versions of a skill, newest first, each with what it changed in the one before. */
export function SkillVersions({ skillId }: { readonly skillId: string }) {
  const list = usePagedList<Version>({
    queryKey: ['skill', skillId, 'versions'],
    fetchPage: (cursor, signal) => api.listSkillVersions({ skill_id: skillId, cursor, limit: 20 }, { signal }),
  });
  return (
    <Section title={k.versions}>
      {list.rows.map(({ version, origin, created_at, instructions }, index) => (
        <details key={version}>
          <summary>
            {`${k.columns.version} ${version}, ${origin} `}
            <Time at={created_at} />
          </summary>
          <JsonDiff label={k.changes(version)} before={list.rows[index + 1]?.instructions ?? ''} after={instructions} />
        </details>
      ))}
      <ListState list={list} />
    </Section>
  );
}
