/* think_tags.test.mjs -- reasoning that a server leaves in the text, between tags, is reasoning for
 * the client (HARMONY 5): tests/data/harmony/text_formats.json, and texts made by chance. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkStream, readingOf } from '../lib/check.mjs';
import { ask, open } from '../lib/client.mjs';
import { atRandom, byCharacter, everyFew } from '../lib/cutting.mjs';
import { pair, shared } from '../lib/daemon.mjs';
import { jsonOf } from '../lib/data.mjs';
import { SEED, dice } from '../lib/dice.mjs';
import { Api, fn, messagesOf, user } from '../lib/state.mjs';
import { chunk, frames, rawChat, stream } from '../lib/upstream.mjs';

const VECTORS = jsonOf('harmony', 'text_formats.json').think;
const TAGS = [...new Set(VECTORS.map(({ open: opening, close }) => `${opening} ${close}`)), '<thinking> </thinking>', '<thought> </thought>'].map((pair) => pair.split(' '));
const captures = new Captures();

const REQUEST = { model: 'm', input: 'Hi', stream: true };

/* One daemon for all settings: the model's name is the setting. */
const SETTINGS = ['off', 'on', 'inside'].flatMap((word) => ['--model-settings', `${word} think_tags=${word}`]);

/* What a client has of a response: text, reasoning, types of items. */
function seen(response) {
    const { text, reasoning } = readingOf(response);
    return { text, reasoning, items: response.output.map(({ type }) => type) };
}

/* The same of a text that was parted: an answer has a message, if only an empty one. */
const parted = (reasoning, text) => ({ text, reasoning, items: [...(reasoning === '' ? [] : ['reasoning']), 'message'] });

async function streamed(both, model, pieces) {
    both.up.next(rawChat(pieces));
    const got = await ask(both.daemon, { ...REQUEST, model });
    return { got, ...checkStream(got.text) };
}

async function whole(both, model, pieces) {
    both.up.next(rawChat(pieces));
    return (await ask(both.daemon, { ...REQUEST, model, stream: false })).json;
}

const cuttings = (text) => [byCharacter(text), [text], everyFew(text, 3), everyFew(text, 7), atRandom(text, dice())];

describe('vectors', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, ...SETTINGS);

    for (const { id, title, input, start_in_reasoning, reasoning, content } of VECTORS) {
        const setting = start_in_reasoning ? 'inside' : 'on';

        test(`${id} ${title}, in every cutting`, async () => {
            for (const [i, pieces] of cuttings(input).entries()) {
                const { got, response } = await streamed(both, setting, pieces);
                if (i === 0)
                    captures.keep(`${id}.sse`, got.bytes);
                assert.deepEqual(seen(response), parted(reasoning, content), JSON.stringify(pieces));
            }
            assert.deepEqual(seen(await whole(both, setting, byCharacter(input))), parted(reasoning, content));
        });

        test(`${id} ${title}, is text when the setting is off`, async () => {
            const { response } = await streamed(both, 'off', byCharacter(input));
            assert.deepEqual(seen(response), parted('', input));
        });
    }
});

/* ---- chance ---- */

const SEEDS = 150;
/* No tag can come of them. */
const FRAGMENTS = ['a', ' ', '\n', 'ü', '😀', '<', '>', '/', '</', '<t', 'thin', '<b>', '"', '\\', 'one two ', '[', '◁', '<|', '|>', '｜'];

const some = (below, from, most) => Array.from({ length: below(most) }, () => from[below(from.length)]).join('');

/* A text with one block, the tags of which occur nowhere else in it by chance, and what it is. */
function block(below, isInside) {
    const [opening, closing] = TAGS[below(TAGS.length)];
    const thought = some(below, FRAGMENTS, 40), answer = some(below, FRAGMENTS, 40);
    const front = isInside && below(2) === 0 ? '' : opening;
    return { text: some(below, [' ', '\n'], 3) + front + thought + closing + answer, thought: thought.trim(), answer: answer.trimStart() };
}

/* Parts that are put together wildly, tags among them. */
const wild = (below) => some(below, [...FRAGMENTS, ...TAGS.flat(), ...TAGS.flat()], 30);

describe(`texts made by chance, ANTIPHON_TEST_SEED=${SEED}`, { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, ...SETTINGS);

    for (const setting of ['on', 'inside']) {
        test(`a block is parted from the answer, and no byte of a tag is in it: ${setting}`, async () => {
            const below = dice();
            for (let i = 0; i < SEEDS; i++) {
                const { text, thought, answer } = block(below, setting === 'inside');
                const { response } = await streamed(both, setting, atRandom(text, below));
                assert.deepEqual(seen(response), parted(thought, answer), JSON.stringify(text));
            }
        });

        test(`the cutting does not matter: ${setting}`, async () => {
            const below = dice();
            for (let i = 0; i < SEEDS; i++) {
                const text = wild(below);
                const first = seen((await streamed(both, setting, [text])).response);
                for (const pieces of [byCharacter(text), atRandom(text, below), atRandom(text, below, 9)])
                    assert.deepEqual(seen((await streamed(both, setting, pieces)).response), first, JSON.stringify(pieces));
                assert.deepEqual(seen(await whole(both, setting, atRandom(text, below))), first, JSON.stringify(text));
            }
        });
    }

    test('nothing changes in a text while the setting is off', async () => {
        const below = dice();
        for (let i = 0; i < SEEDS; i++) {
            const text = wild(below);
            assert.deepEqual(seen((await streamed(both, 'off', atRandom(text, below))).response), parted('', text), JSON.stringify(text));
        }
    });
});

/* ---- settings ---- */

describe('settings', { concurrency: false }, () => {
    const OPENED = '<think>a</think>b', BEGUN = 'a</think>b';

    for (const [setting, model, text, want] of [
        ['on', 'm', OPENED, parted('a', 'b')],
        ['inside', 'm', BEGUN, parted('a', 'b')],
        ['off', 'deepseek-r1', OPENED, parted('', OPENED)],
        ['auto', 'deepseek-r1:8b', BEGUN, parted('a', 'b')],
        ['auto', 'Qwen/Qwen3-4B-Thinking-2507', BEGUN, parted('a', 'b')],
        ['auto', 'qwen3:8b', OPENED, parted('a', 'b')],
        ['auto', 'unheard-of', OPENED, parted('a', 'b')],
        ['auto', 'gpt-oss-20b', OPENED, parted('', OPENED)],
    ])
        test(`${setting}, for ${model}: ${text}`, async (t) => {
            const both = await pair(t, '--think-tags', setting);
            assert.deepEqual(seen((await streamed(both, model, byCharacter(text))).response), want);
        });

    test('are chosen by the name that the upstream knows; the first line that says something counts', async (t) => {
        const both = await pair(t, '--think-tags', 'off', '--model-alias', 'thinker=r1-big', '--model-settings', 'r1-big think_tags=inside', '--model-settings', 'r1* think_tags=on');
        for (const [model, text, want] of [['r1-big', BEGUN, parted('a', 'b')], ['thinker', BEGUN, parted('a', 'b')], ['r1-small', OPENED, parted('a', 'b')], ['other', OPENED, parted('', OPENED)]])
            assert.deepEqual(seen((await streamed(both, model, [text])).response), want, model);
    });
});

describe('with other things that a server says', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, ...SETTINGS);
    const api = new Api(both, captures);
    const TOOLS = { tools: [fn('weather')] };
    const called = chunk({ tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'weather', arguments: '{}' } }] });

    for (const setting of ['on', 'inside'])
        test(`text behind reasoning that the server tells apart itself is text: ${setting}`, async () => {
            both.up.next(stream(frames(chunk({ reasoning_content: 'Let me' }), chunk({ reasoning_content: ' see' }), chunk({ content: 'It is' }), chunk({ content: ' so.' }), chunk({}, 'stop'), '[DONE]')));
            assert.deepEqual(seen((await api.stream({ model: setting })).response), parted('Let me see', 'It is so.'));
        });

    test('a call ends reasoning that no tag ended', async () => {
        both.up.next(stream(frames(chunk({ content: '<think>hm' }), called, chunk({}, 'tool_calls'), '[DONE]')));
        const { response } = await api.stream({ ...TOOLS, model: 'on' });
        assert.deepEqual(seen(response), { text: '', reasoning: 'hm', items: ['reasoning', 'function_call'] });
    });

    test('between the block and a call there is no empty message', async () => {
        both.up.next(stream(frames(chunk({ content: '<think>hm</think>\n\n' }), called, chunk({}, 'tool_calls'), '[DONE]')));
        const { response } = await api.stream({ ...TOOLS, model: 'on' });
        assert.deepEqual(seen(response), { text: '', reasoning: 'hm', items: ['reasoning', 'function_call'] });
    });

    test('a limit in the block leaves the reasoning incomplete', async () => {
        both.up.next(rawChat(byCharacter('<think>I was about'), 'length'));
        const { response } = await api.stream({ model: 'on' });
        assert.deepEqual([response.status, seen(response), response.output[0].status], ['incomplete', { text: '', reasoning: 'I was about', items: ['reasoning'] }, 'incomplete']);
    });

    test('each piece is delivered as it arrives', async () => {
        let go;
        const gate = new Promise((done) => (go = done));
        both.up.next(stream([...frames(chunk({ content: '<think>one' })), gate, ...frames(chunk({ content: ' two</think>three' }), chunk({}, 'stop'), '[DONE]')]));
        const call = open(both.daemon, { ...REQUEST, model: 'on' });
        await call.until('"delta":"one"');
        go();
        assert.deepEqual(seen(checkStream((await call.done).text).response), parted('one two', 'three'));
    });

    test('the model gets its reasoning back in the next turn', async () => {
        both.up.next(rawChat(byCharacter('<think>hm</think>yes')));
        const { output: items, id } = await api.respond({ model: 'on' });
        const want = [user('Hi'), { role: 'assistant', content: 'yes', reasoning_content: 'hm' }, user('and?')];
        await api.respond({ model: 'on', input: [user('Hi'), ...items, user('and?')] });
        assert.deepEqual(messagesOf(both.up), want);
        await api.respond({ model: 'on', input: 'and?', previous_response_id: id });
        assert.deepEqual(messagesOf(both.up), want);
    });
});

captures.judge(test);
