/**
 * Stored with every decision and every recorded projection. Raise it with any change that can change a verdict, or a backtest
 * would compare two engines and call the difference a policy change.
 */
export const ENGINE_VERSION = '3';
