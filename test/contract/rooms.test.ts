import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../..');
/** What changes rows: typed statements, text, entities. */
const writing =
  /\.(?:insertInto|updateTable|deleteFrom|mergeInto)\(|\bem\.(?:create|persist|remove|flush|native\w+)\(|\b(?:change|queueStatement|removeOne)\(|`\s*(?:insert into|update|delete from|with (?=[^`]*\b(?:insert into|update \w+(?: \w+)? set|delete from)\b))/;

const areas = readdirSync(join(root, 'db'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'migrations')
  .map(({ name }) => name);
const callers = ['api', 'activities', 'workers', 'temporal', 'cli'].flatMap(sourcesIn);

test('every area that changes rows has its two rooms', () => {
  // An area that is only read has no rules.
  const changing = areas.filter((area) => writersOf(area).length > 0);

  expect(changing.length).toBeGreaterThan(20);
  expect(changing.filter((area) => !existsSync(join(root, 'domain', area)))).toEqual([]);
});

test('what changes rows of an area is called by its rules alone', () => {
  const writers = areas.flatMap(writersOf);
  const passingBy = callers.flatMap((file) => {
    const imported = [
      ...readFileSync(join(root, file), 'utf8').matchAll(/(?:^(?:import|export) (?!type)[^;]*? from |\bimport\()'((?:\.\.\/)+)([^']+)'/gm),
    ];
    return imported.filter(([, , target]) => writers.includes(target ?? '')).map(([, , target]) => `${file} → ${target}`);
  });

  expect(writers).not.toEqual([]);
  expect(passingBy).toEqual([]);
});

test('rows of an area are changed outside its rules neither by statement nor by entity', () => {
  const rows = areas.flatMap((area) => sourcesIn(`db/${area}`).flatMap(entityOf));
  const faults = callers.flatMap((file) => changesOf(readFileSync(join(root, file), 'utf8'), rows).map((change) => `${file}: ${change}`));

  expect(rows).toContainEqual({ table: 'skills', entity: 'Skill' });
  expect(faults).toEqual([]);
});

test.each([
  ["await change(ctx.em, query.updateTable('skills').set({ slug }))", "updateTable('skills'"],
  ["with.insertInto('skills')", "insertInto('skills'"],
  ['await change(em, [`update skills set slug = $1`])', 'update skills'],
  ['sql`delete from skills where id = ${id}`', 'delete from skills'],
  ['ctx.em.create(Skill, { slug })', 'em.create(Skill'],
  ['tx.em.nativeDelete(Skill, { id })', 'em.nativeDelete(Skill'],
  ['const skill = await seeForChange(ctx, Skill, id);\nskill.slug = body.slug;', 'skill.slug ='],
  ['const found = await see(ctx, Skill, id);\nfound.retiredAt ??= now;', 'found.retiredAt ??='],
  ['const skill = await seeForChange(ctx, Skill, id);\nObject.assign(skill, body);', 'assign(skill'],
])('of a file of the API, `%s` is a change of rows', (source, change) => {
  expect(changesOf(source, [{ table: 'skills', entity: 'Skill' }])).toEqual([change]);
});

test('reading a row, comparing it and handing it to its rules is no change', () => {
  const source =
    "const skill = await seeForChange(ctx, Skill, id);\nif (skill.slug === 'x') await updateSkill(ctx, skill);\nquery.selectFrom('skills')";

  expect(changesOf(source, [{ table: 'skills', entity: 'Skill' }])).toEqual([]);
});

test('an area refuses nothing in db, but that a row is not there', () => {
  const refusing = areas
    .flatMap((area) => sourcesIn(`db/${area}`))
    .filter((file) => /\binvalid\(|\bfail\((?!'not_found'\))/.test(readFileSync(join(root, file), 'utf8')));

  expect(refusing).toEqual([]);
});

function writersOf(area: string): string[] {
  return sourcesIn(`db/${area}`).filter((file) => writing.test(readFileSync(join(root, file), 'utf8')));
}

interface Rows {
  readonly table: string;
  readonly entity: string;
}

function entityOf(file: string): Rows[] {
  const source = readFileSync(join(root, file), 'utf8');
  const [entity, table] = [/\bname: '(\w+)',\n\s+tableName:/.exec(source)?.[1], /\btableName: '(\w+)'/.exec(source)?.[1]];
  return entity !== undefined && table !== undefined ? [{ table, entity }] : [];
}

/** What a source does to such rows by itself: statements that name their table, entities made, removed or assigned to. */
function changesOf(source: string, rows: readonly Rows[]): string[] {
  const named = rows.filter(({ table, entity }) => source.includes(table) || source.includes(entity));
  return named.flatMap(({ table, entity }) => {
    const fetched = [...source.matchAll(new RegExp(`\\bconst (\\w+) = await \\w+\\(\\w+(?:\\.em)?, ${entity},`, 'g'))].map(
      ([, name]) => name ?? '',
    );
    const patterns = [
      `(?:insertInto|updateTable|deleteFrom|mergeInto)\\('${table}'`,
      `\\b(?:insert into|update|delete from) ${table}\\b`,
      `\\bem\\.(?:create|insert|upsert|remove|native)\\w*\\(${entity}\\b`,
      ...fetched.flatMap((name) => [`\\b${name}\\.\\w+ (?:\\?\\?|\\|\\||&&|[-+])?=(?![=>])`, `\\bassign\\(${name}\\b`]),
    ];
    return patterns.flatMap((pattern) => [...source.matchAll(new RegExp(pattern, 'g'))].map(([change]) => change));
  });
}

function sourcesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
}
