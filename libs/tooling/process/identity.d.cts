export interface ProcessIdentity {
  readonly pid: number;
  readonly startTime: string;
}
/** Opaque start time of a living process; undefined when there is none (a zombie counts as ended). */
export declare function startTimeOf(pid: number): string | undefined;
/** The identity of a living process, this one unless told otherwise; undefined when it has ended. */
export declare function identify(pid?: number): ProcessIdentity | undefined;
/** Whether exactly that process, not a later one with its pid, still lives. */
export declare function isAlive(identity: ProcessIdentity | undefined): boolean;
