// Whether the page stands in another one, as <aqmlab-queue> puts it there: then it has the queue, a curve and what can be changed.

export const embedded = new URLSearchParams(location.search).has("embed");
