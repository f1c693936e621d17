// Tests of the package in Node.js where the module's memory grows beyond 2 GiB, where WebAssembly's
// pointers become negative numbers, and where the memory ends. They have a module of their own, so
// that no other memory is freed below 2 GiB.
import assert from 'node:assert/strict';
import test from 'node:test';
import {pathToFileURL} from 'node:url';

const at = name => import(new URL(name, pathToFileURL(process.env.HEWN_WEB + '/')));
const {HewnError, load, repeated} = await at('hewn.mjs');
const {verify} = await at('verify.mjs');
const GIB = 2 ** 30;

test('all kernels, tables and messages above 2 GiB, and at the end of the memory', async () => {
    const hewn = await load(), bytes = shape => ({dataType: 'uint8', shape: [shape]});
    const large = [];
    for (let i = 0; i < 3; i++) large.push(hewn.tensor(bytes(GIB)));
    assert.ok(hewn.memory.buffer.byteLength > 3 * GIB);

    const shape = [3], f32 = {dataType: 'float32', shape};
    const input = hewn.tensor(f32, [1, 2, 300]), scale = hewn.tensor(repeated('float32', shape), [2]);
    const output = hewn.tensor({dataType: 'uint8', shape}, [7, 7, 7]);
    assert.ok(output.bytes.byteOffset > 2 * GIB, `at ${output.bytes.byteOffset}`);
    const operator = hewn.compile('quantizeLinear', {input, scale, output}, {constants: {scale}});
    assert.match(operator.variant, /^quantize_linear_f32_u8__wasm32/);
    operator.run({input, output});
    assert.deepEqual([...output.data], [0, 1, 150]);
    assert.throws(() => operator.run({input}), {name: 'HewnError', message: /OutputTensor/});
    assert.throws(() => hewn.compile('add', {a: f32, b: f32, output: bytes(3)}), HewnError);
    assert.deepEqual(verify(hewn).filter(({differing}) => differing), []);

    // Allocates until there is no memory. That must be an error, and existing objects must still
    // work.
    for (let size = GIB / 4; size >= 64; size /= 4)
        assert.throws(() => {
            for (;;) large.push(hewn.tensor(bytes(size)));
        }, {name: 'HewnError', status: 5, message: /no memory/});
    assert.ok(hewn.memory.buffer.byteLength > 3.5 * GIB);
    assert.throws(() => {
        for (;;) large.push(hewn.compile('add', {a: f32, b: f32, output: f32}));
    }, {name: 'HewnError', status: 5});
    operator.run({input, output});
    assert.deepEqual([...output.data], [0, 1, 150]);
    for (const owner of large) owner.destroy();
    hewn.tensor(bytes(GIB)).destroy();
});

test('a tensor of 2 GiB and more is refused, and the module goes on', async () => {
    const hewn = await load(), bytes = shape => ({dataType: 'uint8', shape: [shape]});
    for (const size of [2 * GIB - 2 ** 16, 2 * GIB, 3 * GIB, 4 * GIB - 1, 4 * GIB, 2 ** 40])
        assert.throws(() => hewn.tensor(bytes(size)),
            {name: 'HewnError', status: 5, message: /no memory/}, `${size}`);
    hewn.tensor(bytes(2 * GIB - 2 ** 17)).destroy();
});
