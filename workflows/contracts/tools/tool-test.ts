/** Input of the workflow `tooltest:<id>`: its row. Arguments and result stay there. */
export interface ToolTestInput {
  readonly testId: string;
}

/** Activities of `toolTest`, by the names under which histories record them. */
export interface ToolTestActivities {
  /** Runs the tool once and stores the result; a test that has a result is left as it is. */
  testTool(input: ToolTestInput): Promise<void>;
}

/** How long a test of a tool may take, including the wait for an exclusive tool. */
export const maxToolTestSeconds = 60;
