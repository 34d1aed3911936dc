// Elements are made here and nowhere else: texts only ever become text, never markup.

/**
 * @typedef {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} Properties
 * @typedef {Node | string | null | undefined | false} Child
 */

/**
 * Makes an element. `on…` are listeners, `class` and everything else attributes; absent ones are left out.
 * @param {string} name
 * @param {Properties} [properties]
 * @param {...Child} children
 * @returns {HTMLElement}
 */
export function el(name, properties = {}, ...children) {
  const made = document.createElement(name);
  set(made, properties);
  append(made, children);
  return made;
}

/**
 * @param {string} name
 * @param {Properties} [properties]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function svg(name, properties = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  set(made, properties);
  append(made, children);
  return made;
}

/** @param {Element} element @param {Properties} properties */
export function set(element, properties) {
  for (const [key, value] of Object.entries(properties)) {
    if (typeof value === "function") {
      element.addEventListener(key.slice(2), value);
    } else if (value === null || value === undefined || value === false) {
      if (element.hasAttribute(key)) element.removeAttribute(key);
    } else {
      const text = value === true ? "" : String(value);
      if (element.getAttribute(key) !== text) element.setAttribute(key, text);
    }
  }
}

/** @param {Element} element @param {Child[]} children */
function append(element, children) {
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
}

/** @param {Element} element @param {string} text */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no ${id}`);
  return found;
}

/**
 * Brings the children of an element up to date. Elements of things that stay are kept, so that focus,
 * selection and scroll positions stay too.
 * @template T
 * @param {Element} parent
 * @param {T[]} items
 * @param {(item: T) => string} key
 * @param {(item: T) => Element} make
 * @param {(element: Element, item: T) => void} update
 */
export function keyed(parent, items, key, make, update) {
  /** @type {Map<string, Element>} */
  const known = new Map();
  const wanted = new Set(items.map(key));
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  for (const child of Array.from(parent.children)) {
    const name = child.getAttribute("data-key") ?? "";
    if (wanted.has(name)) known.set(name, child);
    else child.remove();
  }
  let place = parent.firstElementChild;
  for (const item of items) {
    const name = key(item);
    let element = known.get(name);
    if (!element) {
      element = make(item);
      element.setAttribute("data-key", name);
    }
    update(element, item);
    if (element === place) place = place.nextElementSibling;
    else parent.insertBefore(element, place);
  }
  // An element that was moved loses the focus.
  if (focused && focused !== document.activeElement && parent.contains(focused)) focused.focus({ preventScroll: true });
}

/**
 * Replaces the children of an element by others, except those that are alike: text that is selected or scrolled in
 * them stays so.
 * @param {Element} parent
 * @param {Node[]} nodes
 */
export function merge(parent, nodes) {
  for (const [place, node] of nodes.entries()) {
    const old = parent.childNodes[place];
    if (!old) parent.append(node);
    else if (old instanceof HTMLElement && node instanceof HTMLElement && old.matches("section.block") && node.matches("section.block")) merge(old, Array.from(node.childNodes));
    else if (!old.isEqualNode(node)) old.replaceWith(node);
  }
  while (parent.childNodes.length > nodes.length) parent.lastChild?.remove();
}
