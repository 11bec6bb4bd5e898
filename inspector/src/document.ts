// The recording as Python writes it: docs/inside/recordings.md describes each field.

export interface Figures {
  shape: number[];
  dtype: string;
  size: number;
  values?: (number | string | boolean)[];
  nan?: number;
  inf?: number;
  sampled?: number;
  zeros?: number;
  min?: number;
  max?: number;
  mean?: number;
  norm?: number | string | null;
  bars?: number[];
}

export interface Place {
  file: string;
  line: number;
  function: string;
  text: string;
  start: number;
  end: number;
}

export interface Saved {
  name: string;
  shape: number[];
  dtype: string;
  bytes: number;
  block: number;
}

export interface GraphNode {
  name: string;
  variable: string;
  formula: string;
  place: number;
  module: string;
  op: number;
  sequence_nr: number;
  topological_nr: number;
  device: string;
  inputs: { shape: number[]; dtype: string }[];
  edges: [number, number][];
  saved: Saved[];
  hooks: string[];
  leaf: boolean;
  freed: boolean;
}

export interface Operation {
  name: string;
  node: number;
  formula: string;
  place: number;
  module: string;
  start: number;
  end: number;
  thread: number;
  device: string;
  during: [number, number] | null;
  operands: { node: number; output_nr: number; shape: number[]; dtype: string }[];
  outputs: { shape: number[]; dtype: string; block: number; value: number }[];
}

export interface Step {
  node: number;
  thread: number;
  start: number;
  end: number | null;
  given: number[];
  sent: [number, number, number, number][];
  hooks: string[];
  captured: number[];
  grad: number;
  freed: number;
}

export interface Backward {
  place: number;
  thread: number;
  outer: number;
  start: number;
  end: number | null;
  create_graph: boolean;
  keep_graph: boolean;
  root: number;
  given: number[];
  dependencies: [number, number][];
  pruned: number[];
  steps: Step[];
  error: string;
  failing: number;
}

export interface Answer {
  text: string;
  node: number;
  place: number;
  op: number;
}

export interface Leaf {
  name: string;
  node: number;
  reached: boolean;
  why: string;
  shape: number[];
  dtype: string;
}

export interface Recording {
  schema: string;
  title: string;
  versions: Record<string, string>;
  duration: number;
  threads: string[];
  limits: Record<string, number | boolean>;
  places: Place[];
  nodes: GraphNode[];
  ops: Operation[];
  backwards: Backward[];
  values: Figures[];
  blocks: [number, number, number | null, number, [number, number] | null, string][];
  spans: { name: string; thread: number; start: number; end: number }[];
  leaves: Leaf[];
  files: Record<string, { first: number; lines: string[] }>;
  answers: Record<string, Answer | null>;
  failure?: string;
  overlays?: { title: string; unit: string; ratio: boolean; numbers: (number | null)[] }[];
}

type Columns = Record<string, unknown[]>;

// Rows from columns; null stands for what a row has not, except where `nulls` says that it is a value.
function rows<T>(columns: Columns, nulls = false): T[] {
  const names = Object.keys(columns);
  const count = names.length ? columns[names[0]].length : 0;
  const found: T[] = new Array(count);
  for (let i = 0; i < count; i++) {
    const row: Record<string, unknown> = {};
    for (const name of names) {
      const value = columns[name][i];
      if (nulls || value !== null) row[name] = value;
    }
    found[i] = row as T;
  }
  return found;
}

// The recording in the page: JSON, deflated and in base64 if it is large, with columns in place of long lists of rows.
export async function read(text: string): Promise<Recording | null> {
  const found = JSON.parse(text.startsWith('"') ? await inflated(text) : text);
  if (!found) return null;
  found.values = rows<Figures>(found.values);
  found.nodes = rows<GraphNode>(found.nodes, true);
  found.ops = rows<Operation>(found.ops, true);
  for (const backward of found.backwards) backward.steps = rows<Step>(backward.steps, true);
  return found as Recording;
}

async function inflated(text: string): Promise<string> {
  const signs = atob(text.slice(1, -1));
  const bytes = new Uint8Array(signs.length);
  for (let i = 0; i < signs.length; i++) bytes[i] = signs.charCodeAt(i);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}
