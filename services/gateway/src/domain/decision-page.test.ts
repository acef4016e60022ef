import { ApprovalId } from '@fluidbox/contracts';
import { decisionPage } from './decision-page';

const id = 'apr_0198b3a0-0000-7000-8000-000000000002_toolu_1';

describe('[WEBHOOK-7] the page behind a decision link', () => {
  it('names how to decide, and holds nothing that could decide', () => {
    const page = decisionPage(id);
    expect(page).toContain(`fluidbox approve ${id}`);
    expect(page).toContain(`/v1/approvals/${id}/decision`);
    expect(page).not.toMatch(/<form|<script|<a |<button|<input/i);
  });

  it.each(['apr_x', `${id}<script>`, `${id}"`, `${id} x`, `${id}&`, `${id};ls`])('is not made for %s', (given) =>
    expect(ApprovalId.safeParse(given).success).toBe(false),
  );
});
