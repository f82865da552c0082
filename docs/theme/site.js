// The theme's search is a dialog without a name, which screen readers need.
document.querySelector("[data-md-component=search]")?.setAttribute("aria-label", "Search");

// Queues that run, where a page has them and the studio is beside the site (make page).
if (document.querySelector("aqmlab-queue")) import(new URL("../studio/aqmlab-queue.js", document.currentScript.src));
