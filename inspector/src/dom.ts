// Elements from text. Nothing here takes markup: what comes from a recording is only ever text.

type Child = Node | string | null | undefined | false;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | number | boolean | ((event: never) => void)> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value as EventListener);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false) made.setAttribute(name, String(value));
  }
  made.append(...children.filter((child): child is Node | string => !!child));
  return made;
}

export function svg(tag: string, attributes: Record<string, string | number>, ...children: Node[]): SVGElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

export function fill(element: HTMLElement, ...children: Child[]): void {
  element.replaceChildren(...children.filter((child): child is Node | string => !!child));
}

export const shape = (sizes: number[]): string => (sizes.length ? sizes.join(" × ") : "scalar");

// A name that may break behind its dots and underscores where a line has no room for it.
export function breakable(text: string): HTMLElement {
  const made = h("span");
  for (const part of text.split(/(?<=[._])/)) made.append(part, document.createElement("wbr"));
  return made;
}

export function amount(bytes: number): string {
  let size = bytes;
  for (const unit of ["B", "KiB", "MiB"]) {
    if (Math.abs(size) < 1024) return unit === "B" ? `${size.toFixed(0)} B` : `${size.toFixed(1)} ${unit}`;
    size /= 1024;
  }
  return `${size.toFixed(1)} GiB`;
}

export function time(microseconds: number): string {
  if (microseconds < 1000) return `${microseconds.toFixed(microseconds < 10 ? 1 : 0)} µs`;
  if (microseconds < 1e6) return `${(microseconds / 1000).toFixed(microseconds < 1e4 ? 2 : 1)} ms`;
  return `${(microseconds / 1e6).toFixed(2)} s`;
}

export function number(value: number | string | boolean | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e-3 && size < 1e5 ? String(Number(value.toPrecision(5))) : value.toExponential(3);
}

// A number with all digits that a float32 has.
export const exact = (value: number | string | boolean): string =>
  typeof value === "number" ? String(Number(value.toPrecision(8))) : String(value);
