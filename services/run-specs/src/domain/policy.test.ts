import { type EventDraft, Problem, type RecordedEvent } from '@fluidbox/contracts';
import { decidePublish, findVersion, type PolicyState, policyFold } from './policy';

const parsed = (text: string) => ({ name: 'default', digest: `sha256:d${text}`, sourceDigest: `sha256:s${text}` });
const publish = (state: PolicyState, text: string, base?: number) =>
  decidePublish(
    state,
    parsed(text),
    { summary: 'why', ...(base === undefined ? {} : { base_version: base }) },
    { by: 'ada', actor: 'principal:ada', madeBy: [] },
  );

function given(...texts: string[]): PolicyState {
  let seq = 0;
  return texts.reduce<PolicyState>((state, text) => {
    const events = publish(state, text);
    if (events instanceof Problem) throw events;
    return events.reduce((next, draft: EventDraft) => {
      seq += 1;
      return policyFold.evolve(next, { ...draft, version: 1, seq, occurredAt: '2026-08-01T00:00:00.000Z' } as unknown as RecordedEvent);
    }, state);
  }, policyFold.initial());
}

describe('publishing a policy', () => {
  it('creates the policy with its first version and appends to it later', () => {
    expect(given('a', 'b')).toMatchObject({
      name: 'default',
      versions: [
        { version: 1, sourceDigest: 'sha256:sa' },
        { version: 2, sourceDigest: 'sha256:sb', by: 'ada' },
      ],
    });
  });

  it('adds nothing for the bytes of the newest version', () => {
    expect(publish(given('a'), 'a', 1)).toEqual([]);
  });

  it('adds a version for the bytes of an older one: that is a revert', () => {
    expect(publish(given('a', 'b'), 'a')).toHaveLength(1);
  });

  it('refuses a base that is not the newest, and says which is; the newest is accepted', () => {
    const refused = publish(given('a', 'b'), 'c', 1);
    expect(refused).toBeInstanceOf(Problem);
    expect(refused).toMatchObject({ code: 'stale_version', extra: { current_version: 2 } });
    expect(publish(given('a', 'b'), 'c', 2)).toHaveLength(1);
  });

  it('leaves out what only newer code understands, instead of reading it as its own', () => {
    const newer = {
      type: 'policy.deleted',
      version: 2,
      seq: 3,
      data: {},
      occurredAt: '2026-08-01T00:00:00.000Z',
    } as unknown as RecordedEvent;
    expect(policyFold.evolve(given('a'), { ...newer, version: 1 })).toMatchObject({ deleted: true });
    expect(policyFold.evolve(given('a'), newer)).toEqual(given('a'));
  });

  it('finds a version by number, or the newest', () => {
    expect([findVersion(given('a', 'b'), 1)?.version, findVersion(given('a', 'b'), null)?.version, findVersion(given('a'), 7)]).toEqual([
      1,
      2,
      undefined,
    ]);
  });
});
