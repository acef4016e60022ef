import { ApprovalId, Problem } from '@fluidbox/contracts';
import { Controller, Get, Header, Param, UseGuards } from '@nestjs/common';
import { decisionPage } from '../domain/decision-page';
import { OpenGuard } from './principal.guard';

/**
 * Where the link in a notification leads. It has no authority: the page is made of the id in its own address, nothing is looked up, and nothing can be decided
 * here. It looks the same whether there is such an approval or not.
 */
@Controller('approvals')
@UseGuards(OpenGuard)
export class DecisionLinkController {
  @Get(':id')
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('cache-control', 'no-store')
  @Header(
    'content-security-policy',
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; form-action 'none'; base-uri 'none'",
  )
  @Header('referrer-policy', 'no-referrer')
  @Header('x-content-type-options', 'nosniff')
  show(@Param('id') id: string): string {
    const parsed = ApprovalId.safeParse(id);
    if (!parsed.success) throw new Problem('not_found', 'there is no such page');
    return decisionPage(parsed.data);
  }
}
