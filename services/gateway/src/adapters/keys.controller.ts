import type { PublicKeySet } from '@fluidbox/seal';
import { Controller, Get, Inject, UseGuards } from '@nestjs/common';
import type { ExportPorts } from '../app/export-bundle';
import { OpenGuard } from './principal.guard';
import { EXPORT } from './tokens';

/** The keys that sign checkpoints, those of earlier years too. Open: they are there to be kept by others. */
@Controller('v1/keys')
@UseGuards(OpenGuard)
export class KeysController {
  constructor(@Inject(EXPORT) private readonly ports: ExportPorts) {}

  @Get()
  keys(): PublicKeySet {
    return this.ports.publicKeys();
  }
}
