import path from 'node:path';
import { z } from 'zod';

const mebibyte = 1024 * 1024;
const absolute = () =>
  z
    .string({ error: 'is required' })
    .min(1)
    .transform((folder) => path.resolve(folder));
const count = (standard: number, max: number) => z.coerce.number().int().min(1).max(max).default(standard);
const list = (separator: string) =>
  z
    .string()
    .default('')
    .transform((text) =>
      text
        .split(separator)
        .map((part) => part.trim())
        .filter(Boolean),
    );

/** Settings of the scheduler. Nothing else in this service reads the environment. */
export const config = z
  .object({
    FLUIDBOX_HOME: z.string().default('.fluidbox'),
    FLUIDBOX_DEPLOYMENT_ID: z.string({ error: 'is required' }).regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1-64 of A-Z a-z 0-9 _ -'),
    FLUIDBOX_UP_FILE: absolute(),
    FLUIDBOX_RUNS_DIR: absolute(),
    FLUIDBOX_BLOBS_DIR: absolute(),
    FLUIDBOX_IMAGES_DIR: z
      .string()
      .default(path.resolve(__dirname, '../../../images'))
      .transform((folder) => path.resolve(folder)),
    FLUIDBOX_LOCAL_SOURCES: list(':').pipe(z.array(z.string().startsWith('/', 'must be absolute paths, separated by colons'))),
    FLUIDBOX_PRIVATE_GIT_HOSTS: list(','),
    FLUIDBOX_SANDBOXES_MAX: count(8, 10_000),
    FLUIDBOX_SANDBOX_MEMORY_MB: count(2048, 1_048_576),
    FLUIDBOX_SANDBOX_PIDS: count(512, 100_000),
    FLUIDBOX_SANDBOX_CPUS: z.coerce.number().positive().max(1024).default(2),
    FLUIDBOX_WORKSPACE_FILES_MAX: count(100_000, 10_000_000),
    FLUIDBOX_WORKSPACE_MB_MAX: count(2048, 1_048_576),
    PATH: z.string().default(''),
    HTTPS_PROXY: z.string().optional(),
    https_proxy: z.string().optional(),
    NODE_EXTRA_CA_CERTS: z.string().optional(),
    SSL_CERT_FILE: z.string().optional(),
  })
  .transform((environment) => ({
    deploymentId: environment.FLUIDBOX_DEPLOYMENT_ID,
    upFile: environment.FLUIDBOX_UP_FILE,
    runsDir: environment.FLUIDBOX_RUNS_DIR,
    blobsDir: environment.FLUIDBOX_BLOBS_DIR,
    imagesDir: environment.FLUIDBOX_IMAGES_DIR,
    nodeDir: path.resolve(environment.FLUIDBOX_HOME, 'sandbox-node'),
    localSources: environment.FLUIDBOX_LOCAL_SOURCES,
    privateGitHosts: environment.FLUIDBOX_PRIVATE_GIT_HOSTS,
    searchPath: environment.PATH,
    gitProxy: environment.HTTPS_PROXY ?? environment.https_proxy ?? null,
    gitCaFile: environment.SSL_CERT_FILE ?? environment.NODE_EXTRA_CA_CERTS ?? null,
    sandboxesMax: environment.FLUIDBOX_SANDBOXES_MAX,
    sandboxLimits: {
      memoryBytes: environment.FLUIDBOX_SANDBOX_MEMORY_MB * mebibyte,
      pids: environment.FLUIDBOX_SANDBOX_PIDS,
      cpus: environment.FLUIDBOX_SANDBOX_CPUS,
    },
    workspaceLimits: {
      filesMax: environment.FLUIDBOX_WORKSPACE_FILES_MAX,
      bytesMax: environment.FLUIDBOX_WORKSPACE_MB_MAX * mebibyte,
      fileBytesMax: 100 * mebibyte,
    },
  }));
export type Config = z.output<typeof config>;
