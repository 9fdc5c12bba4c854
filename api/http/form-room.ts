/** What a form may have beside its file: the head of each part, the fields, the boundaries. */
export const formRoomBytes = 65_536;
