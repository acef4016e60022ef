import { upstreamsMax } from '@fluidbox/contracts';

/** The names in their new order; null when there is no place for another one. `position` counts from 1; without it a known name stays where it is. */
export function placed(order: readonly string[], name: string, position: number | undefined): readonly string[] | null {
  const others = order.filter((other) => other !== name);
  if (others.length >= upstreamsMax) return null;
  const at = position === undefined ? (order.includes(name) ? order.indexOf(name) : others.length) : position - 1;
  return others.toSpliced(at, 0, name);
}
