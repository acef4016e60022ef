import { parseOrProblem } from '@fluidbox/contracts';
import type { PipeTransform } from '@nestjs/common';
import type { z } from 'zod';
import type { CommandSubscription, Subscribe } from './api';

/** One row of a service's table of subscriptions. */
export const subscribe: Subscribe = (command, handle) => ({ command, handle: handle as CommandSubscription['handle'] });

/** `@Body(zodPipe(Schema))`: a 422 that names each wrong field. */
export const zodPipe = <S extends z.ZodType>(schema: S): PipeTransform<unknown, z.output<S>> => ({
  transform: (value) => parseOrProblem(schema, value),
});
