import { agentEvents } from './agent';
import { budgetEvents } from './budget';
import { eventTypes } from './event-types';
import { modelCallEvents } from './model-call';
import { policyEvents } from './policy';
import { runEvents } from './run';
import { sandboxEvents } from './sandbox';
import { toolCallEvents } from './tool-call';
import { webhookEvents } from './webhook';

describe('the table of events', () => {
  // A spread overwrites in silence what the compiler refuses in one literal.
  it('has every event once', () => {
    const rooms = [runEvents, sandboxEvents, toolCallEvents, budgetEvents, modelCallEvents, agentEvents, policyEvents, webhookEvents];
    expect(rooms.flatMap((room) => Object.keys(room)).sort()).toEqual(Object.keys(eventTypes).sort());
  });
});
