/* cases.mjs -- what a client may send, and what it must get: framing that two
 * servers could read differently, limits, odd lines, and honest requests next
 * to them. tests/system/smuggling.test.mjs sends them to the daemon.
 *
 *     [name, bytes, answers, end]
 *
 * `bytes` is a Latin-1 string. `answers` lists the status of each answer in
 * order, an error with its code: [200, '400 bad_request']. `end` is what
 * becomes of the connection then:
 *
 *     KEEP    it serves on
 *     CLOSE   it is closed with a FIN, and nothing that stands behind `bytes`
 *             on the wire is taken for a request
 *
 * The daemon runs with the limits below. Its upstream answers everything. */
import { gzipSync } from 'node:zlib';
import { zstdRepeated } from '../../lib/zstd.mjs';

export const LIMITS = { head: 4096, headers: 30, body: 1024 };
export const ARGS = ['--max-head', '4KiB', '--max-headers', '30', '--max-body', '1KiB', '--relay', 'all', '--workers', '1'];

const KEEP = 'keep', CLOSE = 'close';
const BAD = ['400 bad_request'];
const LARGE = ['413 request_too_large'], LONG = ['431 headers_too_large'];
const UNMEASURED = ['411 length_required'], FOREIGN = ['501 not_implemented'], UNKNOWN = ['404 not_found'];
const NOT_HERE = ['405 method_not_allowed'], MEDIA = ['415 unsupported_media_type'];

export const BODY = '{"model":"m","input":"Hi"}';
const N = BODY.length;
const HEX = N.toString(16);

/* A request line or several lines become the head of a request. */
const head = (line, ...lines) => [line, ...lines, '', ''].join('\r\n');
const get = (...lines) => head('GET /health HTTP/1.1', 'Host: x', ...lines);
const untyped = (...lines) => head('POST /v1/responses HTTP/1.1', 'Host: x', ...lines);
const JSON_TYPE = 'Content-Type: application/json';
const post = (...lines) => untyped(JSON_TYPE, ...lines);
const chunked = (bytes, ...lines) => post('Transfer-Encoding: chunked', ...lines) + bytes;
const sized = (length) => post(`Content-Length:${length}`) + BODY;
const coded = (coding) => post(`Transfer-Encoding:${coding}`) + `${HEX}\r\n${BODY}\r\n0\r\n\r\n`;
const packed = (coding, bytes) => post(`Content-Encoding: ${coding}`, `Content-Length: ${bytes.length}`) + bytes.toString('latin1');
const chunk = (text) => `${text.length.toString(16)}\r\n${text}\r\n`;
const END = '0\r\n\r\n';
const text = (n) => `"${'x'.repeat(n - 2)}"`;

const lengths = [
    ['a length', sized(` ${N}`), [200], KEEP],
    ['a length without a space', sized(N), [200], KEEP],
    ['a length between spaces', sized(`   ${N}   `), [200], KEEP],
    ['a length behind a tab', sized(`\t${N}`), [200], KEEP],
    ['a length before a tab', sized(` ${N}\t`), BAD, CLOSE],
    ['a length with zeros in front', sized(` 000${N}`), [200], KEEP],
    ['a length in capitals', head('POST /v1/responses HTTP/1.1', 'HOST: x', JSON_TYPE, `CONTENT-LENGTH: ${N}`) + BODY, [200], KEEP],
    ['the same length twice', post(`Content-Length: ${N}`, `Content-Length: ${N}`) + BODY, BAD, CLOSE],
    ['two lengths', post('Content-Length: 5', `Content-Length: ${N}`) + BODY, BAD, CLOSE],
    ['two lengths, the first of them 0', post('Content-Length: 0', `Content-Length: ${N}`) + BODY, BAD, CLOSE],
    ['a list of lengths', sized(` ${N},${N}`), BAD, CLOSE],
    ['a list of lengths with spaces', sized(` ${N}, ${N}`), BAD, CLOSE],
    ['two lengths on a line', sized(` ${N} ${N}`), BAD, CLOSE],
    ['a length with a plus', sized(` +${N}`), BAD, CLOSE],
    ['a negative length', sized(' -1'), BAD, CLOSE],
    ['a negative zero', sized(' -0'), BAD, CLOSE],
    ['a hexadecimal length', sized(` 0x${HEX}`), BAD, CLOSE],
    ['a length with a fraction', sized(` ${N}.0`), BAD, CLOSE],
    ['a length with an exponent', sized(' 2e1'), BAD, CLOSE],
    ['a length with a letter', sized(` ${N}x`), BAD, CLOSE],
    ['a length in quotes', sized(` "${N}"`), BAD, CLOSE],
    ['a length with a semicolon', sized(` ${N};x`), BAD, CLOSE],
    ['a length behind a vertical tab', sized(` \x0b${N}`), BAD, CLOSE],
    ['a length with a NUL', sized(` ${N}\0`), BAD, CLOSE],
    ['an empty length', sized(' '), BAD, CLOSE],
    ['a length of other digits', sized(' \xb2\xb2'), BAD, CLOSE],
    ['a length of 2^64', sized(' 18446744073709551616'), BAD, CLOSE],
    ['a length of 2^64 + 5', sized(' 18446744073709551621'), BAD, CLOSE],
    ['a length of 2^64 - 1', sized(' 18446744073709551615'), LARGE, CLOSE],
    ['a length of 2^63', sized(' 9223372036854775808'), LARGE, CLOSE],
    ['a length of 2^32 and what was meant', sized(` ${2 ** 32 + N}`), LARGE, CLOSE],
    ['a space before the colon of a length', post(`Content-Length : ${N}`) + BODY, BAD, CLOSE],
    ['a tab before the colon of a length', post(`Content-Length\t: ${N}`) + BODY, BAD, CLOSE],
    ['a space before a length', head('POST /v1/responses HTTP/1.1', ` Content-Length: ${N}`, 'Host: x') + BODY, BAD, CLOSE],
    ['a length with an underscore is none', post(`Content_Length: ${N}`) + BODY, UNMEASURED, CLOSE],
    ['no length', post() + BODY, UNMEASURED, CLOSE],
    ['no length and no body', post(), UNMEASURED, CLOSE],
    ['no length, PUT', head('PUT /v1/responses HTTP/1.1', 'Host: x'), NOT_HERE, CLOSE],
    ['no length, PUT, and what looks like a body', head('PUT /v1/responses HTTP/1.1', 'Host: x') + BODY, NOT_HERE, CLOSE],
    ['no length, PATCH', head('PATCH /v1/responses HTTP/1.1', 'Host: x'), NOT_HERE, CLOSE],
    ['no length, an unknown path', head('PUT /nothing HTTP/1.1', 'Host: x'), UNKNOWN, CLOSE],
    ['no length, HTTP/1.0', head('POST /v1/responses HTTP/1.0') + BODY, UNMEASURED, CLOSE],
    ['no length to cancel, which has no body', head('POST /v1/responses/resp_none/cancel HTTP/1.1', 'Host: x'), UNKNOWN, CLOSE],
    ['no length to cancel, and what looks like a request', head('POST /v1/responses/resp_none/cancel HTTP/1.1', 'Host: x') + get(), UNKNOWN, CLOSE],
    ['a GET needs none', get(), [200], KEEP],
    ['a DELETE needs none', head('DELETE /health HTTP/1.1', 'Host: x'), NOT_HERE, KEEP],
    ['the body of a GET is no request', get(`Content-Length: ${get().length}`) + get(), [200], CLOSE],
    ['the body of an unknown path is no request', head('POST /nothing HTTP/1.1', 'Host: x', `Content-Length: ${get().length}`) + get(), UNKNOWN, CLOSE],
];

const codings = [
    ['chunks', coded(' chunked'), [200], KEEP],
    ['chunks without a space', coded('chunked'), [200], KEEP],
    ['Chunks', coded(' cHuNkEd'), [200], KEEP],
    ['chunks between spaces', coded('   chunked   '), [200], KEEP],
    ['chunks behind a tab', coded('\tchunked'), [200], KEEP],
    ['chunks before a tab', coded(' chunked\t'), BAD, CLOSE],
    ['chunks before a tab, GET', get('Transfer-Encoding: chunked\t') + chunk(BODY) + END, BAD, CLOSE],
    ['an unknown coding, GET', get('Transfer-Encoding: xchunked') + chunk(BODY) + END, BAD, CLOSE],
    ['a GET with chunks', get('Transfer-Encoding: chunked') + chunk(get()) + END, [200], CLOSE],
    ['TE is no Transfer-Encoding', get('TE: chunked', 'Connection: TE'), [200], KEEP],
    ['a length and chunks', post(`Content-Length: ${N}`, 'Transfer-Encoding: chunked') + END, BAD, CLOSE],
    ['chunks and a length', chunked(END, 'Content-Length: 5'), BAD, CLOSE],
    ['chunks and a length of 0', chunked(END, 'Content-Length: 0'), BAD, CLOSE],
    ['a length and an unknown coding', post(`Content-Length: ${N}`, 'Transfer-Encoding: x') + BODY, BAD, CLOSE],
    ['a length and the identity coding', post(`Content-Length: ${N}`, 'Transfer-Encoding: identity') + BODY, BAD, CLOSE],
    ['chunked twice', coded(' chunked\r\nTransfer-Encoding: chunked'), BAD, CLOSE],
    ['chunked, chunked', coded(' chunked, chunked'), BAD, CLOSE],
    ['identity, then chunked on a line of its own', coded(' identity\r\nTransfer-Encoding: chunked'), FOREIGN, CLOSE],
    ['chunked, then identity on a line of its own', coded(' chunked\r\nTransfer-Encoding: identity'), BAD, CLOSE],
    ['identity', coded(' identity'), BAD, CLOSE],
    ['chunked, identity', coded(' chunked, identity'), BAD, CLOSE],
    ['identity, chunked', coded(' identity, chunked'), FOREIGN, CLOSE],
    ['gzip, chunked', coded(' gzip, chunked'), FOREIGN, CLOSE],
    ['gzip', coded(' gzip'), BAD, CLOSE],
    ['xchunked', coded(' xchunked'), BAD, CLOSE],
    ['chunkedx', coded(' chunkedx'), BAD, CLOSE],
    ['chunked in quotes', coded(' "chunked"'), BAD, CLOSE],
    ['chunked with a parameter', coded(' chunked;q=1'), BAD, CLOSE],
    ['a comma before chunked', coded(' ,chunked'), FOREIGN, CLOSE],
    ['a comma behind chunked', coded(' chunked,'), BAD, CLOSE],
    ['chunked behind a vertical tab', coded(' \x0bchunked'), BAD, CLOSE],
    ['chunked with a NUL', coded(' chunked\0'), BAD, CLOSE],
    ['chunked behind a byte order mark', coded(' \xef\xbb\xbfchunked'), BAD, CLOSE],
    ['no coding', coded(' '), BAD, CLOSE],
    ['a space before the colon', post('Transfer-Encoding : chunked') + END, BAD, CLOSE],
    ['a vertical tab before the colon', post('Transfer-Encoding\x0b: chunked') + END, BAD, CLOSE],
    ['a folded coding', post('Transfer-Encoding:', ' chunked') + END, BAD, CLOSE],
    ['a coding behind a fold', post('X: y', ' Transfer-Encoding: chunked') + END, BAD, CLOSE],
    ['a coding behind a bare LF', post('X: y\nTransfer-Encoding: chunked') + END, BAD, CLOSE],
    ['a coding behind a bare CR', post(`Content-Length: ${N}`, 'X: y\rTransfer-Encoding: chunked') + BODY, BAD, CLOSE],
    ['a coding with an underscore is none', post('Transfer_Encoding: chunked') + END, UNMEASURED, CLOSE],
    ['HTTP/1.0 knows no chunks', head('POST /v1/responses HTTP/1.0', 'Transfer-Encoding: chunked') + chunk(BODY) + END, BAD, CLOSE],
    ['HTTP/1.0 knows no chunks, not even with keep-alive', head('POST /v1/responses HTTP/1.0', 'Connection: keep-alive', 'Transfer-Encoding: chunked') + chunk(BODY) + END, BAD, CLOSE],
];

const chunks = [
    ['two chunks', chunked(chunk(BODY.slice(0, 3)) + chunk(BODY.slice(3)) + END), [200], KEEP],
    ['a size in capitals', chunked(`${HEX.toUpperCase()}\r\n${BODY}\r\n${END}`), [200], KEEP],
    ['zeros before a size', chunked(`0000000000000000000${HEX}\r\n${BODY}\r\n${END}`), [200], KEEP],
    ['several zeros as the last chunk', chunked(`${chunk(BODY)}000\r\n\r\n`), [200], KEEP],
    ['an extension', chunked(`${HEX};name=value\r\n${BODY}\r\n${END}`), [200], KEEP],
    ['an extension in quotes', chunked(`${HEX};name="a; b"\r\n${BODY}\r\n${END}`), [200], KEEP],
    ['an extension of the last chunk', chunked(`${chunk(BODY)}0;last\r\n\r\n`), [200], KEEP],
    ['a trailer', chunked(`${chunk(BODY)}0\r\nX-Sum: 1\r\n\r\n`), [200], KEEP],
    ['no chunk at all is no JSON', chunked(END), ['400 invalid_json'], KEEP],
    ['a trailer that sets a host is not taken', chunked(`${chunk(BODY)}0\r\nHost: y\r\n\r\n`), [200], KEEP],
    ['a trailer that sets a length is not taken', chunked(`${chunk(BODY)}0\r\nContent-Length: 5\r\n\r\n`), [200], KEEP],
    ['a trailer that sets a coding', chunked(`${chunk(BODY)}0\r\nTransfer-Encoding: chunked\r\n\r\n`), BAD, CLOSE],
    ['a trailer that closes the connection is not taken', chunked(`${chunk(BODY)}0\r\nConnection: close\r\n\r\n`), [200], KEEP],
    ['a trailer that is a request', chunked(`${chunk(BODY)}0\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n`), BAD, CLOSE],
    ['a negative size', chunked(`-${HEX}\r\n${BODY}\r\n${END}`), BAD, CLOSE],
    ['a size with a plus', chunked(`+${HEX}\r\n${BODY}\r\n${END}`), BAD, CLOSE],
    ['a size with 0x', chunked(`0x${HEX}\r\n${BODY}\r\n${END}`), BAD, CLOSE],
    ['a size behind a space', chunked(` ${HEX}\r\n${BODY}\r\n${END}`), BAD, CLOSE],
    ['a size before a space', chunked(`${HEX} \r\n${BODY}\r\n${END}`), BAD, CLOSE],
    ['a size before a tab', chunked(`${HEX}\t\r\n${BODY}\r\n${END}`), BAD, CLOSE],
    ['no size', chunked(`\r\n${BODY}\r\n${END}`), BAD, CLOSE],
    ['no size but an extension', chunked(`;x\r\n${BODY}\r\n${END}`), BAD, CLOSE],
    ['a size that is no number', chunked(`xyz\r\n${BODY}\r\n${END}`), BAD, CLOSE],
    ['a size with an underscore', chunked(`1_a\r\n${BODY}\r\n${END}`), BAD, CLOSE],
    ['a size with a comma', chunked(`${HEX},0\r\n${BODY}\r\n${END}`), BAD, CLOSE],
    ['a size with a NUL', chunked(`${HEX}\0\r\n${BODY}\r\n${END}`), BAD, CLOSE],
    ['a size of 17 digits', chunked(`1000000000000001a\r\n${BODY}\r\n${END}`), BAD, CLOSE],
    ['a size of 2^64 - 1', chunked(`ffffffffffffffff\r\n${BODY}\r\n${END}`), LARGE, CLOSE],
    ['a size of 2^63', chunked(`8000000000000000\r\n${BODY}\r\n${END}`), LARGE, CLOSE],
    ['a size of 2^32', chunked(`100000000\r\n${BODY}\r\n${END}`), LARGE, CLOSE],
    ['a size that ends in a bare LF', chunked(`${HEX}\n${BODY}\r\n${END}`), BAD, CLOSE],
    ['a size that ends in a bare CR', chunked(`${HEX}\r${BODY}\r\n${END}`), BAD, CLOSE],
    ['a size that ends in CR CR LF', chunked(`${HEX}\r\r\n${BODY}\r\n${END}`), BAD, CLOSE],
    ['an extension that ends in a bare LF', chunked(`${HEX};x\n${BODY}\r\n${END}`), BAD, CLOSE],
    ['an extension with a bare LF in quotes', chunked(`${HEX};x="\n"\r\n${BODY}\r\n${END}`), BAD, CLOSE],
    ['an extension with a bare CR', chunked(`${HEX};x\ry\r\n${BODY}\r\n${END}`), BAD, CLOSE],
    ['an extension with a NUL', chunked(`${HEX};x=\0\r\n${BODY}\r\n${END}`), BAD, CLOSE],
    ['data that ends in nothing', chunked(`${HEX}\r\n${BODY}${END}`), BAD, CLOSE],
    ['data that ends in a bare LF', chunked(`${HEX}\r\n${BODY}\n${END}`), BAD, CLOSE],
    ['data that ends in a bare CR', chunked(`${HEX}\r\n${BODY}\r${END}`), BAD, CLOSE],
    ['data longer than its size', chunked(`5\r\n${BODY}\r\n${END}`), BAD, CLOSE],
    ['a last chunk that ends in bare LFs', chunked(`${chunk(BODY)}0\n\n`), BAD, CLOSE],
    ['a last chunk that ends in CR LF LF', chunked(`${chunk(BODY)}0\r\n\n`), BAD, CLOSE],
    ['a trailer that ends in a bare LF', chunked(`${chunk(BODY)}0\r\nX: y\n\r\n`), BAD, CLOSE],
    ['a trailer with a bare CR', chunked(`${chunk(BODY)}0\r\nX: y\rZ: z\r\n\r\n`), BAD, CLOSE],
    ['a trailer without a name', chunked(`${chunk(BODY)}0\r\n: y\r\n\r\n`), BAD, CLOSE],
    ['a trailer with a space before its colon', chunked(`${chunk(BODY)}0\r\nX : y\r\n\r\n`), BAD, CLOSE],
    ['a folded trailer', chunked(`${chunk(BODY)}0\r\nX: y\r\n z\r\n\r\n`), BAD, CLOSE],
];

const lines = [
    ['empty lines before a request', `\r\n\r\n${get()}`, [200], KEEP],
    ['a header without a value', get('X:'), [200], KEEP],
    ['a value in Latin-1', get('X: caf\xe9'), [200], KEEP],
    ['a value with a tab', get('X: a\tb'), [200], KEEP],
    ['an odd but valid name', get("!#$%&'*+-.^_`|~09: y"), [200], KEEP],
    ['a bare LF in the head', get('X: y\nZ: z'), BAD, CLOSE],
    ['bare LFs only', 'GET /health HTTP/1.1\nHost: x\n\n', BAD, CLOSE],
    ['a bare LF behind the request line', 'GET /health HTTP/1.1\nHost: x\r\n\r\n', BAD, CLOSE],
    ['a head that ends in CR LF LF', 'GET /health HTTP/1.1\r\nHost: x\r\n\n', BAD, CLOSE],
    ['a bare CR in a value', get('X: a\rb'), BAD, CLOSE],
    ['a bare CR between headers', get('X: a\rY: b'), BAD, CLOSE],
    ['a bare CR behind the request line', 'GET /health HTTP/1.1\rHost: x\r\n\r\n', BAD, CLOSE],
    ['bare CRs only', 'GET /health HTTP/1.1\rHost: x\r\r', BAD, CLOSE],
    ['CR CR LF', 'GET /health HTTP/1.1\r\r\nHost: x\r\n\r\n', BAD, CLOSE],
    ['a head that ends in CR CR LF', 'GET /health HTTP/1.1\r\nHost: x\r\n\r\r\n', BAD, CLOSE],
    ['a folded header', get('X: a', ' b'), BAD, CLOSE],
    ['a header folded with a tab', get('X: a', '\tb'), BAD, CLOSE],
    ['a first header behind a space', head('GET /health HTTP/1.1', ' Host: x'), BAD, CLOSE],
    ['a line of spaces', get('  '), BAD, CLOSE],
    ['a space before the colon', get('X : y'), BAD, CLOSE],
    ['a name with a space', get('X Y: z'), BAD, CLOSE],
    ['a name with a NUL', get('X\0: y'), BAD, CLOSE],
    ['a name with a control byte', get('X\x01: y'), BAD, CLOSE],
    ['a name in Latin-1', get('caf\xe9: y'), BAD, CLOSE],
    ['a name with a slash', get('a/b: y'), BAD, CLOSE],
    ['a name in brackets', get('[x]: y'), BAD, CLOSE],
    ['a name in quotes', get('"x": y'), BAD, CLOSE],
    ['a value with a NUL', get('X: a\0b'), BAD, CLOSE],
    ['a value with a control byte', get('X: a\x01b'), BAD, CLOSE],
    ['a value with DEL', get('X: a\x7fb'), BAD, CLOSE],
    ['no name', get(': y'), BAD, CLOSE],
    ['no colon', get('X'), BAD, CLOSE],
];

const hosts = [
    ['no host', head('GET /health HTTP/1.1'), BAD, CLOSE],
    ['two keys', get('Authorization: Bearer a', 'Authorization: Bearer b'), BAD, CLOSE],
    ['a key twice', get('Authorization: Bearer a', 'AUTHORIZATION: Bearer a'), BAD, CLOSE],
    ['two kinds of content', post(`Content-Length: ${N}`, 'Content-Type: application/json', 'Content-Type: text/plain') + BODY, BAD, CLOSE],
    ['two origins', get('Origin: http://a', 'Origin: http://b'), BAD, CLOSE],
    ['a key for repeats twice', post(`Content-Length: ${N}`, 'Idempotency-Key: a', 'Idempotency-Key: a') + BODY, BAD, CLOSE],
    ['two hosts', head('GET /health HTTP/1.1', 'Host: x', 'Host: y'), BAD, CLOSE],
    ['the same host twice', head('GET /health HTTP/1.1', 'Host: x', 'host: x'), BAD, CLOSE],
    ['a host with a space before its colon', head('GET /health HTTP/1.1', 'Host : x'), BAD, CLOSE],
    ['an empty host', head('GET /health HTTP/1.1', 'Host:'), [200], KEEP],
    ['no host, HTTP/1.0', head('GET /health HTTP/1.0'), [200], CLOSE],
    ['two hosts, HTTP/1.0', head('GET /health HTTP/1.0', 'Host: x', 'Host: y'), BAD, CLOSE],
    ['an absolute target', head('GET http://y/health HTTP/1.1', 'Host: x'), [200], KEEP],
    ['an absolute target needs a host, too', head('GET http://y/health HTTP/1.1'), BAD, CLOSE],
    ['an absolute target without a path', head('GET http://y HTTP/1.1', 'Host: y'), [200], KEEP],
];

const requestLines = [
    ['HTTP/1.0', head('GET /health HTTP/1.0', 'Host: x'), [200], CLOSE],
    ['HTTP/1.0 with keep-alive', head('GET /health HTTP/1.0', 'Host: x', 'Connection: keep-alive'), [200], KEEP],
    ['Connection: close', get('Connection: close'), [200], CLOSE],
    ['Connection: close among others', get('Connection: x, Close'), [200], CLOSE],
    ['Connection: keep-alive and close', get('Connection: keep-alive, close'), [200], CLOSE],
    ['Connection: keep-alive and close on two lines', get('Connection: keep-alive', 'Connection: close'), [200], CLOSE],
    ['HTTP/0.9', 'GET /health\r\n\r\n', BAD, CLOSE],
    ['HTTP/0.9 by name', head('GET /health HTTP/0.9', 'Host: x'), BAD, CLOSE],
    ['HTTP/1.2', head('GET /health HTTP/1.2', 'Host: x'), BAD, CLOSE],
    ['HTTP/1.9', head('GET /health HTTP/1.9', 'Host: x'), BAD, CLOSE],
    ['HTTP/2.0', head('GET /health HTTP/2.0', 'Host: x'), BAD, CLOSE],
    ['HTTP/3', head('GET /health HTTP/3', 'Host: x'), BAD, CLOSE],
    ['HTTP/1.10', head('GET /health HTTP/1.10', 'Host: x'), BAD, CLOSE],
    ['HTTP/01.1', head('GET /health HTTP/01.1', 'Host: x'), BAD, CLOSE],
    ['HTTP/1.1x', head('GET /health HTTP/1.1x', 'Host: x'), BAD, CLOSE],
    ['http/1.1', head('GET /health http/1.1', 'Host: x'), BAD, CLOSE],
    ['HTTPS/1.1', head('GET /health HTTPS/1.1', 'Host: x'), BAD, CLOSE],
    ['RTSP', head('DESCRIBE /health RTSP/1.0', 'Host: x'), BAD, CLOSE],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', ['505 http_version_not_supported'], CLOSE],
    ['a method in small letters', head('get /health HTTP/1.1', 'Host: x'), BAD, CLOSE],
    ['an unknown method', head('DANCE /health HTTP/1.1', 'Host: x'), BAD, CLOSE],
    ['a method with a letter too many', head('GETT /health HTTP/1.1', 'Host: x'), BAD, CLOSE],
    ['no method', head('/health HTTP/1.1', 'Host: x'), BAD, CLOSE],
    ['CONNECT', head('CONNECT x:443 HTTP/1.1', 'Host: x'), FOREIGN, CLOSE],
    ['TRACE', head('TRACE /health HTTP/1.1', 'Host: x'), NOT_HERE, KEEP],
    ['PROPFIND', head('PROPFIND /health HTTP/1.1', 'Host: x'), NOT_HERE, KEEP],
    ['a space before the method', head(' GET /health HTTP/1.1', 'Host: x'), BAD, CLOSE],
    ['two spaces before the target', head('GET  /health HTTP/1.1', 'Host: x'), [200], KEEP],
    ['two spaces behind the target', head('GET /health  HTTP/1.1', 'Host: x'), [200], KEEP],
    ['a space at the end', head('GET /health HTTP/1.1 ', 'Host: x'), BAD, CLOSE],
    ['tabs for spaces', head('GET\t/health\tHTTP/1.1', 'Host: x'), BAD, CLOSE],
    ['no target', head('GET HTTP/1.1', 'Host: x'), BAD, CLOSE],
    ['a target with a space', head('GET /hea lth HTTP/1.1', 'Host: x'), BAD, CLOSE],
    ['a target with a NUL', head('GET /health\0 HTTP/1.1', 'Host: x'), BAD, CLOSE],
    ['a target with a control byte', head('GET /health\x01 HTTP/1.1', 'Host: x'), BAD, CLOSE],
    ['a target with DEL', head('GET /health\x7f HTTP/1.1', 'Host: x'), BAD, CLOSE],
    ['a target in Latin-1', head('GET /caf\xe9 HTTP/1.1', 'Host: x'), BAD, CLOSE],
    ['a target with a fragment', head('GET /health#x HTTP/1.1', 'Host: x'), BAD, CLOSE],
    ['a target without a slash', head('GET health HTTP/1.1', 'Host: x'), BAD, CLOSE],
    ['a target that is an authority', head('GET x:80 HTTP/1.1', 'Host: x'), BAD, CLOSE],
    ['a request line in the target', head('GET /health%20HTTP/1.1%0d%0aX:y HTTP/1.1', 'Host: x'), UNKNOWN, KEEP],
    ['an asterisk', head('OPTIONS * HTTP/1.1', 'Host: x'), [204], KEEP],
    ['an asterisk for GET', head('GET * HTTP/1.1', 'Host: x'), BAD, CLOSE],
    ['TLS', '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03\r\n\r\n', BAD, CLOSE],
    ['an answer', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', BAD, CLOSE],
];

const fill = (n) => 'x'.repeat(n);
const limits = [
    ['a head of exactly the limit', get(`X: ${fill(LIMITS.head - get('X: ').length)}`), [200], KEEP],
    ['a head of one byte more', get(`X: ${fill(LIMITS.head - get('X: ').length + 1)}`), LONG, CLOSE],
    ['a long target', head(`GET /${fill(LIMITS.head)} HTTP/1.1`, 'Host: x'), LONG, CLOSE],
    ['a long query', head(`GET /health?${fill(LIMITS.head)} HTTP/1.1`, 'Host: x'), LONG, CLOSE],
    ['a long name', get(`${fill(LIMITS.head)}: y`), LONG, CLOSE],
    ['a long value', get(`X: ${fill(64 * LIMITS.head)}`), LONG, CLOSE],
    ['a head without an end', `GET /health HTTP/1.1\r\n${fill(2 * LIMITS.head)}`, LONG, CLOSE],
    ['as many headers as there may be', get(...Array(LIMITS.headers - 1).fill('X: y')), [200], KEEP],
    ['one header too many', get(...Array(LIMITS.headers).fill('X: y')), LONG, CLOSE],
    ['very many small headers', get(...Array(900).fill('a:')), LONG, CLOSE],
    ['empty lines without an end', '\r\n'.repeat(LIMITS.head), LONG, CLOSE],
    ['a body of exactly the limit', post(`Content-Length: ${LIMITS.body}`) + text(LIMITS.body), ['400 invalid_type'], KEEP],
    ['a body of one byte more', post(`Content-Length: ${LIMITS.body + 1}`) + text(LIMITS.body + 1), LARGE, CLOSE],
    ['a chunked body of exactly the limit', chunked(chunk(text(LIMITS.body)) + END), ['400 invalid_type'], KEEP],
    ['a chunked body of one byte more', chunked(chunk(text(LIMITS.body)) + chunk('x') + END), LARGE, CLOSE],
    ['a chunk of one byte too many', chunked(chunk(text(LIMITS.body + 1)) + END), LARGE, CLOSE],
    ['an extension without an end', chunked(`1;${fill(16 * LIMITS.body)}`), LONG, CLOSE],
    ['trailers without an end', chunked(`${chunk(BODY)}0\r\n${'X: y\r\n'.repeat(3 * LIMITS.body)}`), LONG, CLOSE],
    ['a large body that nobody wants', head('POST /nothing HTTP/1.1', 'Host: x', `Content-Length: ${4 * LIMITS.body}`) + fill(4 * LIMITS.body), LARGE, CLOSE],
];

const bodies = [
    ['a gzip body', packed('gzip', gzipSync(BODY)), [200], KEEP],
    ['a gzip body that is none', packed('gzip', Buffer.from(BODY)), BAD, KEEP],
    ['a gzip body that is cut short', packed('gzip', gzipSync(BODY).subarray(0, -4)), BAD, KEEP],
    ['a gzip body with a request behind it', packed('gzip', Buffer.concat([gzipSync(BODY), Buffer.from(get())])), BAD, KEEP],
    ['a gzip body that swells', packed('gzip', gzipSync(text(LIMITS.body + 1))), LARGE, KEEP],
    ['a zstd body that swells', packed('zstd', zstdRepeated(' ', 1 << 20)), LARGE, KEEP],
    ['a body in two codings', packed('gzip, gzip', gzipSync(gzipSync(BODY))), MEDIA, KEEP],
    ['a body in an unknown coding', packed('br', Buffer.from(BODY)), MEDIA, KEEP],
    ['a body that is no JSON', post('Content-Length: 2') + '{]', ['400 invalid_json'], KEEP],
    ['a body of no type', untyped(`Content-Length: ${N}`) + BODY, MEDIA, KEEP],
    ['a body that is a form', untyped('Content-Type: application/x-www-form-urlencoded', 'Content-Length: 3') + 'a=b', MEDIA, KEEP],
];

const sequences = [
    ['two requests at once', get() + get(), [200, 200], KEEP],
    ['slashes in front of a path', head('GET ///health HTTP/1.1', 'Host: x') + get(), [200, 200], KEEP],
    ['three kinds of framing at once', sized(` ${N}`) + coded(' chunked') + get(), [200, 200, 200], KEEP],
    ['a good request before a bad one', get() + get('X : y'), [200, ...BAD], CLOSE],
    ['a refused request before a good one', head('GET /nothing HTTP/1.1', 'Host: x') + get(), [...UNKNOWN, 200], KEEP],
    ['a last request before another', get('Connection: close') + get(), [200], CLOSE],
    ['an empty line between two requests', get() + '\r\n' + get(), [200, 200], KEEP],
    ['bytes of nothing behind a body', sized(` ${N}`) + 'XYZ\r\n\r\n', [200, ...BAD], CLOSE],
    ['Expect: 100-continue with its body', post('Expect: 100-continue', `Content-Length: ${N}`) + BODY, [200], KEEP],
    ['Expect: 100-continue and no length', post('Expect: 100-continue'), UNMEASURED, CLOSE],
    ['Expect: 100-continue and a body too large', post('Expect: 100-continue', 'Content-Length: 9999'), LARGE, CLOSE],
    ['Expect: 100-continue of a GET', get('Expect: 100-continue'), [200], KEEP],
    ['another expectation', get('Expect: 200-ok'), [200], KEEP],
    ['an upgrade to an old WebSocket', head('GET /v1/responses HTTP/1.1', 'Host: x', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 8', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==') + get(), ['426 upgrade_required', 200], KEEP],
    ['a WebSocket without a key', head('GET /v1/responses HTTP/1.1', 'Host: x', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13') + get(), [...BAD, 200], KEEP],
    ['a WebSocket with a body', head('GET /v1/responses HTTP/1.1', 'Host: x', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', 'Content-Length: 4') + 'GET ', BAD, CLOSE],
    ['an upgrade to HTTP/2 is not taken', get('Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA') + get(), [200, 200], KEEP],
    ['an upgrade with a body', post('Connection: Upgrade', 'Upgrade: h2c', `Content-Length: ${N}`) + BODY + get(), [200, 200], KEEP],
];

const climbing = ['/v1/..', '/v1/../x', '/v1/%2e%2e/x', '/v1/x/../../y', '/v1/x/%2e%2e%2f%2e%2e%2fy', '/v1/files/..;/x/..', '/v1/v1/../x',
    '/v1/models/../x', '/v1/models/..', '/v1/models/.', '/v1/models/%2e%2e/x', '/v1/models/%2E./x', '/v1/models/.%2e',
    '/v1/models/..%2fx', '/v1/models/x/%2e%2e%5cy', '/v1/models/..\\x', '/v1/../v1/models/x', '/v1/models/x%2f..%2f..%2fadmin'];
const paths = [
    ...climbing.map((path) => [`${path} is not asked of the upstream`, head(`GET ${path} HTTP/1.1`, 'Host: x'), UNKNOWN, KEEP]),
    ...['/v1/responses/x', '/v1/responses/', '/v1/v1/responses', '/v1/v1/responses/x', '/v1/conversations/x', '/v1/conversations/x/items', '/v1/v1/conversations', '/v1/mcp',
        '/v1/v1/v1/mcp/servers', '/v1', '/v1/', '/v1/v1', '/v1/v1/'].map((path) => [`${path} is not the upstream's`, head(`GET ${path} HTTP/1.1`, 'Host: x'), UNKNOWN, KEEP]),
    ['a path in capitals', head('GET /V1/MODELS HTTP/1.1', 'Host: x'), UNKNOWN, KEEP],
    ['HEAD of an unknown path', head('HEAD /nothing HTTP/1.1', 'Host: x'), [404], KEEP],
    ['HEAD that is refused has no body', head('HEAD /health HTTP/1.1', 'Host: x', 'X : y'), [400], CLOSE],
];

export const GROUPS = { lengths, codings, chunks, lines, hosts, requestLines, limits, bodies, sequences, paths };
