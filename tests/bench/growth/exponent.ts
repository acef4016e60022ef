import type { Point } from './row';

/** The slope of log cost over log size (least squares): 0 is flat, 1 is linear. It survives a noisy machine, which single figures do not. */
export function exponentOf(points: readonly Point[]): number {
  const logs = points.map(({ size, cost }) => ({ x: Math.log(size), y: Math.log(cost) }));
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(logs.map((log) => log.x)), mean(logs.map((log) => log.y))];
  const covariance = logs.reduce((sum, log) => sum + (log.x - x) * (log.y - y), 0);
  const variance = logs.reduce((sum, log) => sum + (log.x - x) ** 2, 0);
  return covariance / variance;
}
