/* conversations.test.mjs -- conversations: the object, its items, and responses
 * that read from one and add to it. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkError, checkStream } from '../lib/check.mjs';
import { open } from '../lib/client.mjs';
import { shared } from '../lib/daemon.mjs';
import {
    Api, NOT_FOUND, NO_CONVERSATION, assistant, calling, fn, idIn, messagesOf, output, reference, strange, system, textOf, toolResult, user,
} from '../lib/state.mjs';
import { HANG, callStream, chunk, failure, frames, stream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const UNKNOWN = 'conv_00000000000000000000000000000000';
const keys = (n) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, 'v']));
const users = (n, from = 0) => Array.from({ length: n }, (_, i) => user(`item ${from + i}`));

function setup(...args) {
    const both = shared({ before, beforeEach, after }, ...args);
    const api = new Api(both, captures);
    return {
        both,
        api,
        conversation: async (...items) => (await api.make('conversations', { items })).id,
        textsOf: async (id) => (await api.list(`conversations/${id}/items?order=asc&limit=100`)).map(textOf),
    };
}

describe('a conversation', { concurrency: false }, () => {
    const { api, conversation, textsOf } = setup();

    test('is made, shown, changed and deleted', async () => {
        const made = await api.make('conversations', { metadata: { a: 'b' } });
        assert.match(made.id, /^conv_[0-9A-Za-z]{32,}$/);
        assert.deepEqual(made, { id: made.id, object: 'conversation', created_at: made.created_at, metadata: { a: 'b' } });
        const path = `conversations/${made.id}`;
        assert.deepEqual(await api.read(path), made);
        const changed = await api.make(path, { metadata: { c: 'd "é"' } });
        assert.deepEqual(changed, { ...made, metadata: { c: 'd "é"' } }, 'metadata is replaced, not merged');
        assert.deepEqual(await api.read(path), changed);
        assert.deepEqual((await api.make(path, { metadata: {} })).metadata, {});
        assert.deepEqual(await api.remove(path), { id: made.id, object: 'conversation.deleted', deleted: true });
        for (const [method, body] of [['GET'], ['POST', { metadata: {} }], ['DELETE']])
            await api.refused(method, path, body, NOT_FOUND);
    });

    test('can be made of nothing', async () => {
        for (const body of [{}, { items: [], metadata: {} }, { items: null, metadata: null }]) {
            const { id, metadata } = await api.make('conversations', body);
            assert.deepEqual([metadata, await textsOf(id)], [{}, []]);
        }
    });

    test('can be made of up to 20 items', async () => {
        assert.deepEqual(await textsOf(await conversation(...users(20))), users(20).map((item) => item.content));
    });

    /* [request, error] */
    for (const [body, error] of [
        [{ metadata: keys(17) }, [400, 'object_above_max_properties', 'metadata']],
        [{ metadata: { k: 'v'.repeat(513) } }, [400, 'string_above_max_length']],
        [{ metadata: { ['k'.repeat(65)]: 'v' } }, [400, 'string_above_max_length']],
        [{ metadata: { k: 1 } }, [400, 'invalid_type']],
        [{ metadata: 'x' }, [400, 'invalid_type', 'metadata']],
    ]) {
        test(`metadata like ${JSON.stringify(body).slice(0, 50)} is refused`, async () => {
            await api.refused('POST', 'conversations', body, error);
            const made = await api.make('conversations', { metadata: { a: 'b' } });
            await api.refused('POST', `conversations/${made.id}`, body, error);
            assert.deepEqual(await api.read(`conversations/${made.id}`), made, 'and nothing has changed');
        });
    }

    test('metadata at its limits is kept', async () => {
        const metadata = { ...keys(15), ['k'.repeat(64)]: 'é'.repeat(512) };
        assert.deepEqual((await api.make('conversations', { metadata })).metadata, metadata);
    });

    for (const [items, error] of [
        [users(21), [400, 'array_above_max_length', 'items']],
        ['x', [400, 'invalid_type', 'items']],
        [[{ type: 'telepathy' }], [400, 'invalid_value', 'items[0].type']],
        [[user('x'), user([{ type: 'input_smell' }])], [400, 'invalid_value', 'items[1].content[0].type']],
        [[5], [400, 'invalid_type', 'items[0]']],
    ]) {
        test(`items like ${JSON.stringify(items).slice(0, 50)} are refused`, async () => {
            await api.refused('POST', 'conversations', { items }, error);
            const id = await conversation(user('One'));
            await api.refused('POST', `conversations/${id}/items`, { items }, error);
            assert.deepEqual(await textsOf(id), ['One']);
        });
    }

    for (const body of ['{', '[]', '"x"', '']) {
        test(`the body ${JSON.stringify(body)} is refused`, async () => {
            const id = await conversation();
            for (const path of [`conversations/${id}`, `conversations/${id}/items`])
                await api.refused('POST', path, body, [400]);
        });
    }

    test('what is missing is named', async () => {
        const id = await conversation();
        await api.refused('POST', `conversations/${id}`, {}, [400, 'missing_required_parameter', 'metadata']);
        await api.refused('POST', `conversations/${id}/items`, {}, [400, 'missing_required_parameter', 'items']);
    });

    for (const [method, path, body] of [
        ['GET', ''], ['POST', '', { metadata: {} }], ['DELETE', ''], ['GET', '/items'], ['POST', '/items', { items: users(1) }],
        ['GET', '/items/msg_x'], ['DELETE', '/items/msg_x'],
    ]) {
        test(`${method} {unknown}${path} is not found`, async () => {
            for (const id of [UNKNOWN, 'x', '%27', 'resp_x']) {
                const { message } = await api.refused(method, `conversations/${id}${path}`, body, [404, 'not_found', null]);
                if (id === UNKNOWN)
                    assert.equal(message, `Conversation with id '${id}' not found.`);
            }
        });
    }

    for (const [method, path, allow] of [['GET', '', 'POST'], ['PUT', `/${UNKNOWN}`, 'DELETE'], ['DELETE', `/${UNKNOWN}/items`, 'GET'], ['POST', `/${UNKNOWN}/items/msg_x`, 'GET']]) {
        test(`${method} conversations${path} is not allowed, ${allow} is`, async () => {
            const got = await api.call(method, `conversations${path}`);
            checkError(got, 405, 'method_not_allowed');
            assert.ok(got.headers.allow.split(/, */).includes(allow), got.headers.allow);
        });
    }
});

describe('items of a conversation', { concurrency: false }, () => {
    const { api, conversation, textsOf } = setup();

    test('are listed like those of a response', async () => {
        const id = await conversation(...users(20));
        await api.make(`conversations/${id}/items`, { items: users(5, 20) });
        const path = `conversations/${id}/items`;
        const { data, has_more } = await api.read(path);
        assert.deepEqual([data.length, has_more, textOf(data[0])], [20, true, 'item 24']);
        const pages = await api.pages(`${path}?order=asc&limit=9`);
        assert.deepEqual(pages.flat().map(textOf), users(25).map((item) => item.content));
        for (const [query, error] of [['limit=0', [400, 'integer_below_min_value', 'limit']], ['order=up', [400, 'invalid_value', 'order']], ['after=msg_x', NOT_FOUND]])
            await api.refused('GET', `${path}?${query}`, undefined, error);
    });

    test('that are added are answered, whole and in order', async () => {
        const id = await conversation(user('Zero'));
        const input = [{ role: 'developer', content: 'Rule' }, { type: 'message', id: 'msg_own', role: 'user', content: 'One' },
            { type: 'function_call', call_id: 'a', name: 'weather', arguments: '{}' }, output('a', 'cold')];
        const { data, first_id, last_id, has_more } = await api.make(`conversations/${id}/items`, { items: input });
        assert.deepEqual(data.map((item) => [item.type, item.status]), [['message', 'completed'], ['message', 'completed'], ['function_call', 'completed'], ['function_call_output', 'completed']]);
        assert.deepEqual([data[1].id, first_id, last_id, has_more], ['msg_own', data[0].id, data[3].id, false]);
        assert.deepEqual((await api.list(`conversations/${id}/items?order=asc`)).slice(1), data);
    });

    test('are shown and deleted one by one', async () => {
        const id = await conversation(...users(3));
        const items = await api.list(`conversations/${id}/items?order=asc`);
        for (const item of items)
            assert.deepEqual(await api.read(`conversations/${id}/items/${item.id}`), item);
        assert.deepEqual(await api.remove(`conversations/${id}/items/${items[1].id}`), await api.read(`conversations/${id}`));
        assert.deepEqual(await textsOf(id), ['item 0', 'item 2']);
        for (const [method, item] of [['GET', items[1].id], ['DELETE', items[1].id], ['GET', strange(items[0].id)], ['DELETE', strange(items[0].id)]]) {
            const { message } = await api.refused(method, `conversations/${id}/items/${item}`, undefined, [404, 'not_found', null]);
            assert.equal(message, `Item with id '${item}' not found.`);
        }
        await api.refused('GET', `conversations/${id}/items?after=${items[1].id}`, undefined, NOT_FOUND);
    });

    test('are not those of another conversation', async () => {
        const [one, two] = [await conversation(user('One')), await conversation(user('Two'))];
        const [item] = await api.list(`conversations/${one}/items`);
        for (const method of ['GET', 'DELETE'])
            await api.refused(method, `conversations/${two}/items/${item.id}`, undefined, NOT_FOUND);
        assert.deepEqual(await textsOf(one), ['One']);
    });

    test('that many clients add at once are all there, each group in order', async () => {
        const id = await conversation();
        await Promise.all(Array.from({ length: 10 }, (_, i) => api.make(`conversations/${id}/items`, { items: [user(`${i}a`), user(`${i}b`)] })));
        const texts = await textsOf(id);
        assert.equal(texts.length, 20);
        for (let i = 0; i < 10; i++)
            assert.equal(texts.indexOf(`${i}b`), texts.indexOf(`${i}a`) + 1);
    });
});

describe('responses in a conversation', { concurrency: false }, () => {
    const { both, api, conversation, textsOf } = setup('--early-error-window', '0');
    const cut = textStream('Cut', { finish: 'length' });
    const broken = () => stream(frames(chunk({ content: 'half' }), { error: { message: 'KV cache is full', code: 500 } }));

    test('read its items and add their own', async () => {
        const id = await conversation({ role: 'developer', content: 'Rule' }, user('Zero'));
        both.up.next(textStream('First.', { reasoning: 'Hm' }), cut, textStream('Third.'));
        const first = await api.respond({ input: 'One', instructions: 'Be brief.', conversation: id });
        assert.deepEqual([first.conversation, first.previous_response_id], [{ id }, null]);
        assert.deepEqual(messagesOf(both.up), [system('Be brief.\n\nRule'), user('Zero'), user('One')]);
        const { response: second, events } = await api.stream({ input: 'Two', conversation: { id } });
        assert.deepEqual([second.status, second.conversation, events[0].response.conversation], ['incomplete', { id }, { id }]);
        await api.respond({ input: 'Three', conversation: id });
        assert.deepEqual(messagesOf(both.up), [system('Rule'), user('Zero'), user('One'), assistant('First.', { reasoning_content: 'Hm' }),
            user('Two'), assistant('Cut'), user('Three')]);
        assert.deepEqual(await textsOf(id), ['Rule', 'Zero', 'One', 'Hm', 'First.', 'Two', 'Cut', 'Three', 'Third.']);
    });

    test('say nothing twice that the conversation holds already', async () => {
        const id = await conversation({ ...user('opening'), id: 'msg_opening' });
        both.up.next(textStream('First'));
        const { output: [answer] } = await api.respond({ conversation: id, input: 'One' });
        const again = [reference('msg_opening'), answer, user('Two')];
        both.up.next(textStream('Second'));
        const second = await api.respond({ conversation: id, input: again });
        const before = [user('opening'), user('One'), assistant('First'), user('Two')];
        assert.deepEqual(messagesOf(both.up), before);
        assert.deepEqual(await textsOf(id), ['opening', 'One', 'First', 'Two', 'Second']);
        assert.deepEqual((await api.list(`responses/${second.id}/input_items?order=asc`)).map(textOf), ['opening', 'First', 'Two']);
        await api.respond({ previous_response_id: second.id, input: 'Three' });
        assert.deepEqual(messagesOf(both.up), [...before, assistant('Second'), user('Three')]);
    });

    test('are stored like others, with the same items and ids', async () => {
        const id = await conversation();
        const made = await api.answer({ input: 'One', conversation: id });
        assert.equal((await api.get(`responses/${made.json.id}`)).text, made.text);
        const items = await api.list(`conversations/${id}/items?order=asc`);
        assert.deepEqual(items[0], (await api.list(`responses/${made.json.id}/input_items`))[0]);
        assert.deepEqual(items[1], made.json.output[0]);
        const { response, written } = await api.stream({ input: 'Two', conversation: id });
        assert.equal((await api.get(`responses/${response.id}`)).text, written);
        assert.deepEqual((await api.list(`responses/${response.id}/input_items`)).map(textOf), ['Two'], 'without the conversation');
    });

    test('call tools and take their outputs', async () => {
        const id = await conversation();
        both.up.next(callStream(['weather', {}, 'a']), textStream('Cold.'));
        const tools = [fn('weather')];
        await api.respond({ input: 'Weather?', conversation: id, tools });
        await api.respond({ input: [output('a', '3 degrees')], conversation: id, tools });
        const asked = [user('Weather?'), calling(['a', 'weather', {}]), toolResult('a', '3 degrees')];
        assert.deepEqual(messagesOf(both.up), asked);
        const { message } = await api.turnedAway({ input: [output('b', 'x')], conversation: id }, [400, 'invalid_value', 'input']);
        assert.match(message, /^No tool call found for function call output with call_id b/);
        await api.respond({ input: [], conversation: id });
        assert.deepEqual(messagesOf(both.up), [...asked, assistant('Cold.')]);
    });

    test('add nothing when they fail', async () => {
        const id = await conversation(user('Zero'));
        both.up.next(broken(), failure(400, 'bad thing'));
        const { response, written } = await api.stream({ input: 'One', conversation: id });
        assert.deepEqual([response.status, response.conversation], ['failed', { id }]);
        assert.equal((await api.get(`responses/${response.id}`)).text, written);
        await api.refused('POST', 'responses', { model: 'm', input: 'Two', conversation: id }, [400]);
        assert.deepEqual(await textsOf(id), ['Zero']);
        await api.respond({ input: 'Three', conversation: id }); /* and hold no lock */
        assert.deepEqual(messagesOf(both.up), [user('Zero'), user('Three')]);
    });

    test('with store false read, and leave no trace', async () => {
        const id = await conversation(user('Zero'));
        await api.respond({ input: 'One', conversation: id, store: false });
        assert.deepEqual(messagesOf(both.up), [user('Zero'), user('One')]);
        assert.deepEqual(await textsOf(id), ['Zero']);
    });

    test('see items that were added, and not those that were deleted', async () => {
        const id = await conversation();
        const { id: response, output: [answer] } = await api.respond({ input: 'One', conversation: id });
        await api.make(`conversations/${id}/items`, { items: [user('Two')] });
        const [question] = await api.list(`responses/${response}/input_items`);
        await api.remove(`conversations/${id}/items/${question.id}`);
        await api.respond({ input: 'Three', conversation: id });
        assert.deepEqual(messagesOf(both.up), [assistant('Hello'), user('Two'), user('Three')]);
        assert.deepEqual(await api.list(`responses/${response}/input_items`), [question], 'the response keeps it');
        assert.deepEqual((await api.read(`responses/${response}`)).output, [answer]);
    });

    test('can be continued beside it, as it was after them', async () => {
        const id = await conversation(user('Zero'));
        const first = await api.respond({ input: 'One', conversation: id });
        await api.respond({ input: 'Two', conversation: id });
        const branch = await api.respond({ input: 'Other', previous_response_id: first.id });
        assert.deepEqual(messagesOf(both.up), [user('Zero'), user('One'), assistant('Hello'), user('Other')]);
        await api.respond({ input: 'More', previous_response_id: branch.id });
        assert.deepEqual(messagesOf(both.up).slice(-3), [user('Other'), assistant('Hello'), user('More')]);
        assert.deepEqual(await textsOf(id), ['Zero', 'One', 'Hello', 'Two', 'Hello'], 'which adds nothing to it');
    });

    test('can be deleted, and their items stay in it', async () => {
        const id = await conversation();
        const { id: response } = await api.respond({ input: 'One', conversation: id });
        await api.remove(`responses/${response}`);
        await api.refused('GET', `responses/${response}`, undefined, NOT_FOUND);
        assert.deepEqual(await textsOf(id), ['One', 'Hello']);
    });

    test('outlive it', async () => {
        const id = await conversation(user('Zero'));
        const made = await api.answer({ input: 'One', conversation: id });
        await api.remove(`conversations/${id}`);
        for (const path of ['', '/items', `/items/${made.json.output[0].id}`])
            await api.refused('GET', `conversations/${id}${path}`, undefined, NOT_FOUND);
        await api.refused('POST', `conversations/${id}/items`, { items: users(1) }, NOT_FOUND);
        await api.turnedAway({ conversation: id }, NO_CONVERSATION);
        assert.equal((await api.get(`responses/${made.json.id}`)).text, made.text);
        assert.equal((await api.list(`responses/${made.json.id}/input_items`)).length, 1);
        await api.respond({ input: 'Two', previous_response_id: made.json.id });
        assert.deepEqual(messagesOf(both.up), [user('Zero'), user('One'), assistant('Hello'), user('Two')]);
        await api.respond({ input: [reference(made.json.output[0].id)] });
        assert.deepEqual(messagesOf(both.up), [assistant('Hello')]);
    });

    for (const streamed of [false, true]) {
        test(`an unknown one is not found${streamed ? ', streamed' : ''}`, async () => {
            for (const id of [UNKNOWN, 'conv_x', 'x', "'"]) {
                for (const form of [id, { id }]) {
                    const { message } = await api.turnedAway({ conversation: form, stream: streamed }, NO_CONVERSATION);
                    assert.equal(message, `Conversation with id '${id}' not found.`);
                }
            }
        });
    }

    for (const form of [5, [], {}, { id: 5 }, true])
        test(`conversation ${JSON.stringify(form)} is refused`, async () => void await api.turnedAway({ conversation: form }, [400]));
});

describe('reasoning that clients do not see', { concurrency: false }, () => {
    const { both, api, conversation } = setup('--reasoning', 'none');

    test('is part of what the model sees of a conversation, and of no list', async () => {
        const id = await conversation();
        for (const name of ['One', 'Two', 'Three']) {
            both.up.next(textStream(`re ${name}`, { reasoning: `secret ${name}` }));
            const { id: response } = await api.respond({ input: name, conversation: id });
            assert.ok(!(await api.get(`responses/${response}`)).text.includes('secret'));
        }
        assert.deepEqual(messagesOf(both.up).map((m) => m.reasoning_content), [undefined, 'secret One', undefined, 'secret Two', undefined]);
        const pages = await api.pages(`conversations/${id}/items?order=asc&limit=2`);
        assert.deepEqual(pages.map((page) => page.map(textOf)), [['One', 're One'], ['Two', 're Two'], ['Three', 're Three']]);
    });
});

describe('two responses at once in a conversation', { concurrency: false }, () => {
    const { both, api, conversation, textsOf } = setup();
    const start = (t, more) => {
        const call = open(both.daemon, { model: 'm', input: 'First', ...more });
        t.after(() => call.destroy());
        return call;
    };

    /* An answer that has begun and waits for the test. */
    function held() {
        let release;
        both.up.next(stream([...frames(chunk({ content: 'Slow' })), new Promise((done) => (release = done)), ...frames(chunk({}, 'stop'), '[DONE]')]));
        return release;
    }

    for (const streamed of [false, true]) {
        test(`the second is refused while the first runs, and works after it${streamed ? ', streamed' : ''}`, async (t) => {
            const id = await conversation();
            const release = held();
            const first = start(t, { conversation: id, stream: streamed });
            await both.up.request(0);
            for (const stream of [false, true])
                await api.turnedAway({ input: 'Second', conversation: { id }, stream }, [409, 'conversation_locked']);
            assert.deepEqual(await textsOf(id), [], 'and reading it works');
            release();
            await first.done;
            await api.respond({ input: 'Second', conversation: id });
            assert.deepEqual(messagesOf(both.up), [user('First'), assistant('Slow'), user('Second')]);
            assert.deepEqual(await textsOf(id), ['First', 'Slow', 'Second', 'Hello']);
        });
    }

    for (const streamed of [false, true]) {
        test(`the second works after the client of the first has left${streamed ? ', streamed' : ''}`, async (t) => {
            const id = await conversation(user('Zero'));
            both.up.next(stream([...frames(chunk({ content: 'Slow' })), HANG]));
            const first = start(t, { conversation: id, stream: streamed });
            const request = await both.up.request(0);
            if (streamed)
                await first.until('Slow');
            first.destroy();
            await request.closed;
            await api.until(200, 'POST', 'responses', { model: 'm', input: 'Second', conversation: id }, 10_000);
            assert.deepEqual(messagesOf(both.up), [user('Zero'), user('Second')]);
            assert.deepEqual(await textsOf(id), ['Zero', 'Second', 'Hello']);
            if (streamed)
                await api.refused('GET', `responses/${idIn(first.text)}`, undefined, NOT_FOUND);
        });
    }

    test('the second works although the upstream does not close the answer to the first, which is not stored', async () => {
        const id = await conversation();
        both.up.next(stream([...frames(chunk({ content: 'Done' }, 'stop'), '[DONE]'), HANG]));
        await api.respond({ input: 'First', conversation: id, store: false });
        await api.respond({ input: 'Second', conversation: id });
        assert.deepEqual(await textsOf(id), ['Second', 'Hello']);
    });

    test('of twenty, each is answered whole or refused, and the conversation has those that were answered', async () => {
        const id = await conversation();
        both.up.always(({ body }) => textStream(`re ${body.messages.at(-1).content}`));
        const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => api.post('responses', { model: 'm', input: `q${i}`, conversation: id })));
        const served = answers.filter((got) => got.status === 200);
        assert.ok(served.length > 0);
        for (const got of answers.filter((one) => one.status !== 200))
            checkError(got, 409, 'conversation_locked');
        const texts = await textsOf(id);
        assert.equal(texts.length, 2 * served.length);
        for (const { json: { output: [answer] } } of served)
            assert.equal(texts[texts.indexOf(textOf(answer)) - 1], textOf(answer).slice(3), 'each answer follows its question');
    });

    test('deleting it meanwhile ends in a whole response or in a failure', async (t) => {
        const id = await conversation(user('Zero'));
        const release = held();
        const first = start(t, { conversation: id, stream: true });
        await first.until('Slow');
        await api.remove(`conversations/${id}`);
        release();
        const { response } = checkStream((await first.done).text);
        await api.turnedAway({ conversation: id }, NO_CONVERSATION);
        if (response.status === 'completed') {
            await api.respond({ input: 'Second', previous_response_id: response.id });
            assert.deepEqual(messagesOf(both.up).map((m) => m.content), ['Zero', 'First', 'Slow', 'Second']);
        }
    });

    test('others are not in the way', async (t) => {
        const [one, two] = [await conversation(), await conversation()];
        const release = held();
        const first = start(t, { conversation: one, stream: true });
        await both.up.request(0);
        await api.respond({ conversation: two });
        await api.respond();
        release();
        checkStream((await first.done).text);
    });
});

captures.judge(test);
