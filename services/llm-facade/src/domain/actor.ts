/** Who appends the facade's events. */
export const actor = 'service:llm-facade';
