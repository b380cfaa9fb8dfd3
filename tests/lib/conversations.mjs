/* conversations.mjs -- clients that talk for many turns, in each of the ways a conversation can go on, and where
 * their turns have gone.
 *
 *     const talks = conversations({ n: 40, turns: 20, ways: Object.keys(WAYS) });
 *     await hold(group, talks, { model: 'm' });        all at once, each waits for its answers
 *     placesOf(rigs.list, talks[0])                    ['a', 'a', 'a', ...], turn by turn
 *
 * The turns of a conversation ask what no other asks, so that whoever was asked is known by it. Its questions are as
 * long as they are told to be, and no two conversations say the same behind their common beginning.
 */
import assert from 'node:assert/strict';
import { ask } from './client.mjs';
import { dice } from './dice.mjs';
import { said } from './group.mjs';

const LETTERS = 'etaoinshrdlucmfwypvbgk';

/* So many characters that no other seed gives, as words. */
export function filler(length, seed) {
    const roll = dice(seed);
    let text = '';
    while (text.length < length)
        text += roll(6) === 0 ? ' ' : LETTERS[roll(LETTERS.length)];
    return text;
}

/* ---- the ways. Each gives what a request has beside the question, and takes the response; `talk.memory` is its own. */

const user = (text) => ({ role: 'user', content: text });

export const WAYS = {
    /* All that was said is sent again. */
    resent: {
        ask: (talk, question) => ({ input: [...talk.memory.said ?? [], user(question)], store: false }),
        take: (talk, question, { output }) => (talk.memory.said = [...talk.memory.said ?? [], user(question), ...output]),
    },
    previous: {
        ask: (talk, question) => ({ input: question, previous_response_id: talk.memory.id }),
        take: (talk, question, { id }) => (talk.memory.id = id),
    },
    conversation: {
        async begin(talk, group) {
            talk.memory.conversation = (await ask(group.daemon, {}, { path: '/v1/conversations' })).json.id;
        },
        ask: (talk, question) => ({ input: question, conversation: talk.memory.conversation }),
        take() {},
    },
    /* A client that tells which requests belong together, though each begins with another text. */
    keyed: {
        ask: (talk, question, turn) => ({
            input: [...talk.memory.said ?? [], user(question)], store: false, prompt_cache_key: talk.name,
            instructions: `It is minute ${turn} of ${talk.name}.\n${talk.instructions}`,
        }),
        take: (talk, question, response) => WAYS.resent.take(talk, question, response),
    },
};

/* ---- conversations */

/* `common` characters of instructions that all have, `own` ones that each has, `length` ones of each question. */
export function conversations({ n, turns, ways = ['resent'], common = 0, own = 0, length = 100, name = 'talk' }) {
    const shared = filler(common, 1);
    const seed = 1000 + [...name].reduce((sum, letter) => (31 * sum + letter.charCodeAt(0)) % 1_000_003, 0);
    return Array.from({ length: n }, (_, i) => {
        const instructions = `${shared}${filler(own, seed + 100_000 * i)}` || undefined;
        const questions = Array.from({ length: turns }, (__, k) => `${name} ${i}, turn ${k}: ${filler(length, seed + 100_000 * i + k + 1)}`);
        return { name: `${name}-${i}`, way: ways[i % ways.length], instructions, questions, memory: {}, answers: [] };
    });
}

/* One turn of one; the question counts. */
export async function turn(group, talk, k, more = {}) {
    const way = WAYS[talk.way];
    if (k === 0)
        await way.begin?.(talk, group);
    const question = talk.questions[k];
    const got = await ask(group.daemon, { model: 'm', instructions: talk.instructions, ...more, ...way.ask(talk, question, k) });
    assert.equal(got.status, 200, got.text);
    assert.equal(got.json.status, 'completed', got.text);
    way.take(talk, question, got.json);
    talk.answers.push(said(got.json));
    return got.json;
}

/* All of them at once, or so many, each from its first turn to its last. */
export async function hold(group, talks, { atOnce = talks.length, ...more } = {}) {
    const left = [...talks];
    await Promise.all(Array.from({ length: atOnce }, async () => {
        for (let talk = left.shift(); talk !== undefined; talk = left.shift()) {
            for (let k = 0; k < talk.questions.length; k++)
                await turn(group, talk, k, more);
        }
    }));
}

/* ---- where they went */

export function placesOf(rigs, talk) {
    const places = new Map(rigs.flatMap((rig) => rig.rounds.map(({ question }) => [question, rig.name])));
    return talk.questions.map((question) => places.get(question));
}

/* Of all turns but the first ones, how many went where the one before had gone. */
export function faithfulness(rigs, talks) {
    const places = new Map(rigs.flatMap((rig) => rig.rounds.map(({ question }) => [question, rig.name])));
    const pairs = talks.flatMap(({ questions }) => questions.slice(1).map((question, k) => places.get(question) === places.get(questions[k])));
    return pairs.filter(Boolean).length / pairs.length;
}
