/** Whether a message waits in the conversation of the run `r`, of an earlier run too that did not read it: an expression. */
export const hasUnreadInput = `exists (select from run_inputs ui where ui.conversation_id = r.conversation_id and ui.read_at_step is null)`;
