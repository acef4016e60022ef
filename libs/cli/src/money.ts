/** As every list and line shows money. */
export const dollarsOf = (microUsd: number): string => `$${(microUsd / 1e6).toFixed(4)}`;
