/** One try of an editor: another head is another attempt. `step`: the step of the run that the activity is. */
export interface EditInput {
  readonly runId: string;
  readonly step: number;
  readonly attempt: number;
}

/** What comes after a question to the editing model: another one (it wants to see files), its edits, or the report alone. */
export type EditTurn = 'ask' | 'try' | 'report';

/** Activities of a repair, by the names under which histories record them: never rename. Each may be cut off anywhere and repeated. */
export interface EditorActivities {
  /** Reads the pull request, what is open and the files; false: nothing is to be edited. */
  prepareEdit(input: EditInput): Promise<boolean>;
  /** Asks the editing model once. */
  askEditor(input: EditInput & { readonly round: number }): Promise<EditTurn>;
  /** Applies the edits of a round and runs the commands that must pass. `push`: they did; `ask`: the model hears what failed. */
  tryEdit(input: EditInput & { readonly round: number; readonly isLast: boolean }): Promise<'push' | 'ask' | 'report'>;
  /** Pushes, if the head is where it was. `moved`: it is not. */
  pushEdit(input: EditInput): Promise<'done' | 'moved'>;
  /** Suggests what was not pushed, answers whoever asked, and keeps the plan of the run's end. */
  reportEdit(input: EditInput): Promise<void>;
}
