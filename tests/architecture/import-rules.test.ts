import path from 'node:path';
import { fixtureWorkspace, type Violation, violationsIn } from './depcruise';
import { repositoryRoot } from './sources';

const { forbidden } = require('../../.dependency-cruiser.cjs') as { forbidden: readonly { readonly name: string }[] };

describe('the import rules', () => {
  it('are kept by the whole repository', () => {
    const { violations, modules } = violationsIn(repositoryRoot);
    expect(violations).toEqual([]);
    expect(modules).toBeGreaterThan(100);
  });

  describe('on fixtures', () => {
    const workspace = fixtureWorkspace();
    let violations: readonly Violation[];
    beforeAll(() => {
      violations = violationsIn(workspace.folder).violations;
    });
    afterAll(() => workspace.remove());

    // One for each kind of rule; the layers are made by one function from one table.
    const rules = forbidden
      .map(({ name }) => name)
      .filter((name) => !name.startsWith('layer-') || ['layer-contracts', 'layer-bus'].includes(name));
    it.each(rules)('%s catches its bad fixture', (rule) => {
      expect(violations.filter(({ from }) => path.basename(from, '.ts') === rule).map((violation) => violation.rule)).toContain(rule);
    });

    it('let the good twins pass', () => {
      expect(violations.filter(({ from }) => from.includes('/good/'))).toEqual([]);
    });
  });
});
