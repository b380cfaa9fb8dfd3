/* certs.mjs -- certificates for one test, made by `openssl`, and clients that look at them. */
import { spawn, spawnSync } from 'node:child_process';
import https from 'node:https';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folder } from './folder.mjs';
import { patience } from './patience.mjs';

function openssl(...args) {
    const { status, stderr } = spawnSync('openssl', args, { encoding: 'utf8' });
    if (status !== 0)
        throw new Error(`openssl ${args.join(' ')}:\n${stderr}`);
}

/* A folder of certificates that one authority has signed. */
export class Authority {
    constructor(t, name = 'The Authority') {
        this.dir = folder(t);
        this.ca = join(this.dir, 'ca.crt');
        openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '30', '-subj', `/CN=${name}`,
            '-keyout', join(this.dir, 'ca.key'), '-out', this.ca);
    }

    /* Writes NAME.crt and NAME.key; both are there at once, as whoever renews certificates has them. */
    make(name, { cn = name, san = 'DNS:localhost,IP:127.0.0.1', days = 30 } = {}) {
        const at = (file) => join(this.dir, file);
        writeFileSync(at('ext'), `subjectAltName=${san}\n`);
        openssl('req', '-new', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', `/CN=${cn}`, '-keyout', at('new.key'), '-out', at('csr'));
        this.#sign(days, at('new.crt'));
        renameSync(at('new.key'), at(`${name}.key`));
        renameSync(at('new.crt'), at(`${name}.crt`));
        return { cert: at(`${name}.crt`), key: at(`${name}.key`) };
    }

    /* Another certificate for the key that was made last, as text. */
    renewed({ days = 30 } = {}) {
        const file = join(this.dir, 'renewed.crt');
        this.#sign(days, file);
        return readFileSync(file, 'utf8');
    }

    #sign(days, out) {
        openssl('x509', '-req', '-in', join(this.dir, 'csr'), '-CA', this.ca, '-CAkey', join(this.dir, 'ca.key'), '-CAcreateserial', '-days', String(days),
            '-extfile', join(this.dir, 'ext'), '-out', out);
    }

    /* What node's clients take, with a certificate of their own or none. */
    options(client) {
        return {
            ca: readFileSync(this.ca), host: '127.0.0.1', servername: 'localhost', agent: false,
            ...(client && { cert: readFileSync(client.cert), key: readFileSync(client.key) }),
        };
    }
}

/* What `openssl s_client` says, to a server that it asks for /health once it may. */
export function sClient(port, ...args) {
    return new Promise((done) => {
        const child = spawn('openssl', ['s_client', '-connect', `127.0.0.1:${port}`, ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
        const late = setTimeout(() => child.kill('SIGKILL'), patience(10_000));
        let text = '';
        for (const output of [child.stdout, child.stderr])
            output.setEncoding('utf8').on('data', (more) => (text += more));
        child.stdin.on('error', () => {});
        child.stdin.write('GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
        child.on('close', () => {
            clearTimeout(late);
            done(text);
        });
    });
}

/* A request: { status, text, json }; `look` sees the text while it grows, and nothing is read
 * before it has. */
export function secureAsk(options, { method = 'GET', path = '/health', body, headers = {}, look = () => {} } = {}) {
    return new Promise((done, fail) => {
        const payload = typeof body === 'object' ? JSON.stringify(body) : body;
        const request = https.request({ ...options, method: body === undefined ? method : 'POST', path,
            headers: { ...(payload !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }), ...headers } }, async (answer) => {
            let text = '';
            try {
                for await (const part of answer.setEncoding('utf8'))
                    await look(text += part);
            } catch (error) {
                fail(error);
            }
            done({ status: answer.statusCode, text, get json() {
                return JSON.parse(text);
            } });
        });
        request.on('error', fail);
        request.setTimeout(patience(20_000), () => request.destroy(new Error('no answer')));
        request.end(payload);
    });
}
