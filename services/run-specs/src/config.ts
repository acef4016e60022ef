import path from 'node:path';
import { z } from 'zod';

const imagesOfThisCheckout = path.resolve(__dirname, '../../../images');

/** Settings of run-specs. Nothing else in this service reads the environment. */
export const config = z
  .object({
    FLUIDBOX_IMAGES_DIR: z.string().min(1).default(imagesOfThisCheckout),
    FLUIDBOX_PRICE_TABLE_FILE: z.string().min(1).optional(),
  })
  .transform((environment) => ({ imagesDir: environment.FLUIDBOX_IMAGES_DIR, priceTableFile: environment.FLUIDBOX_PRICE_TABLE_FILE }));
export type Config = z.output<typeof config>;
