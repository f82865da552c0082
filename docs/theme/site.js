// The theme's search is a dialog without a name, which screen readers need.
document.querySelector("[data-md-component=search]")?.setAttribute("aria-label", "Search");

// Boxes of the theme that scroll can be reached by the keyboard, and each block's buttons have a name of their own.
addEventListener("load", () => {
  document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code").forEach(box => {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  });
  document.querySelectorAll(".md-code__nav").forEach((nav, i) => nav.setAttribute("aria-label", `Code block ${i + 1}`));
});

// Queues that run, where a page has them and the studio is beside the site (make page).
if (document.querySelector("aqmlab-queue")) import(new URL("../studio/aqmlab-queue.js", document.currentScript.src));

// The button of a block of commands copies what one types: no prompts, no outputs.
for (const code of document.querySelectorAll(".highlight code:has(.gp)")) {
  const typed = code.textContent.split("\n").filter(line => line.startsWith("$ "));
  code.dataset.copy = typed.map(line => line.slice(2)).join("\n");
}

// The board's table, where a page has it.
if (document.querySelector("aqmlab-board")) import(new URL("board.js", document.currentScript.src));
