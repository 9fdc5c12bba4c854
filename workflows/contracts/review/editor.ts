/** One attempt of an editor; another head means another attempt. `step` is the step of the run that the activity stands for. */
export interface EditInput {
  readonly runId: string;
  readonly step: number;
  readonly attempt: number;
}

/** What follows a question to the editing model: another question (it wants to see files), its edits, or the report only. */
export type EditTurn = 'ask' | 'try' | 'report';

/** Activities of a repair, by the names under which histories record them: never rename. Each may be interrupted anywhere and repeated. */
export interface EditorActivities {
  /** Reads the pull request, its open findings and the files. Returns false when nothing is to be edited. */
  prepareEdit(input: EditInput): Promise<boolean>;
  /** Asks the editing model once. */
  askEditor(input: EditInput & { readonly round: number }): Promise<EditTurn>;
  /** Applies the edits of a round and runs the commands that must pass. `push`: they passed; `ask`: the model gets to see what failed. */
  tryEdit(input: EditInput & { readonly round: number; readonly isLast: boolean }): Promise<'push' | 'ask' | 'report'>;
  /** Pushes if the head has not moved. `moved`: it has. */
  pushEdit(input: EditInput): Promise<'done' | 'moved'>;
  /** Suggests what was not pushed, answers the author of the command, and stores the plan for the end of the run. */
  reportEdit(input: EditInput): Promise<void>;
}
