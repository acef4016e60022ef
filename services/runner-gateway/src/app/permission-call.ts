import { currentRequestMeta, withRequestMeta } from '@fluidbox/bus';
import { RequestPermission } from '@fluidbox/contracts';
import { nextQuestionMs } from '../domain/next-question';
import type { Outlet, Ports, Question } from './ports';

/**
 * A permission call from its first question to its answer. Its run is watched before the first question, so no settlement falls between an answer
 * `pending` and the wait for it. Thousands wait at once, and one that waits is this object, its timer and its connection: no polling, no database
 * connection, and no promise, because what is suspended behind a promise (the framework's functions, too) takes as much memory as the connection.
 */
export class PermissionCall {
  private state: 'asking' | 'waiting' | 'over' = 'asking';
  /** It was rung for while the gate was asked: what the gate said may be older. */
  private rung = false;
  private left = false;
  private timer: NodeJS.Timeout | undefined;
  private expiresAt = 0;
  private askedAfterExpiry = 0;
  /** The trace that the call came with; a later question belongs to it, whoever rang. */
  private readonly meta = currentRequestMeta();

  constructor(
    private readonly ports: Ports,
    private readonly question: Question,
    private readonly outlet: Outlet,
  ) {
    ports.wakeUps.watch(question.run_id, question.tool_call_id, this);
    ports.parked.open(this);
    outlet.onGone(() => this.leave());
  }

  /** Resolves when the call is over, or waits. Rejects when the gate cannot be asked and the answer has not begun. */
  async ask(): Promise<void> {
    this.state = 'asking';
    try {
      do {
        this.rung = false;
        const reply = await this.ports.bus.request(RequestPermission, this.question);
        if (reply.status === 'decided') {
          this.close();
          this.outlet.end(reply.answer);
          return;
        }
        if (!this.outlet.begun) this.outlet.begin();
        this.expiresAt = Date.parse(reply.expires_at);
      } while (this.rung && !this.left);
      if (this.left) this.drop();
      else this.wait();
    } catch (error) {
      this.close();
      if (!this.outlet.begun) throw error;
      // The answer has begun, so it cannot become an error: a cut connection makes the runner ask again, with the same id.
      this.ports.onCut(error, this.question);
      this.outlet.cut();
    }
  }

  /** Something may have settled it: the log spoke of that, or may have while nobody listened. */
  ring(): void {
    if (this.state === 'asking') this.rung = true;
    else if (this.state === 'waiting') this.askAgain();
  }

  /** Its caller goes, or the service stops: the question is dropped, nothing is settled. */
  leave(): void {
    this.left = true;
    if (this.state === 'waiting') this.drop();
  }

  private wait(): void {
    const now = this.ports.clock.now().getTime();
    this.state = 'waiting';
    this.timer = setTimeout(() => this.askAgain(), nextQuestionMs(this.expiresAt, now, this.askedAfterExpiry));
  }

  private askAgain(): void {
    clearTimeout(this.timer);
    if (this.ports.clock.now().getTime() >= this.expiresAt) this.askedAfterExpiry += 1;
    void withRequestMeta(this.meta, () => this.ask());
  }

  private drop(): void {
    this.close();
    this.outlet.cut();
  }

  private close(): void {
    this.state = 'over';
    clearTimeout(this.timer);
    this.ports.wakeUps.unwatch(this.question.run_id, this.question.tool_call_id, this);
    this.ports.parked.close(this);
  }
}
