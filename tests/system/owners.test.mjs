/* owners.test.mjs -- what one client has is unknown to another: for every id and
 * every endpoint, its answer is that for an id which nobody has. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { open } from '../lib/client.mjs';
import { pair, shared } from '../lib/daemon.mjs';
import { Api, NOT_FOUND, NO_ITEM, assistant, messagesOf, reference, strange, textOf, user } from '../lib/state.mjs';
import { textStream } from '../lib/upstream.mjs';

const captures = new Captures();

/* All of an answer but what differs between any two, and the id that was asked for. */
function telling(got, id) {
    const { date, 'x-request-id': request, ...headers } = got.headers;
    assert.ok(request);
    return { status: got.status, headers, text: got.text.replaceAll(id, 'ID') };
}

describe('two clients', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--api-key', 'key-of-anna', '--api-key', 'key-of-ben');
    const [anna, ben] = ['key-of-anna', 'key-of-ben'].map((key) => new Api(both, captures, key));
    const hers = {}, his = {};

    /* What someone has: a chain of two, a conversation with one more response. */
    async function settle(api, name, own) {
        own.root = await api.respond({ input: [{ type: 'message', id: `msg_${name}`, role: 'user', content: name }] });
        own.child = await api.respond({ input: 'Child', previous_response_id: own.root.id });
        own.conversation = await api.make('conversations', { items: [user('Zero')], metadata: { name } });
        own.talk = await api.respond({ input: 'Talk', conversation: own.conversation.id });
        own.zero = (await api.list(`conversations/${own.conversation.id}/items?order=asc`))[0];
        own.question = (await api.list(`responses/${own.child.id}/input_items`))[0];
    }

    before(async () => {
        await settle(anna, 'anna', hers);
        await settle(ben, 'ben', his);
    });

    const ask = (more) => ['POST', 'responses', { model: 'm', input: 'Hi', ...more }];

    /* [what, id of hers, function that makes a request of it, status] */
    const TRIES = [];
    for (const which of ['root', 'child', 'talk']) {
        const id = () => hers[which].id;
        TRIES.push(
            [`GET response ${which}`, id, (x) => ['GET', `responses/${x}`], 404],
            [`GET /responses, ${which}`, id, (x) => ['GET', `/responses/${x}`], 404],
            [`input items of ${which}`, id, (x) => ['GET', `responses/${x}/input_items`], 404],
            [`cancel ${which}`, id, (x) => ['POST', `responses/${x}/cancel`], 404],
            [`DELETE response ${which}`, id, (x) => ['DELETE', `responses/${x}`], 404],
            [`previous_response_id ${which}`, id, (x) => ask({ previous_response_id: x }), 400],
            [`previous_response_id ${which}, streamed`, id, (x) => ask({ previous_response_id: x, stream: true }), 400],
        );
    }
    const conversation = () => hers.conversation.id;
    TRIES.push(
        ['GET conversation', conversation, (x) => ['GET', `conversations/${x}`], 404],
        ['POST conversation', conversation, (x) => ['POST', `conversations/${x}`, { metadata: { stolen: 'yes' } }], 404],
        ['DELETE conversation', conversation, (x) => ['DELETE', `conversations/${x}`], 404],
        ['GET items', conversation, (x) => ['GET', `conversations/${x}/items`], 404],
        ['POST items', conversation, (x) => ['POST', `conversations/${x}/items`, { items: [user('stolen')] }], 404],
        ['a response in her conversation', conversation, (x) => ask({ conversation: x }), 404],
        ['a response in her conversation, by object, streamed', conversation, (x) => ask({ conversation: { id: x }, stream: true }), 404],
        ['GET item of her conversation', conversation, (x) => ['GET', `conversations/${x}/items/${hers.zero.id}`], 404],
        ['DELETE item of her conversation', conversation, (x) => ['DELETE', `conversations/${x}/items/${hers.zero.id}`], 404],
    );
    for (const [what, id] of [
        ['answer', () => hers.root.output[0].id], ['question', () => hers.question.id], ['item with an id of her own', () => 'msg_anna'],
        ['conversation item', () => hers.zero.id], ['answer in a conversation', () => hers.talk.output[0].id],
    ]) {
        TRIES.push(
            [`reference to her ${what}`, id, (x) => ask({ input: [reference(x)] }), 404],
            [`reference to her ${what}, streamed`, id, (x) => ask({ input: [user('a'), { id: x }], stream: true }), 404],
            [`GET her ${what} in his conversation`, id, (x) => ['GET', `conversations/${his.conversation.id}/items/${x}`], 404],
            [`DELETE her ${what} in his conversation`, id, (x) => ['DELETE', `conversations/${his.conversation.id}/items/${x}`], 404],
            [`his conversation after her ${what}`, id, (x) => ['GET', `conversations/${his.conversation.id}/items?after=${x}`], 404],
            [`his input items after her ${what}`, id, (x) => ['GET', `responses/${his.child.id}/input_items?after=${x}`], 404],
        );
    }

    for (const [what, idOf, request, status] of TRIES) {
        test(`${what}: his answer is that for an unknown id`, async () => {
            const [real, unknown] = [idOf(), strange(idOf())];
            const got = await ben.call(...request(real));
            assert.equal(got.status, status, got.text);
            assert.deepEqual(telling(got, real), telling(await ben.call(...request(unknown)), unknown));
            assert.equal(both.up.requests.length, 0);
        });
    }

    test('and she has all of it still', async () => {
        for (const own of [hers.root, hers.child, hers.talk])
            assert.deepEqual(await anna.read(`responses/${own.id}`), own);
        assert.deepEqual(await anna.read(`conversations/${hers.conversation.id}`), hers.conversation);
        assert.deepEqual((await anna.list(`conversations/${hers.conversation.id}/items?order=asc`)).map(textOf), ['Zero', 'Talk', 'Hello']);
        assert.deepEqual(await anna.list(`responses/${hers.child.id}/input_items`), [hers.question]);
        await anna.respond({ input: 'More', previous_response_id: hers.child.id });
        assert.deepEqual(messagesOf(both.up).map((m) => m.content), ['anna', 'Hello', 'Child', 'Hello', 'More']);
    });

    test('an id that both have given to an item means each one\'s own', async () => {
        for (const [api, text] of [[anna, 'of anna'], [ben, 'of ben']])
            await api.respond({ input: [{ type: 'message', id: 'msg_shared', role: 'user', content: text }] });
        for (const [api, text] of [[anna, 'of anna'], [ben, 'of ben']]) {
            await api.respond({ input: [reference('msg_shared')] });
            assert.deepEqual(messagesOf(both.up), [user(text)]);
        }
    });

    test('that a conversation is locked is not told to others', async (t) => {
        let release;
        both.up.next({ ...textStream('Slow'), before: [new Promise((done) => (release = done))] });
        const call = open(both.daemon, { model: 'm', input: 'x', conversation: hers.conversation.id }, { headers: { authorization: 'Bearer key-of-anna' } });
        t.after(() => call.destroy());
        await both.up.request(0);
        const id = hers.conversation.id;
        assert.deepEqual(telling(await ben.call(...ask({ conversation: id })), id), telling(await ben.call(...ask({ conversation: strange(id) })), strange(id)));
        release();
        assert.equal((await call.done).status, 200);
    });
});

test('two keys of one name have the same state, another name has not', async (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'antiphon-keys-'));
    t.after(() => rmSync(dir, { recursive: true }));
    const line = (name, key) => `${name} ${createHash('sha256').update(key).digest('hex')}\n`;
    writeFileSync(join(dir, 'keys'), line('anna', 'old-key') + line('anna', 'new-key') + line('ben', 'key-of-ben'));
    const both = await pair(t, '--api-keys-file', join(dir, 'keys'));
    const [old, renewed, ben] = ['old-key', 'new-key', 'key-of-ben'].map((key) => new Api(both, captures, key));
    both.up.next(textStream('First.'));
    const first = await old.respond({ input: 'One' });
    assert.deepEqual(await renewed.read(`responses/${first.id}`), first);
    await renewed.respond({ input: 'Two', previous_response_id: first.id });
    assert.deepEqual(messagesOf(both.up), [user('One'), assistant('First.'), user('Two')]);
    await ben.refused('GET', `responses/${first.id}`, undefined, NOT_FOUND);
    await ben.turnedAway({ input: [reference(first.output[0].id)] }, NO_ITEM);
});

captures.judge(test);
