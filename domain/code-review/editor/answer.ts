import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/compile';

const closed = { additionalProperties: false } as const;
const path = Type.String({ minLength: 1, maxLength: 1_000, description: 'Path of a file, from the root of the repository' });

/** The most files that the editing model may request at once, and the most edits that it may make. */
export const maxReads = 20;
export const maxEdits = 50;

const edit = Type.Object(
  {
    path,
    find: Type.String({ maxLength: 20_000, description: 'Text that stands in the file exactly once; empty for a new file' }),
    replace: Type.String({ maxLength: 50_000, description: 'What takes its place' }),
  },
  closed,
);

/** The schema of an answer of the editing model: files that it wants to read first, or edits. */
export const editorAnswerSchema = Type.Object(
  {
    read: Type.Array(path, { maxItems: maxReads, description: 'Files to be shown before you edit; empty with edits' }),
    edits: Type.Array(edit, {
      maxItems: maxEdits,
      description: 'All edits together; empty while you read, or where nothing can be repaired',
    }),
    note: Type.String({ maxLength: 1_000, description: 'One or two sentences: what was changed and why, or why nothing was' }),
  },
  closed,
);

export type EditorAnswer = Static<typeof editorAnswerSchema>;
/** One edit of one file. */
export type TextEdit = EditorAnswer['edits'][number];

const isAnswer = Compile(editorAnswerSchema);

/** Returns an answer as it was given; null when it does not fit the schema. */
export function readEditorAnswer(answer: unknown): EditorAnswer | null {
  return isAnswer.Check(answer) ? answer : null;
}
