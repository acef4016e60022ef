import { type ArtifactView, type Principal, Problem } from '@fluidbox/contracts';
import type { ServiceContext } from '@fluidbox/service-kit';
import { Controller, Get, Inject, Param, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { ReadArtifact } from '../app/read-artifact';
import { artifactsOf } from '../app/read-artifact';
import { readRun } from '../app/read-run';
import { Caller, MemberGuard } from './principal.guard';
import { ARTIFACTS, CONTEXT } from './tokens';

@Controller('v1/sessions/:id/artifacts')
@UseGuards(MemberGuard)
export class ArtifactsController {
  constructor(
    @Inject(CONTEXT) private readonly context: ServiceContext,
    @Inject(ARTIFACTS) private readonly read: ReadArtifact,
  ) {}

  @Get()
  async list(@Caller() principal: Principal, @Param('id') id: string): Promise<{ data: ArtifactView[] }> {
    await readRun(this.context.ledger, principal, id);
    return { data: await artifactsOf(this.context.ledger, principal.org, id) };
  }

  @Get(':artifact')
  async get(
    @Caller() principal: Principal,
    @Param('id') id: string,
    @Param('artifact') artifactId: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await readRun(this.context.ledger, principal, id);
    const artifact = (await artifactsOf(this.context.ledger, principal.org, id)).find(
      (each) => each.id === artifactId || each.kind === artifactId,
    );
    if (artifact === undefined) throw new Problem('not_found', 'artifact: no such artifact of this run');
    const bytes = await this.read(principal.org, id, artifact.sha256);
    await reply
      .header('content-type', `${artifact.content_type}; charset=utf-8`)
      .header('content-disposition', `attachment; filename="${artifact.name.replaceAll(/[^A-Za-z0-9._-]/g, '_')}"`)
      .header('x-content-type-options', 'nosniff')
      .header('digest', artifact.sha256)
      .send(bytes);
  }
}
