import { z } from 'zod';
import { Principal } from '../public-api';
import { ParkedView, ReadModelName, ReadModelView } from '../read-api';
import { command } from './command';

/** gateway → projector, for an admin: how the read models stand, and to fill one anew beside the live one. Asked again meanwhile it changes nothing. */
export const ListReadModels = command('projector', 'list_read_models', z.strictObject({}), z.array(ReadModelView));
export const RebuildReadModel = command(
  'projector',
  'rebuild_read_model',
  z.strictObject({ principal: Principal, name: ReadModelName }),
  ReadModelView,
);
/** gateway → projector, for an admin: what followers of any service gave up on. A replay is done by the follower itself, at its next look. */
export const ListParked = command('projector', 'list_parked', z.strictObject({}), z.array(ParkedView));
export const ReplayParked = command(
  'projector',
  'replay_parked',
  z.strictObject({ principal: Principal, follower: z.string().min(1).max(200), position: z.number().int().min(1) }),
  ParkedView,
);
