/* talks.mjs -- clients that continue what they were told is stored, and remember it.
 *
 * A turn is one question and its answer. What the model has to be shown before a
 * question is known when it is asked: everything of the chain or conversation so
 * far, once and in order. The upstream compares, and keeps what differs in
 * `faults`. What a client has seen of a response decides what must be found later:
 *
 *     stored    its completed event or its whole body: it can be fetched, byte by byte
 *     refused   an error or response.failed; the client was told
 *     lost      less than that: it is there as a whole, or it is not there
 *
 * The last two may leave a turn in their conversation or not, so a conversation
 * has an `open` turn until settle() has looked.
 */
import assert from 'node:assert/strict';
import { checkError, readingOf } from './check.mjs';
import { get, open } from './client.mjs';
import { patience } from './patience.mjs';
import { textStream } from './upstream.mjs';

const MAX_DEPTH = 30; /* turns of a chain or conversation, so that its check stays cheap */
const RECENT = 40;    /* turns to continue are taken from so many of the last ones */

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const below = (n) => Math.floor(Math.random() * n);

const messagesOf = (turn) => [['user', turn.question], ['assistant', turn.answer]];
const isLocked = ({ fate, status }) => fate === 'refused' && status === 409;

export class Talks {
    faults = [];
    turns = [];
    conversations = [];
    #idle = []; /* conversations that no client is in */
    #asked = new Map(); /* question -> turn */

    constructor(up) {
        this.up = up;
        up.always((request) => {
            up.requests.length = 0; /* they were looked at here */
            return this.#answer(request.body.messages.map(({ role, content }) => [role, content]));
        });
    }

    get stored() {
        return this.turns.filter(({ fate }) => fate === 'stored');
    }

    #answer(messages) {
        const turn = this.#asked.get(messages.at(-1)[1]);
        if (turn === undefined)
            return textStream('Hello'); /* somebody else's question */
        try {
            assert.deepEqual(messages, [...turn.before, ['user', turn.question]]);
        } catch (difference) {
            this.faults.push(`the model was shown something else: ${difference.message.slice(0, 2000)}`);
        }
        return textStream(turn.answer, { reasoning: turn.n % 3 === 0 ? 'Let me think.' : '' });
    }

    /* ---- asking */

    /* One more turn: behind `parent`, in `conversation`, or as the first of a chain. */
    async ask(daemon, { parent, conversation, stream = false } = {}) {
        const n = this.turns.length;
        const turn = {
            n, parent, conversation, stream,
            mayBeLocked: conversation?.mayBeLocked ?? false,
            question: `question ${n} ${'.'.repeat(below(10) === 0 ? 8000 : 20)}`,
            answer: `answer to question ${n}`,
            before: conversation?.turns.flatMap(messagesOf) ?? (parent ? [...parent.before, ...messagesOf(parent)] : []),
        };
        this.turns.push(turn);
        this.#asked.set(turn.question, turn);
        const call = open(daemon, { model: 'm', input: turn.question, stream, previous_response_id: parent?.id, conversation: conversation?.id });
        await call.done.catch(() => {});
        this.#see(turn, call);
        if (conversation && !isLocked(turn))
            this.#note(conversation, turn);
        return turn;
    }

    #note(conversation, turn) {
        conversation.mayBeLocked = turn.fate !== 'stored'; /* until the lock expires */
        if (turn.fate === 'stored')
            conversation.turns.push(turn);
        else
            conversation.open = turn;
    }

    #see(turn, call) {
        const { text } = call;
        Object.assign(turn, { fate: 'lost', status: call.status, call });
        turn.id = text.match(/"id":"(resp_\w+)"/)?.[1];
        const terminal = turn.stream && text.match(/^event: response\.(completed|incomplete|failed)\ndata: (.*)\n\n/m);
        if (call.ended && call.status !== 200)
            turn.fate = 'refused';
        else if (terminal)
            Object.assign(turn, { fate: terminal[1] === 'completed' ? 'stored' : 'refused', shown: terminal[2] });
        else if (call.ended && !turn.stream)
            Object.assign(turn, { fate: 'stored', shown: text });
    }

    /* A new conversation; when there is none, fate and call of a turn. */
    async converse(daemon) {
        const call = open(daemon, {}, { path: '/v1/conversations' });
        await call.done.catch(() => {});
        if (!call.ended || call.status !== 200)
            return { fate: call.ended ? 'refused' : 'lost', status: call.status, call };
        const conversation = { id: call.json.id, turns: [], open: null, mayBeLocked: false };
        this.conversations.push(conversation);
        return conversation;
    }

    /* ---- a client at work */

    /* Asks until `over` says so, or the daemon is gone. */
    async work(daemon, { over = () => false, onRefused = (turn) => this.faults.push(`refused: ${turn.call.text}`) } = {}) {
        while (!over()) {
            const turn = await (below(3) === 0 ? this.#continueConversation(daemon) : this.#continueChain(daemon));
            if (turn.fate === 'lost')
                return;
            if (turn.fate === 'refused' && !(isLocked(turn) && turn.mayBeLocked))
                await onRefused(turn);
        }
    }

    #continueChain(daemon) {
        const recent = this.stored.slice(-RECENT).filter(({ before, conversation }) => before.length < 2 * MAX_DEPTH && !conversation);
        const parent = below(4) === 0 ? undefined : recent[below(recent.length)];
        return this.ask(daemon, { parent, stream: below(2) === 0 });
    }

    async #continueConversation(daemon) {
        const usable = ({ open, turns }) => open === null && turns.length < MAX_DEPTH;
        let conversation = this.#idle.findLast(usable);
        if (conversation === undefined || below(8) === 0)
            conversation = await this.converse(daemon);
        if (conversation.fate !== undefined)
            return conversation;
        this.#idle = this.#idle.filter((other) => other !== conversation);
        const turn = await this.ask(daemon, { conversation, stream: below(2) === 0 });
        if (isLocked(turn))
            this.#idle.unshift(conversation); /* others first, until the lock has expired */
        else
            this.#idle.push(conversation);
        return turn;
    }

    /* ---- looking at what is there */

    /* A turn whose answer was seen is shown again byte by byte; one that was lost
     * is whole or unknown. */
    async check(daemon, turn) {
        if (turn.id === undefined || turn.fate === 'refused')
            return;
        const got = await get(daemon, `/v1/responses/${turn.id}`);
        turn.isThere = got.status === 200;
        if (turn.fate === 'stored') {
            assert.equal(got.status, 200, `${turn.id} was acknowledged: ${got.text}`);
            assert.ok(turn.stream ? turn.shown.includes(`"response":${got.text}`) : turn.shown === got.text,
                `${turn.id} was shown as ${turn.shown}\nand is now ${got.text}`);
        } else if (turn.isThere) {
            assert.equal(got.json.status, 'completed');
            assert.equal(readingOf(got.json).text, turn.answer);
        } else {
            checkError(got, 404, 'not_found');
        }
    }

    /* A conversation holds its turns, and all or nothing of the one that was broken off. */
    async settle(daemon, conversation) {
        const list = await get(daemon, `/v1/conversations/${conversation.id}/items?order=asc&limit=100`);
        assert.equal(list.status, 200, list.text);
        assert.equal(list.json.has_more, false);
        const there = list.json.data.filter(({ type }) => type === 'message')
            .map(({ role, content }) => [role, content.map(({ text }) => text).join('')]);
        const { open, turns } = conversation;
        if (open !== null && there.length > 2 * turns.length)
            turns.push(open);
        assert.deepEqual(there, turns.flatMap(messagesOf));
        if (open?.id !== undefined && open.fate === 'lost') {
            await this.check(daemon, open);
            assert.equal(open.isThere, turns.includes(open), `${open.id} is in its conversation exactly if it is stored`);
        }
        conversation.open = null;
    }

    /* A response that was found without knowing its id, and its input items. */
    checkWhole(response, input) {
        const turn = this.#asked.get(input.at(-1).content.map(({ text }) => text).join(''));
        assert.equal(response.status, 'completed');
        assert.equal(readingOf(response).text, turn.answer);
    }

    /* After an interruption: everything since the turn numbered `first`. */
    async inspect(daemon, first = 0) {
        for (const turn of this.turns.slice(first))
            await this.check(daemon, turn);
        for (const conversation of this.conversations.filter(({ open }) => open !== null))
            await this.settle(daemon, conversation);
        assert.deepEqual(this.faults, []);
    }

    /* One more turn in a conversation whose lock may have to expire first. */
    async resume(daemon, conversation, ms = 10_000) {
        for (const deadline = performance.now() + patience(ms); ; await pause(50)) {
            const turn = await this.ask(daemon, { conversation });
            if (!isLocked(turn) || performance.now() > deadline) {
                assert.equal(turn.fate, 'stored', turn.call.text);
                return;
            }
        }
    }

    /* Up to `most` of the turns that nothing has continued yet are continued, and
     * all conversations. */
    async continueAll(daemon, most = 200) {
        const continued = new Set(this.turns.map(({ parent }) => parent));
        for (const parent of this.stored.filter((turn) => !continued.has(turn)).slice(-most))
            assert.equal((await this.ask(daemon, { parent })).fate, 'stored');
        for (const conversation of this.conversations)
            await this.resume(daemon, conversation);
        assert.deepEqual(this.faults, []);
    }
}
