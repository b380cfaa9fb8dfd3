/* bodies.mjs -- the requests: what a client asks, in both wire formats.
 *
 * The model tells the mock upstream what to answer (see mock_upstream.c).
 */
export const model = ({ deltas, rate = 0, burst = 1 }) => `bench-${deltas}-${rate}-${burst}`;

/* A short question, as a chat begins. */
const QUESTION = 'What does a gateway do between two events? Answer with an example in C.';

const responses = (plan, input, more) => ({ model: model(plan), stream: plan.stream ?? true, input, ...more });
const chat = (plan, messages, more) => ({ model: model(plan), stream: plan.stream ?? true, messages, ...more });

export function shortBody(api, plan) {
    const body = api === 'responses' ? responses(plan, QUESTION)
        : chat(plan, [{ role: 'user', content: QUESTION }], { stream_options: { include_usage: true } });
    return JSON.stringify(body);
}
