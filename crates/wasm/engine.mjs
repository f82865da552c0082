// The engine of aqmlab in a page, a worker or Node: no import, no request to the outside.

/**
 * Load the engine.
 * @param {BufferSource} bytes the contents of aqmlab_engine.wasm
 * @returns {Promise<{run: (request: object) => object}>} `run` answers a request with an output, or with `problems`: see the crate's
 * documentation for the fields of both. It returns when the run is over, so a page calls it in a worker.
 */
export async function load(bytes) {
  const { instance } = await WebAssembly.instantiate(bytes, {});
  const { memory, aqmlab_allocate, aqmlab_release, aqmlab_run } = instance.exports;
  const text = new TextEncoder();
  const run = (request) => {
    const asked = text.encode(JSON.stringify(request));
    const start = aqmlab_allocate(asked.length);
    new Uint8Array(memory.buffer, start, asked.length).set(asked);
    const answer = BigInt.asUintN(64, aqmlab_run(start, asked.length));
    const [at, bytes] = [Number(answer >> 32n), Number(answer & 0xffffffffn)];
    const said = new TextDecoder().decode(new Uint8Array(memory.buffer, at, bytes));
    aqmlab_release(start, asked.length);
    aqmlab_release(at, bytes);
    return JSON.parse(said);
  };
  return { run };
}
