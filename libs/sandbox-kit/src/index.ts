export { ImageManifest } from './image-manifest';
export { type Architecture, seccompFilter } from './seccomp';
