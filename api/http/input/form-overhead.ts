/** What a form may have beside its file: the head of each part, the fields, the boundaries. */
export const formOverheadBytes = 65_536;
