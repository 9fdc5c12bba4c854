import { posix } from 'node:path';
import { nameOf, titleOf } from '../text/clean.ts';
import { KeyMaker } from '../text/keys.ts';
import { ParseFailure, type FileParser, type PageStart, type ParsedPart } from '../parsed.ts';
import { readSlide, readXml, type SlideText } from './pptx-xml.ts';
import { openZip, type OpenZip } from './zip.ts';

const presentation = 'ppt/presentation.xml';

/** A presentation (ECMA-376 part 1, §19): one section per slide in the order of the show, with its notes; a page of the result is a slide. */
export const parsePptx: FileParser = async function* (input) {
  const zip = await openZip(input.path);
  try {
    const title = nameOf(input.filename);
    const keys = new KeyMaker();
    for (const [index, path] of (await slidePaths(zip)).entries()) {
      const xml = await zip.read(path);
      if (xml === null) {
        input.warn('left_out', `Slide ${index + 1} is missing from the file.`);
        continue;
      }
      const part = slidePart({ number: index + 1, slide: readSlide(xml), notes: await notesOf(zip, path) }, title);
      if (part) yield { ...part, key: keys.keyOf(part.key) };
    }
  } finally {
    zip.close();
  }
};

interface Slide {
  readonly number: number;
  readonly slide: SlideText;
  readonly notes: string;
}

function slidePart({ number, slide, notes }: Slide, title: string | null): ParsedPart | null {
  const heading = titleOf(slide.title);
  const content = [heading && `# ${heading}`, slide.body, notes && `## Notes\n\n${notes}`]
    .filter(Boolean)
    .join('\n\n')
    .replaceAll(/\n{3,}/g, '\n\n');
  if (content === '') return null;
  const pages: readonly PageStart[] = [{ page: number, start: 0 }];
  return { key: slide.id ? `slide ${slide.id}` : `slide ${number}`, title, content, pages, metadata: { slide: number } };
}

async function slidePaths(zip: OpenZip): Promise<string[]> {
  const xml = await zip.read(presentation);
  if (xml === null) throw new ParseFailure('malformed', 'The file does not contain a presentation.');
  const targets = await relationsOf(zip, presentation);
  const ids: string[] = [];
  readXml(xml, { open: (name, attributes) => name === 'sldId' && ids.push(attributes['r:id'] ?? attributes.id ?? '') });
  return ids.flatMap((id) => targets.find((target) => target.id === id)?.path ?? []);
}

async function notesOf(zip: OpenZip, slidePath: string): Promise<string> {
  const relations = await relationsOf(zip, slidePath);
  const notes = relations.find(({ type }) => type.endsWith('/notesSlide'));
  const xml = notes ? await zip.read(notes.path) : null;
  return xml ? readSlide(xml).notes : '';
}

interface Relation {
  readonly id: string;
  readonly type: string;
  readonly path: string;
}

/** Returns the relationships of a part (ECMA-376 part 2, §9.3) that stay within the file. */
async function relationsOf(zip: OpenZip, part: string): Promise<Relation[]> {
  const { dir, base } = posix.parse(part);
  const xml = await zip.read(`${dir}/_rels/${base}.rels`);
  const relations: Relation[] = [];
  if (xml === null) return relations;
  readXml(xml, {
    open: (name, { Id = '', Type = '', Target = '', TargetMode }) => {
      if (name !== 'Relationship' || TargetMode === 'External') return;
      const path = Target.startsWith('/') ? Target.slice(1) : posix.join(dir, Target);
      relations.push({ id: Id, type: Type, path });
    },
  });
  return relations;
}
