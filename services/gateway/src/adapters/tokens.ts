/** Injection tokens: metadata-free injection needs a name for everything. */
export const AUTHENTICATE = Symbol('authenticate');
export const CONTEXT = Symbol('service context');
export const TOKENS = Symbol('token store');
export const READ_MODELS = Symbol('read models');
export const EXPORT = Symbol('export ports');
export const ARTIFACTS = Symbol('artifact reader');
export const HUB = Symbol('watch hub');
export const REPORTS = Symbol('reports');
