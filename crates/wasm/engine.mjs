// The engine of aqmlab in a page, a worker or Node: no import, no request to the outside.

/**
 * Load the engine.
 * @param {BufferSource} module the contents of aqmlab_engine.wasm
 * @returns {Promise<import("./engine.mjs").Engine>} see engine.d.mts
 */
export async function load(module) {
  const { instance } = await WebAssembly.instantiate(module, {});
  const { memory, aqmlab_allocate, aqmlab_release, aqmlab_ask } = instance.exports;
  const text = new TextEncoder();
  const ask = (request) => {
    const asked = text.encode(JSON.stringify(request));
    const start = aqmlab_allocate(asked.length);
    new Uint8Array(memory.buffer, start, asked.length).set(asked);
    const answer = BigInt.asUintN(64, aqmlab_ask(start, asked.length));
    const [at, bytes] = [Number(answer >> 32n), Number(answer & 0xffffffffn)];
    const said = new TextDecoder().decode(new Uint8Array(memory.buffer, at, bytes));
    aqmlab_release(start, asked.length);
    aqmlab_release(at, bytes);
    return JSON.parse(said);
  };
  const bytes = (start, count) => memory.buffer.slice(start, start + count);
  return { ask, bytes, run: (request) => ask({ ...request, ask: "run" }) };
}
