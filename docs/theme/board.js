// The board: a table of cells that can be sorted and filtered. docs/board.py writes its data.
const place = document.querySelector("aqmlab-board");
const board = await (await fetch(new URL("../board.json", import.meta.url))).json();
const [LINK, CONTROLLER, SCHEME] = [0, 1, 2];
const names = [board.links, board.controllers, board.schemes];
const shown = { only: [Object.keys(board.links)[0], "", ""], changed: false, sort: "sim0", descending: false };

/** An element with properties and children. */
function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** A mean with its interval, as tables show it. */
function number(value, { digits }) {
  return value ? `${value[0].toFixed(digits)} ± ${value[1].toFixed(digits)}` : "no value";
}

/** The course of the queue over the run, as a small picture. */
function sparkline({ queue, peak }) {
  const heights = [...queue].map(digit => parseInt(digit, 36));
  const points = heights.map((height, i) => `${(80 * i) / (heights.length - 1)},${(21 - (20 * height) / 35).toFixed(1)}`);
  const title = `Queue over the run, up to ${peak} packets`;
  const drawn = `<polyline points="${points.join(" ")}" fill="none" stroke="currentColor" stroke-width="1.2"/>`;
  const made = element("span", { className: "board-queue", title });
  made.innerHTML = `<svg viewBox="0 0 80 22" role="img" aria-label="${title}">${drawn}</svg>`;
  return made;
}

/** The numbers of a cell that a row shows for one measure, with those of the last release if they differ. */
function measured(cell, i) {
  const now = cell.sim ? number(cell.sim[i], board.measures[i]) : "not run";
  const before = cell.was && number(cell.was[i], board.measures[i]);
  return before && before !== now ? [element("del", {}, before), element("br"), element("ins", {}, now)] : [now];
}

/** The stored numbers of Linux, with their origin. */
function onLinux(cell) {
  if (!cell.linux) return ["not measured"];
  const values = cell.linux.map((value, i) => `${number(value, board.measures[i])} ${board.measures[i].unit}`);
  return [values.join("; "), element("br"), element("small", {}, `Linux ${cell.kernel}, ${cell.date}`)];
}

/** The command that prints the numbers of a cell. */
function command([link, controller, scheme]) {
  return `aqmlab compare ${link} --cc ${controller} --aqms ${scheme} --seeds ${board.seeds}`;
}

/** The row of a cell. */
function row(found) {
  const { cell } = found;
  const anchor = `board-links.html#${cell[LINK].split("/")[1]}`;
  const link = element("a", { href: anchor }, board.links[cell[LINK]].split(":")[0]);
  const cells = [
    [board.controllers[cell[CONTROLLER]]],
    [board.schemes[cell[SCHEME]]],
    ...board.measures.map((_, i) => measured(found, i)),
    found.queue ? [sparkline(found)] : ["none"],
    onLinux(found),
    [link],
    [element("code", {}, command(cell))],
  ];
  return element("tr", {}, ...cells.map(content => element("td", {}, ...content)));
}

/** What a column sorts by; cells without a value come last. */
function key(found) {
  const [, kind, i] = /^(\D+)(\d)$/.exec(shown.sort);
  if (kind === "cell") return names[i][found.cell[i]];
  return found[kind]?.[i]?.[0] ?? (shown.descending ? -Infinity : Infinity);
}

/** The cells that the filters leave, in order. */
function chosen() {
  const left = board.cells.filter(
    found => found.cell.every((name, i) => !shown.only[i] || name === shown.only[i]) && (!shown.changed || found.was),
  );
  const turn = shown.descending ? -1 : 1;
  return left.sort((a, b) => turn * (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
}

/** The head of a column; a click sorts by it, a second one reverses the order. */
function head(title, sort) {
  if (!sort) return element("th", { scope: "col" }, title);
  const button = element("button", { type: "button" }, title);
  button.onclick = () => {
    shown.descending = shown.sort === sort && !shown.descending;
    shown.sort = sort;
    show();
  };
  const made = element("th", { scope: "col" }, button);
  made.dataset.sort = sort;
  return made;
}

/** A filter: all values of one axis of the board. */
function filter(title, i) {
  const options = Object.entries(names[i]).map(([name, text]) => element("option", { value: name }, text.split(":")[0]));
  const select = element("select", {}, element("option", { value: "" }, "all"), ...options);
  select.value = shown.only[i];
  select.onchange = () => {
    shown.only[i] = select.value;
    show();
  };
  return element("label", {}, `${title} `, select);
}

const body = element("tbody");
const count = element("p", { role: "status" });
const measures = board.measures.map(({ title, unit }, i) => head(unit ? `${title} (${unit})` : title, `sim${i}`));
const heads = element(
  "tr",
  {},
  head("Controller", "cell1"),
  head("Scheme", "cell2"),
  ...measures,
  head("Queue"),
  head("Linux", "linux0"),
  head("Link", "cell0"),
  head("Verify"),
);

/** Show the chosen cells. */
function show() {
  const left = chosen();
  body.replaceChildren(...left.map(row));
  count.textContent = `${left.length} of ${board.cells.length} cells`;
  for (const each of heads.children) {
    const order = shown.descending ? "descending" : "ascending";
    each.ariaSort = each.dataset.sort === shown.sort ? order : null;
  }
}

const box = element("input", { type: "checkbox", disabled: !board.released });
box.onchange = () => {
  shown.changed = box.checked;
  show();
};
const since = board.released ? `changed since ${board.released}` : "changed since the last release (no release has a board yet)";
const filters = [filter("Controller", CONTROLLER), filter("Scheme", SCHEME), filter("Link", LINK)];
const table = element("table", { className: "board-cells" }, element("thead", {}, heads), body);
const scrolled = element("div", { className: "board-table", tabIndex: 0, role: "region", ariaLabel: "Cells of the board" }, table);
place.replaceChildren(element("div", { className: "board-filters" }, ...filters, element("label", {}, box, ` ${since}`)), count, scrolled);
show();
