/** What the workflow `tooltest:<id>` is told: its row. Arguments and result stay there. */
export interface ToolTestInput {
  readonly testId: string;
}

/** Activities of `toolTest`, by the names under which histories record them. */
export interface ToolTestActivities {
  /** Runs the tool once and stores what came of it; a test that has a result is left as it is. */
  testTool(input: ToolTestInput): Promise<void>;
}

/** How long a test of a tool may take, waiting for an exclusive tool included. */
export const toolTestLimitS = 60;
