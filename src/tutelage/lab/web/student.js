// The student's network, one step at a time: a 3x3 convolution over the view, a core that may remember, two heads.
// As in tutelage/envs/maze/network.py and tutelage/rl/networks.py. Sums are of 64 bits, so they are at least as exact as
// those that the student was trained with.

// MiniGrid's (object, colour, state) of a free cell, a wall, the goal and what is not seen. A tenth of it is fed.
const ENCODING = [[1, 0, 0], [2, 5, 0], [8, 1, 0], [0, 0, 0]];

// Weights by name, {shape, values}, from what `tutelage page` has embedded: whole numbers of 16 bits with a scale for
// each column, or floats of 32 bits.
export function unpack(packed) {
  const text = atob(packed.data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const weights = {};
  for (const {name, shape, offset, scales} of packed.arrays) {
    const length = shape.reduce((a, b) => a * b, 1);
    if (scales === null) {
      weights[name] = {shape, values: new Float32Array(bytes.buffer, offset, length)};
      continue;
    }
    const columns = shape.at(-1);
    const scale = new Float32Array(bytes.buffer, scales, columns);
    const whole = new Int16Array(bytes.buffer, offset, length);
    weights[name] = {shape, values: Float32Array.from(whole, (value, i) => value * scale[i % columns])};
  }
  return weights;
}

// input @ kernel + bias
function dense(weights, name, input, prefix = "") {
  const {shape: [, wide], values} = weights[`${name}/${prefix}kernel`];
  const sums = Float64Array.from(weights[`${name}/${prefix}bias`].values);
  for (let i = 0; i < input.length; i++) {
    const x = input[i];
    if (x === 0) continue;
    for (let j = 0, k = i * wide; j < wide; j++, k++) sums[j] += x * values[k];
  }
  return sums;
}

const relu = (values) => values.map((x) => Math.max(0, x));
const tanh = (values) => values.map(Math.tanh);
const sigmoid = (x) => 0.5 + 0.5 * Math.tanh(0.5 * x);
const joined = (a, b) => {
  const both = new Float64Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
};

function encode(weights, view, codes, direction) {
  const {shape: [, filters], values: kernel} = weights["encoder/convolution/kernel"];
  const bias = weights["encoder/convolution/bias"].values;
  const side = view - 2;
  const features = new Float64Array(side * side * filters);
  for (let column = 0; column < side; column++) {
    for (let row = 0; row < side; row++) {
      const sums = Float64Array.from(bias);
      for (let tap = 0; tap < 9; tap++) {
        const code = codes[(column + Math.floor(tap / 3)) * view + row + (tap % 3)];
        for (let channel = 0; channel < 3; channel++) {
          const x = ENCODING[code][channel] / 10;
          if (x === 0) continue;
          for (let f = 0, k = (tap * 3 + channel) * filters; f < filters; f++, k++) sums[f] += x * kernel[k];
        }
      }
      features.set(relu(sums), (column * side + row) * filters);
    }
  }
  const facing = new Float64Array(4);
  facing[direction] = 1;
  return joined(features, dense(weights, "encoder/facing", facing));
}

// Memory and output of a step, from the memory before it.
const CORES = {
  lstm(weights, {hidden, cell}, x) {
    const gates = dense(weights, "core", joined(x, hidden));
    const wide = hidden.length;
    const next = {hidden: new Float64Array(wide), cell: new Float64Array(wide)};
    for (let j = 0; j < wide; j++) {
      const [i, f, g, o] = [gates[j], gates[wide + j], gates[2 * wide + j], gates[3 * wide + j]];
      next.cell[j] = sigmoid(f) * cell[j] + sigmoid(i) * Math.tanh(g);
      next.hidden[j] = sigmoid(o) * Math.tanh(next.cell[j]);
    }
    return [next, next.hidden];
  },
  gru(weights, {hidden}, x) {
    const gates = dense(weights, "core", joined(x, hidden), "gate_").map(sigmoid);
    const into = dense(weights, "core", x, "input_"), again = dense(weights, "core", hidden, "hidden_");
    const wide = hidden.length;
    const next = hidden.map((old, j) => {
      const fresh = Math.tanh(into[j] + gates[j] * again[j]);
      return (1 - gates[wide + j]) * fresh + gates[wide + j] * old;
    });
    return [{hidden: next}, next];
  },
  none: (weights, memory, x) => [memory, relu(dense(weights, "core/Dense_0", x))],
  separate: (weights, memory, x) => [memory, x],
};

// A student that can act: {memory(), act(memory, codes, direction)}.
export function createStudent({core, width, layers, activation, view, unit}, weights) {
  const bend = {relu, tanh}[activation];
  const head = (name, x) => {
    for (let layer = 0; layer < layers; layer++) x = bend(dense(weights, `${name}_hidden_${layer}`, x));
    return dense(weights, name, x);
  };
  return {
    memory: () => ({hidden: new Float64Array(width), cell: new Float64Array(width)}),
    act(memory, codes, direction) {
      const [next, x] = CORES[core](weights, memory, encode(weights, view, codes, direction));
      const logits = head("policy", x);
      return {memory: next, logits, probabilities: softmax(logits), value: head("value", x)[0] * unit};
    },
  };
}

function softmax(logits) {
  const most = Math.max(...logits);
  const powers = logits.map((x) => Math.exp(x - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((x) => x / sum);
}

// The likeliest action; of equals the first.
export function likeliest(logits) {
  let best = 0;
  for (let i = 1; i < logits.length; i++) if (logits[i] > logits[best]) best = i;
  return best;
}

// An action drawn by its probability; `share` is a random number from 0 to 1.
export function drawn(probabilities, share) {
  for (let i = 0; i < probabilities.length; i++) {
    share -= probabilities[i];
    if (share < 0) return i;
  }
  return probabilities.length - 1;
}
