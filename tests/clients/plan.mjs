/* plan.mjs -- a scripted model with a plan, which knows of its work only what it is told.
 *
 * Like a real one it decides by the messages it sees: it takes the first step of the plan whose calls
 * are not all there with their results. When a result is lost on the way it asks for it again, and
 * when it is asked again after its answer it answers again; what it was asked shows both.
 *
 *     const plan = { prompt: 'Note the tide.', answer: 'Noted.', steps: [
 *         { thought: 'Look it up.', calls: [{ name: TIDE, args: { port: 'Oslo' }, gives: '06:12' }] },
 *         { calls: [{ name: 'write', args: (found) => ({ path: 'tide.txt', content: found[0] }) }] },
 *     ] };
 *     const model = new Model([plan], { worker: 'write', withUsage: false });
 *     up.always(model.answer);
 *     checkWork(model);
 *
 * A step is a round of the model: what it thinks, what it says (`text`), and its calls. Arguments may
 * be a function of the results found in the steps before. A call that `isSpaced` has a blank in its
 * arguments, by which the model's own text is told from one that was written anew. `worker` is a tool
 * that only requests of the work bring with them: others, for a title, are answered and not counted.
 */
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { chunk, failure, frames, stream, textStream, usageChunk, words } from '../lib/upstream.mjs';

/* More than any plan needs. A client that repeats itself gets an error then, and ends. */
const MOST_REQUESTS = 20;

const textOf = ({ content }) => (Array.isArray(content) ? content.map(({ text }) => text ?? '').join('') : content ?? '');

const hasTool = ({ tools = [] }, wanted) => tools.some(({ function: { name } }) => name === wanted);

/* The calls of these messages that have a result. */
function answeredCalls(messages) {
    const results = new Map(messages.filter(({ role }) => role === 'tool').map((message) => [message.tool_call_id, textOf(message)]));
    return messages.flatMap(({ tool_calls = [] }) => tool_calls)
        .filter(({ id }) => results.has(id))
        .map(({ id, function: { name, arguments: text } }) => ({ name, args: JSON.parse(text), result: results.get(id) }));
}

let models = 0; /* their calls have ids of their own, as those of most servers do */

export class Model {
    asked = []; /* bodies of the requests that belong to the work */
    said = []; /* what it answered to each: { thought, text, calls } */
    #calls = 0;
    #number = ++models;

    /* With `isMixed` the chunks of calls in one round come in turn. */
    constructor(plans, { worker, withUsage = true, isMixed = false }) {
        Object.assign(this, { plans, worker, withUsage, isMixed });
    }

    answer = ({ body }) => {
        if (!hasTool(body, this.worker))
            return textStream('A title');
        this.asked.push(body);
        const last = body.messages.findLastIndex(({ role }) => role === 'user');
        const plan = this.plans.find(({ prompt }) => textOf(body.messages[last] ?? {}).includes(prompt));
        if (plan === undefined)
            return failure(400, 'The model has no plan for what was said last.');
        if (this.asked.length > MOST_REQUESTS)
            return failure(400, 'The model was asked more often than any plan needs.');
        const message = this.#decide(plan, body.messages.slice(last));
        this.said.push(message);
        return this.#stream(message);
    };

    #decide(plan, messages) {
        const answered = answeredCalls(messages);
        const found = [];
        for (const { thought, text, calls } of plan.steps) {
            const wanted = calls.map((call) => ({ ...call, args: typeof call.args === 'function' ? call.args(found) : call.args }));
            const results = wanted.map(({ name, args }) => answered.find((one) => one.name === name && isDeepStrictEqual(one.args, args))?.result);
            if (results.includes(undefined))
                return { thought, text, calls: wanted.filter((_, i) => results[i] === undefined).map((call) => this.#written(call)) };
            found.push(...results);
        }
        return { text: plan.answer, calls: [] };
    }

    #written({ args, ...call }) {
        const text = JSON.stringify(args);
        return { ...call, id: `call_${this.#number}_${++this.#calls}`, arguments: call.isSpaced ? text.replace('{', '{ ') : text };
    }

    #stream({ thought = '', text = '', calls }) {
        const pieces = calls.map(piecesOf);
        return stream(frames(
            chunk({ role: 'assistant', content: '' }),
            ...words(thought).map((word) => chunk({ reasoning_content: word })),
            ...words(text).map((word) => chunk({ content: word })),
            ...(this.isMixed ? inTurn(pieces) : pieces.flat()).map((piece) => chunk({ tool_calls: [piece] })),
            chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'),
            ...(this.withUsage ? [usageChunk(20, 5)] : []), '[DONE]'));
    }
}

/* A call as it is streamed: its name with "" as arguments, then these in three pieces. */
function piecesOf({ id, name, arguments: text }, index) {
    const third = Math.ceil(text.length / 3);
    const pieces = [text.slice(0, third), text.slice(third, 2 * third), text.slice(2 * third)];
    return [{ index, id, type: 'function', function: { name, arguments: '' } },
        ...pieces.map((piece) => ({ index, function: { arguments: piece } }))];
}

/* The first pieces of all lists, then the second ones; all lists are equally long. */
const inTurn = (lists) => (lists[0] ?? []).flatMap((_, i) => lists.map((list) => list[i]));

/* ---- what the model was shown ---- */

/* A message of the model in short: as it said it, and as it is shown to it again. */
const saidInShort = ({ thought = '', text = '', calls }) => ({ thought, text, calls: calls.map(({ id, name, arguments: args }) => [id, name, args]) });
const shownInShort = (message) => saidInShort({
    thought: message.reasoning_content,
    text: textOf(message),
    calls: (message.tool_calls ?? []).map(({ id, function: called }) => ({ id, ...called })),
});

/* Nothing is repeated and nothing is missing: every request begins with the messages of the one
 * before it, and adds what the model answered to that and the results of its calls, in their order;
 * or what the user said, after an answer without calls. */
export function checkWork({ asked, said }) {
    for (let i = 1; i < asked.length; i++) {
        const [before, now] = [asked[i - 1].messages, asked[i].messages];
        const { calls } = said[i - 1];
        const [own, ...rest] = now.slice(before.length);
        assert.deepEqual(now.slice(0, before.length), before, `request ${i} begins as the one before it`);
        assert.ok(JSON.stringify(now).startsWith(JSON.stringify(before).slice(0, -1)), `request ${i} begins byte for byte as the one before it`);
        assert.equal(JSON.stringify(asked[i].tools), JSON.stringify(asked[i - 1].tools), `request ${i} has the tools of the one before it`);
        assert.deepEqual(shownInShort(own), saidInShort(said[i - 1]), `request ${i} has what the model said`);
        assert.deepEqual(rest.map(({ role, tool_call_id }) => tool_call_id ?? role), calls.length > 0 ? calls.map(({ id }) => id) : ['user'], `request ${i} has a result of each call`);
        for (const [k, { name, gives = '' }] of calls.entries())
            assert.ok(textOf(rest[k]).includes(gives), `request ${i} has what ${name} gave: ${textOf(rest[k])}`);
    }
}
