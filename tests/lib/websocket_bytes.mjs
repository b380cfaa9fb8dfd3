/* websocket_bytes.mjs -- a WebSocket client in bytes: any handshake, any frame, right or wrong.
 *
 * dial() shakes hands and tells what came of it; connect() insists on 101. The socket then
 * says frames, and frame() is the next one of the server.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import { patience } from './patience.mjs';

const PATIENCE_MS = patience(10_000);
const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';

export const TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10;

export const acceptOf = (key) => createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');

/* A frame as bytes. `length` is what its head says, whatever the payload is. */
export function frame(opcode, payload = '', { final = true, mask = true, reserved = 0, length } = {}) {
    const bytes = Buffer.from(payload);
    const n = BigInt(length ?? bytes.length);
    const head = Buffer.alloc(n < 126n ? 2 : n < 65536n ? 4 : 10);
    const key = Buffer.from([0x37, 0xa5, 0x00, 0xff]);
    head[0] = (final ? 0x80 : 0) | reserved << 4 | opcode;
    head[1] = (mask ? 0x80 : 0) | (n < 126n ? Number(n) : n < 65536n ? 126 : 127);
    if (head.length === 4)
        head.writeUInt16BE(Number(n), 2);
    else if (head.length === 10)
        head.writeBigUInt64BE(n, 2);
    return mask ? Buffer.concat([head, key, bytes.map((byte, i) => byte ^ key[i % 4])]) : Buffer.concat([head, bytes]);
}

export const closing = (code, words = '') => frame(CLOSE, Buffer.concat([Buffer.from([code >> 8, code & 255]), Buffer.from(words)]));

/* The head of a handshake; undefined takes a header away, an array repeats it. */
export function handshake({ path = '/v1/responses', line = `GET ${path} HTTP/1.1`, headers = {} } = {}) {
    const all = { Host: 'localhost', Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': KEY, ...headers };
    const lines = Object.entries(all).flatMap(([name, value]) => [value].flat().filter((one) => one !== undefined).map((one) => `${name}: ${one}\r\n`));
    return `${line}\r\n${lines.join('')}\r\n`;
}

class Socket {
    #got = Buffer.alloc(0);
    #waiting = new Set();

    constructor(daemon) {
        this.socket = daemon.dialTls?.() ?? net.connect(daemon.port, daemon.host);
        this.socket.on('data', (bytes) => {
            this.#got = Buffer.concat([this.#got, bytes]);
            this.#notify();
        });
        this.ended = new Promise((done) => this.socket.on('close', () => {
            this.isOver = true;
            this.#notify();
            done();
        }));
        this.socket.on('error', () => {});
    }

    #notify() {
        for (const look of this.#waiting)
            look();
    }

    /* What take() makes of the bytes at hand; undefined: there are not enough. */
    async #next(take, what) {
        let look, late;
        try {
            return await new Promise((done, fail) => {
                look = () => {
                    const taken = take(this.#got);
                    if (taken !== undefined)
                        done(taken);
                    else if (this.isOver)
                        fail(new Error(`the connection ended before ${what}, behind ${JSON.stringify(this.#got.toString('latin1'))}`));
                };
                late = setTimeout(() => fail(new Error(`no ${what} within ${PATIENCE_MS} ms`)), PATIENCE_MS);
                this.#waiting.add(look);
                look();
            });
        } finally {
            clearTimeout(late);
            this.#waiting.delete(look);
        }
    }

    say(...pieces) {
        this.socket.write(Buffer.concat(pieces.map((piece) => Buffer.from(piece))));
    }

    /* The head of the answer, and the body if it is an error. */
    async answer() {
        return this.#next((got) => {
            const end = got.indexOf('\r\n\r\n');
            if (end === -1)
                return undefined;
            const [first, ...lines] = got.subarray(0, end).toString('latin1').split('\r\n');
            const status = Number(first.split(' ')[1]);
            const headers = Object.fromEntries(lines.map((one) => [one.slice(0, one.indexOf(':')).toLowerCase(), one.slice(one.indexOf(':') + 1).trim()]));
            const length = Number(headers['content-length'] ?? 0);
            if (got.length < end + 4 + length)
                return undefined;
            const bytes = got.subarray(end + 4, end + 4 + length);
            this.#got = got.subarray(end + 4 + length);
            return Object.assign(this, { status, headers, bytes, text: bytes.toString(), first });
        }, 'an answer');
    }

    /* The next frame. Those of a server have no mask, and are whole. */
    async frame() {
        return this.#next((got) => {
            const small = got[1] & 0x7f;
            const head = small < 126 ? 2 : small === 126 ? 4 : 10;
            if (got.length < 2 || got.length < head)
                return undefined;
            const n = head === 2 ? small : head === 4 ? got.readUInt16BE(2) : Number(got.readBigUInt64BE(2));
            if (got.length < head + n)
                return undefined;
            if ((got[0] & 0xf0) !== 0x80 || got[1] !== small)
                throw new Error(`a frame of the server begins with ${got.subarray(0, 2).toString('hex')}`);
            const payload = Buffer.from(got.subarray(head, head + n)), opcode = got[0] & 0xf;
            this.#got = got.subarray(head + n);
            return { opcode, payload, text: payload.toString(), ...(opcode === CLOSE && { code: payload.readUInt16BE(0), words: payload.subarray(2).toString() }) };
        }, 'a frame');
    }

    get json() {
        return JSON.parse(this.text);
    }

    destroy() {
        this.socket.destroy();
    }
}

/* A socket that has sent the handshake, with what follows at once, and has its answer. */
export async function dial(daemon, { behind = [], ...how } = {}) {
    const socket = new Socket(daemon);
    await once(socket.socket, daemon.dialTls ? 'secureConnect' : 'connect');
    socket.say(handshake(how), ...behind);
    return socket.answer();
}

export async function connect(daemon, how) {
    const socket = await dial(daemon, how);
    if (socket.status !== 101)
        throw new Error(`no WebSocket: ${socket.first}\n${socket.text}`);
    return socket;
}
