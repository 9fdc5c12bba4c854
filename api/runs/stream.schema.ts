import Type from 'typebox';
import { closed, idOf, integer, text, Timestamp } from '../http/input/schema.ts';
import { streamProtocol } from '../../workflows/contracts/runs/frames.ts';

export const StreamParams = closed({ run_id: idOf('Run', 'The run to watch.') });

export const StreamQuery = closed({
  after_seq: Type.Optional(integer({ default: 0, description: 'Start after this sequence number; Last-Event-ID takes precedence.' })),
  replay: Type.Optional(
    Type.Boolean({ default: true, description: 'False: only live frames from now on, without a backlog, whatever the cursor says.' }),
  ),
});

export const StreamHeaders = Type.Object({
  'last-event-id': Type.Optional(
    text(1_024, { description: 'Number of the last event received, as a browser sends it when it reconnects.' }),
  ),
});

export const StreamTokenView = closed(
  {
    token: text(60, { description: 'For the first message of one WebSocket; shown only once.' }),
    run_id: idOf('Run'),
    expires_at: Timestamp,
    websocket_path: text(120, { description: 'Where to open the socket.' }),
    protocol: Type.Literal(streamProtocol),
  },
  { $id: 'StreamTokenView', description: 'Opens one WebSocket for one run, once, within 60 s.' },
);
